"""A token ends a call at every phase: at once, for both ends, and without harm to the runtime."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from dsh_web import (
    CancelReason,
    CancelToken,
    Flow,
    PerplexitySearchProvider,
    Sleep,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
)

from .conftest import Certificate
from .raw_server import RawServer, Script, answering, http_answer, silent, stalling
from .support import (
    CANCEL_WITHIN,
    HANG_UP_WITHIN,
    KEY,
    OK,
    Call,
    ended_at,
    failure,
    runtime_for,
    runtime_on,
    wait_until,
)

MID_BODY = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + b"{" * 10


class StopPressed(Exception):
    """Why the tests cancel."""


class Cancelling:
    """Cancels a token from a thread of its own once `ready` returns."""

    def __init__(self, token: CancelToken, ready: Callable[[], Any]) -> None:
        self.at = 0.0
        self._token = token
        self._ready = ready
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._ready()
        self.at = time.monotonic()
        self._token.cancel(StopPressed("the user pressed stop"))

    def assert_prompt(self, error: Exception, ended_at: float) -> None:
        assert error.code == "WEB_ABORTED"  # type: ignore[attr-defined]
        assert str(error) == "Perplexity search aborted"
        assert isinstance(error.__cause__, StopPressed)
        assert ended_at - self.at < CANCEL_WITHIN


def cancelled_call(
    call: Call, runtime: Any, token: CancelToken, ready: Callable[[], Any], query: str = "q"
) -> Cancelling:
    cancelling = Cancelling(token, ready)
    error = failure(lambda: call(runtime, query, cancel=token))
    cancelling.assert_prompt(error, ended_at(error))
    return cancelling


def test_a_token_cancelled_before_the_start_sends_nothing_and_resolves_no_key(
    call: Call, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(answering(OK))
    resolved: list[str] = []

    def key() -> str:
        resolved.append("yes")
        return KEY

    runtime = runtime_on(server, api_key=key)
    token.cancel("no longer wanted")

    error = failure(lambda: call(runtime, cancel=token))

    assert error.code == "WEB_ABORTED"
    assert isinstance(error.__cause__, CancelReason)
    assert str(error.__cause__) == "no longer wanted"
    assert resolved == []
    assert server.connections == 0
    assert call(runtime).sources
    assert resolved == ["yes"]


@pytest.mark.parametrize("kind", ["blocking function", "coroutine function", "returns awaitable"])
def test_a_key_that_takes_forever_to_resolve_does_not_hold_up_a_cancel(
    call: Call, serve: Callable[..., RawServer], token: CancelToken, kind: str
) -> None:
    server = serve(answering(OK))
    asked, release, is_slow = threading.Event(), threading.Event(), [True]

    def blocking() -> str:
        asked.set()
        if is_slow[0]:
            release.wait(10)
        return KEY

    async def coroutine() -> str:
        asked.set()
        if is_slow[0]:
            await asyncio.Event().wait()
        return KEY

    keys: dict[str, Any] = {
        "blocking function": blocking,
        "coroutine function": coroutine,
        "returns awaitable": lambda: coroutine(),
    }
    runtime = runtime_on(server, api_key=keys[kind])

    cancelled_call(call, runtime, token, lambda: asked.wait(10))
    is_slow[0] = False
    release.set()

    assert server.connections == 0
    assert call(runtime).sources


def test_a_name_look_up_that_hangs_does_not_hold_up_a_cancel(
    call: Call,
    serve: Callable[..., RawServer],
    token: CancelToken,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(answering(OK))
    asked, release = threading.Event(), threading.Event()

    def look_up(*args: Any, **settings: Any) -> list[Any]:
        if not release.is_set():
            asked.set()
            release.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    runtime = runtime_for(f"http://far.example:{server.port}")

    cancelled_call(call, runtime, token, lambda: asked.wait(10))
    release.set()

    assert call(runtime).sources


@pytest.fixture
def full_port() -> Iterator[tuple[int, Callable[[], None]]]:
    """Return a port that answers no connection attempt, and a function that makes room again."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    port = listener.getsockname()[1]
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.1", port))
        fillers.append(filler)

    def make_room() -> None:
        for filler in fillers:
            filler.close()
        listener.close()

    yield port, make_room
    make_room()


def test_a_connection_attempt_that_nobody_answers_does_not_hold_up_a_cancel(
    call: Call, token: CancelToken, full_port: tuple[int, Callable[[], None]]
) -> None:
    port, make_room = full_port
    me = psutil.Process()

    def states() -> list[str]:
        return [c.status for c in me.net_connections("tcp") if c.raddr and c.raddr.port == port]

    fillers_waiting = states().count("SYN_SENT")
    runtime = runtime_for(f"http://127.0.0.1:{port}")

    cancelled_call(
        call,
        runtime,
        token,
        lambda: wait_until(lambda: states().count("SYN_SENT") > fillers_waiting),
    )

    assert states().count("SYN_SENT") == fillers_waiting
    make_room()
    with_server = RawServerOnPort(port)
    try:
        assert call(runtime).sources
    finally:
        with_server.close()


class RawServerOnPort:
    """The smallest server that can take over a given port."""

    def __init__(self, port: int) -> None:
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        sock, _ = self._listener.accept()
        with sock:
            sock.recv(65_536)
            sock.sendall(OK)
            sock.recv(1)

    def close(self) -> None:
        self._listener.close()


PHASES: dict[str, tuple[Script, str]] = {
    "waiting for headers": (stalling(), "stalled"),
    "inside the headers": (stalling(b"HTTP/1.1 200 OK\r\ncontent-le"), "stalled"),
    "mid-body": (stalling(MID_BODY), "stalled"),
    "mid-chunk": (
        stalling(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab"),
        "stalled",
    ),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_cancel_while_the_server_is_silent_closes_the_connection(
    call: Call, serve: Callable[..., RawServer], token: CancelToken, phase: str
) -> None:
    script, sign = PHASES[phase]
    server = serve(script, answering(OK))
    runtime = runtime_on(server)

    cancelling = cancelled_call(call, runtime, token, lambda: server.wait_for(sign))

    assert server.wait_for_hang_up() - cancelling.at < HANG_UP_WITHIN
    assert call(runtime).sources
    assert server.connections == 2


def test_a_tls_handshake_that_is_never_answered_does_not_hold_up_a_cancel(
    call: Call, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(silent)
    runtime = runtime_for(f"https://127.0.0.1:{server.port}")

    cancelling = cancelled_call(call, runtime, token, lambda: server.wait_for("bytes"))

    assert server.wait_for_hang_up() - cancelling.at < HANG_UP_WITHIN


@pytest.mark.parametrize("phase", PHASES)
def test_a_cancel_during_a_tls_read_closes_the_connection(
    call: Call,
    serve: Callable[..., RawServer],
    token: CancelToken,
    localhost: Certificate,
    phase: str,
) -> None:
    script, sign = PHASES[phase]
    server = serve(script, answering(OK), tls=localhost.server_context())
    runtime = runtime_on(server, ssl_context=localhost.client_context())

    cancelling = cancelled_call(call, runtime, token, lambda: server.wait_for(sign))

    assert server.wait_for_hang_up() - cancelling.at < HANG_UP_WITHIN
    assert call(runtime).sources


class Watched(PerplexitySearchProvider):
    """Tells when a call begins to wait for its next attempt."""

    def __init__(self, url: str) -> None:
        super().__init__(api_key=KEY, base_url=url)
        self.__dict__["waits"] = threading.Event()

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        flow = super().search_flow(request)
        step = next(flow)
        while True:
            if isinstance(step, Sleep):
                self.__dict__["waits"].set()
            outcome = yield step
            try:
                step = flow.send(outcome)
            except StopIteration as stop:
                return stop.value


def test_a_cancel_ends_the_wait_before_a_retry(
    call: Call, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(answering(http_answer(status=503, retry_after="30"), OK))
    provider = Watched(server.url)
    runtime = WebRuntime()
    runtime.register_search_provider(provider)

    cancelled_call(call, runtime, token, lambda: provider.__dict__["waits"].wait(10))

    assert len(server.requests) == 1
    assert call(runtime).sources
    assert server.connections == 1


def test_a_request_that_the_server_does_not_read_can_be_cancelled(
    call: Call, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    gate = threading.Event()
    server = serve(lambda peer: gate.wait(10), answering(OK))
    runtime = runtime_on(server)

    cancelled_call(call, runtime, token, lambda: server.wait_for("connection"), "x" * 8_000_000)
    gate.set()

    assert call(runtime).sources


async def test_a_token_cancelled_inside_the_loop_ends_the_call(
    serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(stalling(), answering(OK))
    runtime = runtime_on(server)
    task = asyncio.create_task(runtime.asearch("q", cancel=token))
    await asyncio.to_thread(server.wait_for, "stalled")

    cancelled_at = time.monotonic()
    token.cancel(StopPressed())
    (outcome,) = await asyncio.gather(task, return_exceptions=True)

    assert getattr(outcome, "code", None) == "WEB_ABORTED"
    assert isinstance(outcome.__cause__, StopPressed)
    assert time.monotonic() - cancelled_at < CANCEL_WITHIN
    hung_up_at = await asyncio.to_thread(server.wait_for_hang_up)
    assert hung_up_at - cancelled_at < HANG_UP_WITHIN
    assert (await runtime.asearch("q")).sources


async def test_one_token_ends_every_call_that_holds_it(
    serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(stalling())
    runtime = runtime_on(server)
    tasks = [asyncio.create_task(runtime.asearch("q", cancel=token)) for _ in range(8)]
    await asyncio.to_thread(server.wait_for, "stalled", 8)

    token.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert {getattr(outcome, "code", None) for outcome in outcomes} == {"WEB_ABORTED"}
    await asyncio.to_thread(lambda: [server.wait_for_hang_up(n) for n in range(8)])


def test_a_call_leaves_nothing_subscribed_to_its_token(
    call: Call, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)
    me = psutil.Process()
    call(runtime, cancel=token)
    descriptors = me.num_fds()

    for _ in range(50):
        call(runtime, cancel=token)

    assert me.num_fds() <= descriptors
    assert token.cancel() is True
    assert token.cancel() is False
