"""Connections are kept, shared, noticed when they die, and never more than there is work for."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable

import psutil
import pytest

from dsh_web import WebRuntime

from .raw_server import Peer, RawServer, answering, http_answer, slow
from .support import BODY, OK, Call, runtime_on, wait_until


def test_twenty_calls_use_one_connection(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)

    for _ in range(20):
        call(runtime)

    assert len(server.requests) == 20
    assert server.connections == 1


def test_an_error_answer_leaves_the_connection_in_use(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(http_answer(b'{"error": "no"}', status=400), OK))
    runtime = runtime_on(server)
    try:
        call(runtime)
    except Exception:
        server.note("failed")

    assert call(runtime).sources
    assert server.connections == 1
    assert server.count("failed") == 1


def closing_after_answer(peer: Peer) -> None:
    peer.request()
    peer.send(OK)


def test_an_idle_connection_that_the_server_closed_is_noticed(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(closing_after_answer)
    runtime = runtime_on(server)

    for number in range(1, 4):
        assert call(runtime).sources
        server.wait_for("closing", number)

    assert server.connections == 3


POISON = http_answer(b'{"results": [{"url": "https://evil.example/"}]}')
SURPLUS = {"an answer": POISON, "part of an answer": POISON[:20], "an empty line": b"\r\n"}


@pytest.mark.parametrize("kind", SURPLUS)
@pytest.mark.parametrize("is_together", [True, False])
def test_bytes_that_nobody_asked_for_never_become_the_next_answer(
    call: Call, serve: Callable[..., RawServer], kind: str, is_together: bool
) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(OK + SURPLUS[kind] if is_together else OK)
        peer.send(b"" if is_together else SURPLUS[kind])
        peer.server.note("poisoned")
        peer.wait_for_hang_up()

    server = serve(script)
    runtime = runtime_on(server)
    call(runtime)
    server.wait_for("poisoned")

    assert call(runtime).sources[0].url == "https://a.example/"
    assert server.connections == 2


def test_connection_close_is_honoured(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(http_answer(BODY, connection="close")))
    runtime = runtime_on(server)

    call(runtime)
    server.wait_for_hang_up(0)
    call(runtime)

    assert server.connections == 2


def test_an_http_1_0_answer_ends_its_connection(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(OK.replace(b"HTTP/1.1", b"HTTP/1.0")))
    runtime = runtime_on(server)

    call(runtime)
    server.wait_for_hang_up(0)
    assert call(runtime).sources


async def test_fifty_searches_of_one_second_take_about_one_second(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(slow(1.0, OK))
    runtime = runtime_on(server)

    started = time.monotonic()
    results = await asyncio.gather(*(runtime.asearch(f"q{n}") for n in range(50)))
    elapsed = time.monotonic() - started

    assert len(results) == 50
    assert elapsed < 1.5
    assert server.connections == 50


def in_threads(count: int, work: Callable[[], object]) -> None:
    """Run `work` in `count` threads and raise what any of them raised."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run() -> None:
        try:
            barrier.wait(10)
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []


def test_sixteen_threads_share_a_runtime(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)

    in_threads(16, lambda: [call(runtime) for _ in range(10)])

    assert len(server.requests) == 160
    assert server.connections <= 16


def test_sync_and_async_calls_mix_in_many_threads(serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)

    async def burst() -> None:
        await asyncio.gather(*(runtime.asearch("q") for _ in range(5)))

    def work() -> None:
        for _ in range(3):
            runtime.search("q")
            asyncio.run(burst())

    in_threads(8, work)

    assert len(server.requests) == 8 * 3 * 6


def test_a_thousand_calls_leave_nothing_behind(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)
    me = psutil.Process()
    call(runtime)
    gc.collect()
    descriptors, threads = me.num_fds(), me.num_threads()

    if call.name == "sync":
        for _ in range(1000):
            runtime.search("q")
    else:

        async def many() -> None:
            for _ in range(1000):
                await runtime.asearch("q")
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(many())

    assert me.num_fds() <= descriptors
    assert me.num_threads() <= threads
    assert server.connections == 1


def test_closing_ends_the_connections_and_the_runtime_goes_on(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)
    call(runtime)

    if call.name == "sync":
        runtime.close()
    else:
        asyncio.run(runtime.aclose())
    server.wait_for_hang_up(0)

    assert call(runtime).sources
    assert server.connections == 2
    runtime.close()
    runtime.close()
    server.wait_for_hang_up(1)


def test_leaving_the_context_closes_the_connections(serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))

    async def in_async_context() -> None:
        async with runtime_on(server) as runtime:
            await runtime.asearch("q")

    with runtime_on(server) as runtime:
        runtime.search("q")
    asyncio.run(in_async_context())

    server.wait_for_hang_up(0)
    server.wait_for_hang_up(1)


def test_a_connection_in_use_while_the_runtime_closes_is_not_kept(
    serve: Callable[..., RawServer],
) -> None:
    gate = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        gate.wait(10)
        peer.send(OK)
        peer.wait_for_hang_up()

    server = serve(script)
    runtime = runtime_on(server)
    results = []
    thread = threading.Thread(target=lambda: results.append(runtime.search("q")))
    thread.start()
    server.wait_for("request")
    runtime.close()
    gate.set()
    thread.join(10)

    assert results[0].sources
    server.wait_for_hang_up(0)


def test_a_runtime_that_is_dropped_closes_its_connections(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(OK))
    runtime: WebRuntime | None = runtime_on(server)
    assert runtime is not None
    call(runtime)
    runtime = None
    gc.collect()

    wait_until(lambda: server.peers[0].hung_up.is_set())
