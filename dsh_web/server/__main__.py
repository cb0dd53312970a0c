"""Runs the loopback server in the foreground: `python -m dsh_web.server --help`."""

from __future__ import annotations

import argparse
import ipaddress
import sys
import threading
from collections.abc import Sequence
from typing import Any

from dsh_web.server.faults import Fault
from dsh_web.server.stream_style import STREAM_NAMES, StreamStyle, read_stream_change

_DEFAULT_PORT = 8787


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the server's options to a parser; `run` takes what it then parses."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=_DEFAULT_PORT, help="0 picks one (%(default)s)")
    parser.add_argument("--corpus", metavar="DIR", help="folder of .md, .txt and .html to search")
    parser.add_argument("--replay", metavar="DIR", help="folder of recorded bodies to answer from")
    parser.add_argument("--sonar", choices=("retired", "legacy"), default="retired")
    parser.add_argument("--marker-style", choices=("preset", "number", "web"), default="preset")
    parser.add_argument("--multi-query", choices=("flat", "grouped"), default="flat")
    parser.add_argument("--annotations", action="store_true", help="fill annotations of answers")
    parser.add_argument(
        "--api-key",
        metavar="KEY",
        default="loopback-key",
        help="the key to accept; an empty one accepts any (%(default)s)",
    )
    parser.add_argument("--latency", type=float, default=0.0, metavar="S", help="seconds to wait")
    parser.add_argument(
        "--background-seconds",
        type=float,
        default=0.2,
        metavar="S",
        help="seconds that background runs and async jobs take (%(default)s)",
    )
    parser.add_argument(
        "--resume-seconds",
        type=float,
        default=300.0,
        metavar="S",
        help="seconds for which a finished background stream can be resumed (%(default)s)",
    )
    for name in STREAM_NAMES:
        parser.add_argument(
            f"--{name}",
            dest="stream",
            action=_StreamOption,
            default={},
            metavar="VALUE",
            help=f"how streams are written: the {name} of a fault, for every answer",
        )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        type=_fault,
        metavar="SPEC",
        help="let every answer go wrong, e.g. status=429,retry-after=2; repeatable",
    )
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="allow an address that others can reach",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted; return the exit status: 0, or 2 if the options cannot be used."""
    if not options.allow_remote and not _is_loopback(options.host):
        print(
            f"{options.host!r} can be reached by others; add --allow-remote to mean it",
            file=sys.stderr,
        )
        return 2
    try:
        from dsh_web.server import LoopbackServer

        server = LoopbackServer(
            host=options.host,
            port=options.port,
            api_key=options.api_key or None,
            corpus=options.corpus,
            replay=options.replay,
            sonar=options.sonar,
            marker_style=options.marker_style,
            multi_query=options.multi_query,
            annotations=options.annotations,
            faults=options.fault,
            latency=options.latency,
            background_seconds=options.background_seconds,
            resume_seconds=options.resume_seconds,
            stream=StreamStyle(**options.stream),
        )
        server.start()
    except (ImportError, OSError, ValueError, OverflowError) as error:
        print(f"cannot serve: {error}", file=sys.stderr)
        return 2
    try:
        print(f"loopback server on {server.url} with {server.corpus_size} documents")
        print(f"  export PERPLEXITY_BASE_URL={server.url} PERPLEXITY_API_KEY={server.api_key}")
        print(f"  a fault for one client: {server.url}/_fault/status=429,retry-after=2")
        print("  stop with Ctrl-C", flush=True)
        threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    finally:
        server.stop()
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and serve; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m dsh_web.server",
        description="A loopback stand-in for the HTTP APIs of Perplexity and Parallel that really "
        "searches.",
    )
    add_arguments(parser)
    return run(parser.parse_args(argv))


class _StreamOption(argparse.Action):
    """Collects the fields of a `StreamStyle`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Read one option."""
        assert option_string is not None
        try:
            change = read_stream_change(option_string.removeprefix("--"), str(values))
        except ValueError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        namespace.stream = {**namespace.stream, **change}


def _fault(spec: str) -> Fault:
    try:
        return Fault.parse(spec)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


if __name__ == "__main__":
    raise SystemExit(main())
