"""One runtime serves any event loop: one after the other, several at once, or none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from subprocess import CompletedProcess

from .conftest import Certificate
from .raw_server import RawServer, answering, stalling
from .support import OK, runtime_on

SEVERAL_RUNS = """
import asyncio, logging, sys
from dsh_web import PerplexitySearchProvider, WebRuntime
logging.getLogger("asyncio").setLevel(logging.ERROR)  # its debug mode counts imports as slow
runtime = WebRuntime()
runtime.register_search_provider(PerplexitySearchProvider(api_key="k", base_url=sys.argv[1]))
for _ in range(3):
    assert asyncio.run(runtime.asearch("q")).sources
assert runtime.search("q").sources
"""


def test_several_asyncio_runs_share_a_connection_and_end_silently(
    serve: Callable[..., RawServer], run_script: Callable[..., CompletedProcess[str]]
) -> None:
    server = serve(answering(OK))

    done = run_script(SEVERAL_RUNS, server.url)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(server.requests) == 4
    assert server.connections == 2  # one async, one sync
    server.wait_for_hang_up(0)
    server.wait_for_hang_up(1)


def test_tls_connections_outlive_their_event_loop(
    serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(answering(OK), tls=localhost.server_context())
    runtime = runtime_on(server, ssl_context=localhost.client_context())

    for _ in range(5):
        assert asyncio.run(runtime.asearch("q")).sources

    assert server.connections == 1


async def test_a_sync_call_works_inside_a_running_loop(serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)

    assert runtime.search("q").sources
    assert (await runtime.asearch("q")).sources
    assert runtime.search("q").sources


async def test_a_sync_call_with_an_async_key_works_inside_a_running_loop(
    serve: Callable[..., RawServer],
) -> None:
    async def key() -> str:
        await asyncio.sleep(0)
        return "fresh-key-of-the-day"

    server = serve(answering(OK))
    runtime = runtime_on(server, api_key=key)

    assert runtime.search("q").sources
    assert server.requests[0].header("authorization") == "Bearer fresh-key-of-the-day"


def test_several_loops_at_once_share_a_runtime(serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    runtime = runtime_on(server)
    failures: list[BaseException] = []

    async def burst() -> None:
        for _ in range(10):
            await asyncio.gather(*(runtime.asearch("q") for _ in range(4)))

    def work() -> None:
        try:
            asyncio.run(burst(), debug=True)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert failures == []
    assert len(server.requests) == 6 * 10 * 4


def test_a_loop_that_is_closed_in_the_middle_of_a_call_does_no_harm(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(stalling(), answering(OK))
    runtime = runtime_on(server)

    async def leave_behind() -> None:
        task = asyncio.ensure_future(runtime.asearch("q"))
        await asyncio.to_thread(server.wait_for, "stalled")
        assert not task.done()

    asyncio.run(leave_behind())

    server.wait_for_hang_up(0)
    assert asyncio.run(runtime.asearch("q")).sources
