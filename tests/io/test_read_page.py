"""Reading a page over real connections: nothing is held while the page is converted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dsh_web import HttpFetchProvider, WebFetchRequest, WebFetchResult, WebPage
from dsh_web._io.async_driver import AsyncDriver
from dsh_web._io.sync_driver import SyncDriver
from dsh_web.fetch_calls import PageCall

from .raw_server import PATIENCE, Peer, RawServer

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


def endless(peer: Peer) -> None:
    """Send a page that never ends."""
    if peer.request() is None:
        return
    peer.send(HEAD + b"\r\n")
    while peer.send(b"High at noon. " * 1000):
        pass
    peer.wait_for_hang_up()


def whole(peer: Peer) -> None:
    """Send a short page to each request."""
    while peer.request() is not None:
        peer.send(HEAD + b"content-length: 4\r\n\r\nNoon")


class Converting:
    """A conversion that takes until it is released."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.release = threading.Event()

    def __call__(self, fetched: WebFetchResult) -> WebPage:
        self.started.set()
        self.release.wait(PATIENCE)
        return WebPage(url=fetched.url, status_code=200, kind="text", text=fetched.body.content)


@pytest.fixture
def converting() -> Iterator[Converting]:
    conversion = Converting()
    yield conversion
    conversion.release.set()


@pytest.fixture(params=["sync", "async"])
def start(request: pytest.FixtureRequest) -> Callable[..., threading.Thread]:
    """Run a call in a thread of its own, blocking or on an event loop."""

    def run(call: PageCall) -> threading.Thread:
        def work() -> None:
            if request.param == "sync":
                call.run(SyncDriver())
            else:
                asyncio.run(call.run_async(AsyncDriver()))

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    return run


def call_for(server: RawServer, convert: Any, **settings: Any) -> PageCall:
    provider = HttpFetchProvider(allow_private_hosts=True, **settings)
    return PageCall(provider, WebFetchRequest(url=server.url), None, PATIENCE, convert)


def test_a_page_that_was_cut_is_hung_up_on_before_it_is_converted(start, converting):
    server = RawServer(endless)
    thread = start(call_for(server, converting, max_response_bytes=1000))
    assert converting.started.wait(PATIENCE)

    server.wait_for_hang_up()

    assert not converting.release.is_set()
    converting.release.set()
    thread.join(PATIENCE)
    server.close()


def test_a_turn_at_a_host_is_over_before_the_page_is_converted(start, converting):
    server = RawServer(whole)
    call = call_for(server, converting, max_connections_per_host=1)
    thread = start(call)
    assert converting.started.wait(PATIENCE)

    # Another fetch of the same provider would wait for the first if that still held its turn.
    other = PageCall(
        call._provider, WebFetchRequest(url=server.url), None, PATIENCE, lambda fetched: fetched
    )
    assert other.run(SyncDriver()).body.content == "Noon"  # type: ignore[attr-defined]

    assert not converting.release.is_set()
    converting.release.set()
    thread.join(PATIENCE)
    server.close()
