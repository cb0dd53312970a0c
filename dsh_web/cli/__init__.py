"""The command line: `dsh-web search`, `fetch`, `citations`, `serve`, `doctor`, `filters`."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence

from .._version import __version__

__all__ = ["main"]

_STRICT = ("strict", "surrogateescape")
"""Error handlers that let a character which the output cannot hold end the program."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: it worked; 1: the search, the fetch or the check failed; 2: the command line is at fault;
    130: Ctrl-C.
    """
    options = _parser().parse_args(argv)
    _never_fail_to_encode()
    try:
        status: int = options.run(options)
        # Here, where a closed pipe can still be met quietly, and not at exit.
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _abandon_stdout()
        return 0
    except OSError as error:
        # A full disk, say; what else can go wrong has been told by the command itself.
        _abandon_stdout()
        print(f"dsh-web: error: {error.strerror or error}", file=sys.stderr)
        return 1
    return status


def _never_fail_to_encode() -> None:
    """Let a terminal that is not UTF-8 show `?`, and a closed one nothing, instead of failing."""
    if sys.stdout is None:  # closed by whoever started the program
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the program runs
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _STRICT:
        sys.stdout.reconfigure(errors="replace")


def _abandon_stdout() -> None:
    """Forget what the reader (`| head`) no longer wants, or Python would complain at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    # Here, so that `--version` and a typo do not wait for the whole package.
    from . import citations, doctor, fetch, filters, search, serve

    parser = argparse.ArgumentParser(
        prog="dsh-web", description="One dependable way to reach the web."
    )
    parser.add_argument("--version", action="version", version=f"dsh-web {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (search, fetch, citations, serve, doctor, filters):
        name = command.__name__.rpartition(".")[2]
        subparser = commands.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser
