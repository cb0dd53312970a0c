"""Async calls leave the event loop free, survive it, and close their connection when cancelled."""

from __future__ import annotations

import asyncio

import pytest

from dsh_web import PerplexitySearchProvider
from langchain_dsh_web import WebSearchRetriever, WebSearchTool

TICK = 0.02


@pytest.fixture
def runtime(runtime_of, server):
    return runtime_of(
        provider=PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    )


@pytest.fixture(params=["retriever", "tool"])
def search(request, runtime):
    """Return a function that starts a search of either kind as a coroutine."""
    if request.param == "retriever":
        return WebSearchRetriever(runtime=runtime).ainvoke
    return WebSearchTool(runtime=runtime).ainvoke


async def test_the_loop_keeps_running_during_a_search(search, server):
    task = asyncio.ensure_future(search("wait"))
    assert await asyncio.to_thread(server.hanging.wait, 10)

    for _ in range(5):
        await asyncio.sleep(TICK)
        assert not task.done()

    server.release.set()
    assert "wait 0" in str(await task)


async def test_cancelling_the_task_closes_the_connection(search, server):
    task = asyncio.ensure_future(search("hang"))
    assert await asyncio.to_thread(server.hanging.wait, 10)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.hung_up.wait, 2)


def test_one_object_serves_several_loops(search):
    for _ in range(3):
        assert "q 0" in str(asyncio.run(search("q")))


async def test_a_sync_call_works_inside_a_running_loop(runtime):
    assert len(WebSearchRetriever(runtime=runtime).invoke("q")) == 5
