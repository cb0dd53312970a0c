"""Ctrl-C, fork and the end of the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from .conftest import ROOT, Certificate
from .raw_server import RawServer, answering, stalling
from .support import HANG_UP_WITHIN, KEY, OK
from .test_cancel import PHASES

START = """
import asyncio, logging, os, sys
from dsh_web import PerplexitySearchProvider, WebRuntime
logging.getLogger("asyncio").setLevel(logging.ERROR)  # its debug mode counts imports as slow
runtime = WebRuntime()
runtime.register_search_provider(PerplexitySearchProvider(base_url=sys.argv[1]))
"""

INTERRUPTED = {
    "sync": "runtime.search('q')",
    "async": "asyncio.run(runtime.asearch('q'))",
    "several": "runtime.search_many(['q'])",
}


@pytest.mark.parametrize(
    ("how", "phase"),
    [("sync", "waiting for headers"), ("sync", "mid-body"), ("async", "mid-body"),
     ("several", "mid-body")],
)  # fmt: skip
def test_ctrl_c_goes_through_and_closes_the_connection(
    serve: Callable[..., RawServer], how: str, phase: str
) -> None:
    script, sign = PHASES[phase]
    server = serve(script)
    program = f"""{START}
import io, traceback
import rich.console, rich.traceback
try:
    {INTERRUPTED[how]}
except KeyboardInterrupt as error:
    out = io.StringIO()
    picture = rich.traceback.Traceback.from_exception(
        type(error), error, error.__traceback__, show_locals=True, max_frames=1000)
    rich.console.Console(file=out, width=400).print(picture)
    key = os.environ["PERPLEXITY_API_KEY"]
    print("leaked" if key in out.getvalue() else "interrupted", flush=True)
    sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-X", "dev", "-c", program, server.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PERPLEXITY_API_KEY": KEY},
    )
    server.wait_for(sign)
    moment = time.monotonic()
    process.send_signal(signal.SIGINT)

    # The process still lives when the server sees the end: the call closed it, not the exit.
    assert server.wait_for_hang_up() - moment < HANG_UP_WITHIN
    assert process.poll() is None
    out, err = process.communicate("", timeout=10)
    assert (out, err) == ("interrupted\n", "")


def test_ctrl_c_during_several_searches_ends_all_of_them(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(stalling())
    program = f"{START}\nruntime.search_each(['a', 'b', 'c'])"
    process = subprocess.Popen(
        [sys.executable, "-c", program, server.url],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PERPLEXITY_API_KEY": KEY},
    )
    server.wait_for("stalled", 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)

    assert err.rstrip().endswith("KeyboardInterrupt")
    assert KEY not in err
    for number in range(3):
        server.wait_for_hang_up(number)


FORKED = """
import asyncio, logging, os, sys
from dsh_web import PerplexitySearchProvider, WebRuntime
logging.getLogger("asyncio").setLevel(logging.ERROR)  # its debug mode counts imports as slow
runtime = WebRuntime()
runtime.register_search_provider(PerplexitySearchProvider(api_key="k", base_url=sys.argv[1]))
calls = {"sync": lambda: runtime.search("q"), "async": lambda: asyncio.run(runtime.asearch("q"))}
call = calls[sys.argv[2]]
assert call().sources
child = os.fork()
for _ in range(3):
    assert call().sources
if child == 0:
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert call().sources
"""


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_both_processes_work_after_a_fork(
    serve: Callable[..., RawServer],
    run_script: Callable[..., CompletedProcess[str]],
    colour: str,
) -> None:
    server = serve(answering(OK))

    done = run_script(FORKED, server.url, colour)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(server.requests) == 8
    assert server.connections == 2  # the parent's, used before and after, and one of the child's


FORKED_WITH_TLS = FORKED.replace(
    "WebRuntime()",
    "WebRuntime(ssl_context=__import__('ssl').create_default_context(cafile=sys.argv[3]))",
)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_forked_child_does_not_disturb_a_tls_connection_of_its_parent(
    serve: Callable[..., RawServer],
    run_script: Callable[..., CompletedProcess[str]],
    localhost: Certificate,
    colour: str,
) -> None:
    server = serve(answering(OK), tls=localhost.server_context())

    done = run_script(
        FORKED_WITH_TLS,
        server.url,
        colour,
        str(localhost.cert),
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert server.connections == 2


EXITS = {
    "idle connections": "runtime.search('q'); asyncio.run(runtime.asearch('q'))",
    "a runtime in a cycle": "runtime.me = runtime; runtime.search('q')",
    "a daemon thread in a call": (
        "import threading; threading.Thread(target=runtime.search, args=['q'], daemon=True).start()"
    ),
    "a call that was cancelled while its key resolves": """
import threading
from dsh_web import CancelToken, WebError
release = threading.Event()
other = WebRuntime()
hanging = PerplexitySearchProvider(api_key=lambda: release.wait(), base_url=sys.argv[1])
other.register_search_provider(hanging)
def sync(): other.search('q', cancel=token)
def run(): asyncio.run(other.asearch('q', cancel=token))
for call in (sync, run):
    token = CancelToken()
    threading.Timer(0.05, token.cancel).start()
    try:
        call()
    except WebError as error:
        assert error.code == 'WEB_ABORTED'
""",
}


@pytest.mark.parametrize("state", EXITS)
def test_the_interpreter_ends_silently(
    serve: Callable[..., RawServer],
    run_script: Callable[..., CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    state: str,
) -> None:
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    server = serve(answering(OK))

    started = time.monotonic()
    done = run_script(START + EXITS[state], server.url)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - started < 10
