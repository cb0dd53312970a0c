"""`timeout=` is the whole call: every attempt, every wait, and a body that never ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from dsh_web import WebTimeoutError

from .raw_server import RawServer, Script, answering, dripping, http_answer, silent, slow, stalling
from .support import (
    HANG_UP_WITHIN,
    KEY,
    OK,
    SLACK,
    Call,
    ended_at,
    failure,
    runtime_for,
    runtime_on,
)
from .test_cancel import MID_BODY, full_port
from .test_hostile_responses import CHUNKED, endless

__all__ = ["full_port"]

BODY_BY_DROPS = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
CHUNKS_BY_DROPS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

SLOW_SERVERS: dict[str, Script] = {
    "silent before the headers": stalling(),
    "silent inside the body": stalling(MID_BODY),
    "dripping headers": dripping(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", 0.02),
    "dripping body": dripping(BODY_BY_DROPS, b" ", 0.02),
    "dripping chunks": dripping(CHUNKS_BY_DROPS, b"1\r\n \r\n", 0.02),
}


def timed_out(call: Call, runtime: object, seconds: float) -> float:
    """Make a call that must time out after `seconds`, and return when it began."""
    started = time.monotonic()
    error = failure(lambda: call(runtime, timeout=seconds))  # type: ignore[arg-type]
    assert error.code == "WEB_TIMEOUT", error
    assert isinstance(error, WebTimeoutError)
    assert str(error) == f"Perplexity search timed out after {seconds:g} s"
    assert seconds <= ended_at(error) - started < seconds + SLACK
    return started


@pytest.mark.parametrize("kind", SLOW_SERVERS)
def test_a_server_that_is_slow_in_any_way_is_left_in_time(
    call: Call, serve: Callable[..., RawServer], kind: str
) -> None:
    server = serve(SLOW_SERVERS[kind], answering(OK))
    runtime = runtime_on(server, max_retries=2)

    started = timed_out(call, runtime, 0.25)

    assert server.wait_for_hang_up() - started < 0.25 + HANG_UP_WITHIN
    assert len(server.requests) == 1
    assert call(runtime).sources


def test_two_seconds_are_two_seconds(call: Call, serve: Callable[..., RawServer]) -> None:
    timed_out(call, runtime_on(serve(dripping(BODY_BY_DROPS, b" ", 0.1))), 2)


def test_a_connection_attempt_counts(call: Call, full_port: tuple[int, Callable[[], None]]) -> None:
    timed_out(call, runtime_for(f"http://127.0.0.1:{full_port[0]}", max_retries=2), 0.2)


def test_a_tls_handshake_counts(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(silent)

    timed_out(call, runtime_for(f"https://127.0.0.1:{server.port}", max_retries=2), 0.2)

    server.wait_for_hang_up()
    assert server.connections == 1


def test_resolving_the_key_counts(call: Call, serve: Callable[..., RawServer]) -> None:
    server, release = serve(answering(OK)), threading.Event()

    def key() -> str:
        release.wait(10)
        return KEY

    timed_out(call, runtime_on(server, api_key=key), 0.2)
    release.set()

    assert server.connections == 0


def test_attempts_and_waits_count_together(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(
        slow(0.1, http_answer(status=503, retry_after="0.1", connection="close")), stalling()
    )
    runtime = runtime_on(server, max_retries=5)

    timed_out(call, runtime, 0.6)

    assert len(server.requests) == 2


def test_a_timeout_of_zero_sends_nothing(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))

    timed_out(call, runtime_on(server), 0)

    assert server.connections == 0


def test_the_timeout_of_the_runtime_holds_unless_a_call_has_its_own(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(slow(0.3, OK))
    runtime = runtime_on(server, timeout=0.1)

    assert failure(lambda: call(runtime)).code == "WEB_TIMEOUT"
    assert call(runtime, timeout=5).sources
    assert call(runtime, timeout=None).sources


def test_a_flood_does_not_outlast_the_deadline(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(endless(CHUNKED, b"1;" + b"x" * 64 + b"\r\n \r\n"))

    timed_out(call, runtime_on(server), 0.1)


async def test_a_flood_leaves_the_loop_free_for_others(serve: Callable[..., RawServer]) -> None:
    server = serve(endless(CHUNKED, b"40\r\n" + b" " * 64 + b"\r\n"))
    search = asyncio.ensure_future(runtime_on(server).asearch("q", timeout=1))
    longest, last = 0.0, time.monotonic()
    while not search.done():
        await asyncio.sleep(0)
        now = time.monotonic()
        longest, last = max(longest, now - last), now

    assert search.exception() is not None
    assert longest < 0.1 + SLACK
