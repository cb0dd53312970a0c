"""Cancel and time end a fetch at every phase: at once, and for the server too."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from dsh_web import CancelToken, HttpFetchProvider, WebRuntime

from ..io.raw_server import RawServer, answering, dripping, silent, slow, stalling
from .conftest import CANCEL_WITHIN, HANG_UP_WITHIN, Fetch, Web, failure, page
from .test_connections import Authority

WebWith = Callable[..., tuple[Web, RawServer]]
HEAD = page(b"", length=1000)
MOVED = page(b"", 302, location="/next")


class Cancelling:
    """Cancels a token from a thread of its own once `ready` returns."""

    def __init__(self, token: CancelToken, ready: Callable[[], Any]) -> None:
        self.at = 0.0
        self._token = token
        self._ready = ready
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._ready()
        self.at = time.monotonic()
        self._token.cancel("the user pressed stop")


def cancelled(fetch: Fetch, runtime: WebRuntime, url: str, ready: Callable[[], Any]) -> Cancelling:
    """Fetch, cancel once `ready` returns, and check that the call ended with it."""
    token = CancelToken()
    cancelling = Cancelling(token, ready)
    error = failure(lambda: fetch(runtime, url, cancel=token))
    ended_at: float = error.__dict__["ended_at"]

    assert (error.code, error.message) == ("WEB_ABORTED", "HTTP fetch aborted")
    assert str(error.__cause__) == "the user pressed stop"
    assert ended_at - cancelling.at < CANCEL_WITHIN
    return cancelling


def test_a_token_cancelled_before_the_start_looks_nothing_up(fetch: Fetch) -> None:
    web, token = Web(), CancelToken()
    token.cancel()

    assert (
        failure(lambda: fetch(web.runtime(), "http://a.example/", cancel=token)).code
        == "WEB_ABORTED"
    )
    assert web.looked_up == []


class SlowNames:
    """A resolver that answers when it is allowed to."""

    def __init__(self) -> None:
        self.asked, self.release = threading.Event(), threading.Event()

    def __call__(self) -> list[str]:
        self.asked.set()
        assert self.release.wait(10)
        return ["93.184.216.34"]


@pytest.fixture
def slow_names() -> Iterator[SlowNames]:
    names = SlowNames()
    yield names
    names.release.set()


def test_a_cancel_during_the_look_up(fetch: Fetch, slow_names: SlowNames) -> None:
    web = Web(names={"ok.example": slow_names})

    cancelled(fetch, web.runtime(), "http://ok.example/", lambda: slow_names.asked.wait(10))
    assert web.dialled == []


def test_the_time_during_the_look_up(fetch: Fetch, slow_names: SlowNames) -> None:
    web = Web(names={"ok.example": slow_names})
    error = failure(lambda: fetch(web.runtime(timeout=0.1), "http://ok.example/"))

    assert (error.code, error.message) == ("WEB_FETCH_TIMEOUT", "HTTP fetch timed out after 0.1 s")
    assert web.dialled == []


@pytest.fixture
def full_port() -> Iterator[int]:
    """Return a port of which no connection attempt gets an answer."""
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
    yield port
    for filler in fillers:
        filler.close()
    listener.close()


def test_a_cancel_during_the_connection_attempt(fetch: Fetch, full_port: int) -> None:
    me = psutil.Process()

    def attempts() -> int:
        connections = me.net_connections("tcp")
        return sum(
            c.status == "SYN_SENT" and bool(c.raddr) and c.raddr.port == full_port
            for c in connections
        )

    before = attempts()

    def ready() -> None:
        while attempts() == before:
            time.sleep(0.002)

    cancelled(fetch, Web(port=full_port).runtime(), "http://ok.example/", ready)
    assert attempts() == before


def test_the_time_during_the_connection_attempt(fetch: Fetch, full_port: int) -> None:
    runtime = Web(port=full_port).runtime(timeout=0.1)

    assert failure(lambda: fetch(runtime, "http://ok.example/")).code == "WEB_FETCH_TIMEOUT"


PHASES = {
    "headers": (stalling(), "stalled"),
    "in the headers": (stalling(b"HTTP/1.1 200 OK\r\ncontent-"), "stalled"),
    "body": (stalling(HEAD), "stalled"),
    "in the body": (stalling(HEAD + b"<p>half a"), "stalled"),
    "dripping body": (dripping(HEAD, b"x", 0.01), "drop"),
    "body of unknown length": (stalling(page(b"<p>", length=None)), "stalled"),
    "compressed body": (stalling(page(b"\x1f\x8b", length=99, content_encoding="gzip")), "stalled"),
    "after a redirect": (
        lambda peer: (peer.request(), peer.send(MOVED), stalling()(peer)),
        "stalled",
    ),
    "body of a redirect": (stalling(page(b"", 302, location="/next", length=99)), "request"),
}


@pytest.mark.parametrize("phase", [name for name in PHASES if name != "body of a redirect"])
def test_a_cancel_while_waiting_closes_the_connection(
    fetch: Fetch, web_with: WebWith, phase: str
) -> None:
    script, sign = PHASES[phase]
    web, server = web_with(script)
    cancelling = cancelled(
        fetch, web.runtime(), "http://ok.example/", lambda: server.wait_for(sign)
    )

    assert server.wait_for_hang_up() - cancelling.at < HANG_UP_WITHIN


@pytest.mark.parametrize("phase", [name for name in PHASES if name != "body of a redirect"])
def test_so_does_the_time(fetch: Fetch, web_with: WebWith, phase: str) -> None:
    web, server = web_with(PHASES[phase][0])
    started = time.monotonic()
    error = failure(lambda: fetch(web.runtime(timeout=0.15), "http://ok.example/"))

    assert error.code == "WEB_FETCH_TIMEOUT"
    assert server.wait_for_hang_up() - started < 0.15 + HANG_UP_WITHIN


def test_the_body_of_a_redirect_is_not_waited_for(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(PHASES["body of a redirect"][0], answering(page()))

    assert fetch(web.runtime(), "http://ok.example/").status_code == 200
    server.wait_for_hang_up(0)


def test_a_cancel_during_the_tls_handshake(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(silent)
    cancelling = cancelled(
        fetch, web.runtime(), "https://ok.example/", lambda: server.wait_for("bytes")
    )

    assert server.wait_for_hang_up() - cancelling.at < HANG_UP_WITHIN


def test_the_time_during_the_tls_handshake(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(silent)

    error = failure(lambda: fetch(web.runtime(timeout=0.1), "https://ok.example/"))
    assert error.code == "WEB_FETCH_TIMEOUT"
    server.wait_for_hang_up()


def test_a_cancel_while_reading_over_tls(fetch: Fetch, web_with: WebWith) -> None:
    authority = Authority()
    web, server = web_with(stalling(HEAD), tls=authority.server_for("ok.example"))
    runtime = web.runtime(ssl_context=authority.client)
    cancelling = cancelled(
        fetch, runtime, "https://ok.example/", lambda: server.wait_for("stalled")
    )

    assert server.wait_for_hang_up() - cancelling.at < HANG_UP_WITHIN


async def test_a_cancelled_task_stays_cancelled_and_hangs_up(web_with: WebWith) -> None:
    web, server = web_with(stalling(HEAD))
    task = asyncio.create_task(web.runtime().afetch("http://ok.example/"))
    await asyncio.to_thread(server.wait_for, "stalled")
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(server.wait_for_hang_up)


# -- whose time ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "of_call", "code", "seconds"),
    [
        (0.1, 5.0, "WEB_FETCH_TIMEOUT", "0.1 s"),
        (5.0, 0.1, "WEB_TIMEOUT", "0.1 s"),
        (None, 0.1, "WEB_TIMEOUT", "0.1 s"),
        (0.1, None, "WEB_FETCH_TIMEOUT", "0.1 s"),
        (0.1, 0.1, "WEB_TIMEOUT", "0.1 s"),
    ],
)
def test_the_shorter_limit_gives_the_error_its_name(
    fetch: Fetch,
    web_with: WebWith,
    own: float | None,
    of_call: float | None,
    code: str,
    seconds: str,
) -> None:
    web, _ = web_with(stalling())
    runtime = web.runtime(timeout=own)
    error = failure(lambda: fetch(runtime, "http://ok.example/", timeout=of_call))

    assert error.code == code
    assert error.message.endswith(seconds)


def test_thirty_seconds_are_the_default() -> None:
    assert HttpFetchProvider().timeout == 30.0


def test_all_hops_share_one_time(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(slow(0.1, MOVED))
    started = time.monotonic()
    error = failure(lambda: fetch(web.runtime(timeout=0.25), "http://ok.example/"))

    assert error.code == "WEB_FETCH_TIMEOUT"
    assert time.monotonic() - started < 0.25 + HANG_UP_WITHIN
    assert len(server.requests) <= 3


# -- politeness ------------------------------------------------------------------------------------


def together(fetch: Fetch, runtime: WebRuntime, urls: list[str]) -> None:
    """Fetch all of `urls` at the same time, in threads or in tasks."""
    if fetch.name == "async":

        async def run() -> None:
            await asyncio.gather(*(runtime.afetch(url) for url in urls))

        asyncio.run(run())
        return
    threads = [threading.Thread(target=runtime.fetch, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


class Busy:
    """A script that notes how many requests are being answered at the same time."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()

    def __call__(self, peer: Any) -> None:
        while peer.request() is not None:
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
            time.sleep(0.02)
            with self._lock:
                self._now -= 1
            peer.send(page())


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_fetches_than_allowed_go_to_one_host(
    fetch: Fetch, web_with: WebWith, limit: int
) -> None:
    busy = Busy()
    web, server = web_with(busy)
    runtime = web.runtime(max_connections_per_host=limit)
    together(fetch, runtime, ["http://ok.example/", "http://OK.example./a"] * 4)

    assert len(server.requests) == 8
    assert busy.most <= limit
    assert server.connections <= limit


