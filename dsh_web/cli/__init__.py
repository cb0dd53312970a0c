"""The command line: `dsh-web search`, `dsh-web serve`, `dsh-web doctor`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._version import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: it worked; 1: the search or the check failed; 2: the command line is at fault; 130: Ctrl-C.
    """
    options = _parser().parse_args(argv)
    try:
        status: int = options.run(options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Python would complain once more at exit.
        sys.stderr.close()
        return 0
    return status


def _parser() -> argparse.ArgumentParser:
    # Here, so that `--version` and a typo do not wait for the whole package.
    from . import doctor, search, serve

    parser = argparse.ArgumentParser(
        prog="dsh-web", description="One dependable way to reach the web."
    )
    parser.add_argument("--version", action="version", version=f"dsh-web {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (search, serve, doctor):
        name = command.__name__.rpartition(".")[2]
        subparser = commands.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser
