"""No async call of ours stands in the way of the event loop: it goes on ticking meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from llama_index.core.schema import QueryBundle

from dsh_web import (
    HttpFetchProvider,
    PerplexityAgentProvider,
    WebRuntime,
    WebSearchResult,
)
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebFetchTool, WebSearchTool
from langchain_dsh_web import WebSearchRetriever as LangChainRetriever
from llama_index_dsh_web import (
    WebAnswerQueryEngine,
    WebPageReader,
    WebToolSpec,
)
from llama_index_dsh_web import WebSearchRetriever as LlamaIndexRetriever

LATENCY = 0.4
TICK = 0.01


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(latency=LATENCY) as server:
        yield server


class PagesOfTheServer:
    """Finds pages that the server itself has, so that they can be read."""

    id = "pages"

    def __init__(self, url: str) -> None:
        self._url = url

    def available(self) -> bool:
        return True

    def search_flow(self, request: Any) -> Any:
        yield from ()
        sources = [{"url": f"{self._url}/pages/{number}"} for number in (1, 2)]
        return WebSearchResult(sources=sources, provider="pages")


def answering(server: LoopbackServer) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexityAgentProvider(api_key=server.api_key, base_url=server.url)
    )
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    return runtime


def finding(server: LoopbackServer) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(PagesOfTheServer(server.url))
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    return runtime


async def streamed(runtime: WebRuntime) -> Any:
    return [event async for event in runtime.astream("a list")]


async def streamed_answer(runtime: WebRuntime) -> Any:
    response = await WebAnswerQueryEngine(runtime=runtime, streaming=True).aquery("a list")
    return [piece async for piece in response.response_gen]


def tool(runtime: WebRuntime, name: str) -> Any:
    return next(
        tool for tool in WebToolSpec(runtime).to_tool_list() if tool.metadata.get_name() == name
    )


CALLS: dict[str, Callable[[LoopbackServer], Awaitable[Any]]] = {
    "asearch": lambda s: answering(s).asearch("a list"),
    "asearch_many": lambda s: answering(s).asearch_many(["a list", "a file"]),
    "asearch_each": lambda s: answering(s).asearch_each(["a list", "a file"], keep_errors=True),
    "astream": lambda s: streamed(answering(s)),
    "afetch": lambda s: answering(s).afetch(f"{s.url}/pages/1"),
    "aread_page": lambda s: answering(s).aread_page(f"{s.url}/pages/1"),
    "aread_pages": lambda s: answering(s).aread_pages([f"{s.url}/pages/{n}" for n in (1, 2)]),
    "langchain retriever": lambda s: LangChainRetriever(runtime=answering(s)).ainvoke("a list"),
    "langchain pages": lambda s: LangChainRetriever(runtime=finding(s), content="page").ainvoke(
        "a list"
    ),
    "langchain search tool": lambda s: WebSearchTool(runtime=answering(s)).ainvoke(
        {"queries": ["a list"]}
    ),
    "langchain fetch tool": lambda s: WebFetchTool(runtime=answering(s)).ainvoke(
        {"url": f"{s.url}/pages/1"}
    ),
    "llama-index retriever": lambda s: LlamaIndexRetriever(runtime=answering(s)).aretrieve(
        "a list"
    ),
    "llama-index pages": lambda s: LlamaIndexRetriever(
        runtime=finding(s), content="page"
    ).aretrieve("a list"),
    "llama-index search tool": lambda s: tool(answering(s), "web_search").acall(queries=["a list"]),
    "llama-index fetch tool": lambda s: tool(answering(s), "web_fetch").acall(
        url=f"{s.url}/pages/1"
    ),
    "llama-index reader": lambda s: WebPageReader(runtime=answering(s)).aload_data(
        urls=[f"{s.url}/pages/1"]
    ),
    "llama-index answer": lambda s: WebAnswerQueryEngine(runtime=answering(s)).aquery("a list"),
    "llama-index answer nodes": lambda s: WebAnswerQueryEngine(runtime=answering(s)).aretrieve(
        QueryBundle("a list")
    ),
    "llama-index streamed answer": lambda s: streamed_answer(answering(s)),
}


@pytest.mark.parametrize("name", CALLS)
async def test_the_loop_ticks_on_during(name: str, server: LoopbackServer) -> None:
    # Once before, so that first imports, which do hold the loop up, are done.
    assert await CALLS[name](server)
    gaps: list[float] = []
    loop = asyncio.get_running_loop()

    async def tick() -> None:
        last = loop.time()
        while True:
            await asyncio.sleep(TICK)
            gaps.append(loop.time() - last)
            last = loop.time()

    ticking = asyncio.ensure_future(tick())
    outcome = await CALLS[name](server)
    ticking.cancel()

    assert outcome
    # A call that blocked would leave one gap as long as the server takes to answer.
    assert sum(gaps) >= LATENCY * 0.8
    assert max(gaps) < LATENCY / 2