def test_other_hosts_do_not_wait(fetch: Fetch, web_with: WebWith) -> None:
    met = threading.Barrier(3)

    def meeting(peer: Any) -> None:
        while peer.request() is not None:
            met.wait(10)
            peer.send(page())

    web, _ = web_with(meeting)
    runtime = web.runtime(max_connections_per_host=1)

    together(fetch, runtime, [f"http://{name}.example/" for name in "abc"])


def test_a_cancel_and_the_time_end_the_wait_for_a_turn(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(stalling())
    runtime = web.runtime(max_connections_per_host=1)
    release = CancelToken()
    holder = threading.Thread(
        target=lambda: failure(lambda: runtime.fetch("http://ok.example/", cancel=release))
    )
    holder.start()
    server.wait_for("stalled")

    cancelled(fetch, runtime, "http://ok.example/", lambda: time.sleep(0.05))
    error = failure(lambda: fetch(runtime, "http://ok.example/", timeout=0.05))
    assert error.code == "WEB_TIMEOUT"
    assert len(server.requests) == 1
    release.cancel()
    holder.join(10)
    assert not holder.is_alive()


def test_whoever_gave_up_or_failed_holds_up_nobody(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(stalling(), answering(page(content_type="image/png")), answering(page()))
    runtime = web.runtime(max_connections_per_host=1)
    url = "http://ok.example/"

    assert failure(lambda: fetch(runtime, url, timeout=0.05)).code == "WEB_TIMEOUT"
    assert failure(lambda: fetch(runtime, url)).code == "WEB_UNSUPPORTED_CONTENT_TYPE"
    assert fetch(runtime, url, timeout=10).status_code == 200
