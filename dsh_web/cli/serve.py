"""`dsh-web serve`: the loopback server in the foreground."""

from __future__ import annotations

import argparse

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Run a local server that speaks Perplexity's API and really searches."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the server."""
    from ..server import __main__ as server

    server.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from ..server import __main__ as server

    return server.run(options)
