"""What a search does becomes known while it runs, and changes nothing about its outcome."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tracers import BaseTracer
from langgraph.graph import END, START, StateGraph

from dsh_web import (
    PerplexityAgentProvider,
    ProviderError,
    TextDelta,
    Usage,
    UsageReported,
    WebError,
)
from langchain_dsh_web import WebSearchRetriever, WebSearchTool
from langchain_dsh_web.events import MIN_TEXT_CHARS, News

TICK = 0.02
PROGRESS = [
    {
        "kind": "progress",
        "stage": "searching",
        "queries": ["inner query"],
        "urls": [],
        "note": "Hm.",
    },
    {"kind": "sources", "sources": [{"url": "https://a.example/", "title": "A"}]},
    {"kind": "sources", "sources": [{"url": "https://b.example/"}]},
]


class Listener(BaseCallbackHandler):
    def __init__(self):
        self.events = []
        self.started = []

    def on_retriever_start(self, serialized, query, *, run_id, **kwargs):
        self.started.append(run_id)

    def on_tool_start(self, serialized, input_str, *, run_id, **kwargs):
        self.started.append(run_id)

    def on_custom_event(self, name, data, *, run_id, **kwargs):
        self.events.append((name, data, run_id))

    def named(self, name):
        return [data for found, data, _ in self.events if found == name]


class AsyncListener(AsyncCallbackHandler):
    def __init__(self):
        self.names = []
        self.told = asyncio.Event()

    async def on_custom_event(self, name, data, **kwargs):
        self.names.append(name)
        self.told.set()


class Tracer(BaseTracer):
    def __init__(self):
        super().__init__()
        self.finished = []

    def _persist_run(self, run):
        self.finished.append(run)


class ScriptedModel(GenericFakeChatModel):
    disable_streaming: bool = True

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self


def agent(tool, *queries):
    call = {"name": "web_search", "args": {"queries": list(queries)}, "id": "call-1"}
    script = [AIMessage(content="", tool_calls=[call]), AIMessage(content="done")]
    return create_agent(ScriptedModel(messages=iter(script)), tools=[tool])


ASK = {"messages": [("user", "?")]}
CALL = {"type": "tool_call", "id": "1", "name": "web_search", "args": {"queries": ["q"]}}


@pytest.fixture
def provider(streaming):
    return streaming()


@pytest.fixture(params=["retriever", "tool"])
def kind(request):
    return request.param


@pytest.fixture
def search_with(kind):
    return WebSearchRetriever if kind == "retriever" else WebSearchTool


@pytest.fixture
def searcher(search_with, runtime):
    return search_with(runtime=runtime)


# -- what a listener is told -----------------------------------------------------------------------


async def test_progress_and_sources_come_before_the_summary(invoke, searcher):
    listener = Listener()

    await invoke(searcher, "q", {"callbacks": [listener]})

    assert [name for name, _, _ in listener.events] == ["dsh_web.progress"] * 3 + ["dsh_web.search"]
    assert PROGRESS == listener.named("dsh_web.progress")
    assert json.loads(json.dumps(listener.events[0][1])) == PROGRESS[0]
    assert listener.named("dsh_web.search")[0]["usage"] == {
        "total_tokens": 12,
        "cost_usd": 0.005,
        "cost_is_estimate": False,
    }


async def test_every_event_belongs_to_the_run_that_searches(invoke, searcher):
    listener = Listener()

    await invoke(searcher, "q", {"callbacks": [listener]})

    assert set(listener.started) == {run_id for _, _, run_id in listener.events}


async def test_async_listeners_are_told_too(searcher):
    listener = AsyncListener()

    await searcher.ainvoke("q", {"callbacks": [listener]})

    assert ["dsh_web.progress"] * 3 + ["dsh_web.search"] == listener.names


async def test_the_answer_comes_in_stretches_if_asked_for(invoke, search_with, runtime, provider):
    listener = Listener()

    searcher = search_with(runtime=runtime, stream_text=True)
    await invoke(searcher, "q", {"callbacks": [listener]})

    texts = [data["text"] for data in listener.named("dsh_web.delta")]
    assert runtime.search("q").content == "".join(texts)
    # The first stretch ends early, where sources came in between; the last one is what was left.
    assert [len(text) >= MIN_TEXT_CHARS for text in texts] == [
        False,
        *[True] * (len(texts) - 2),
        False,
    ]
    assert [name for name, _, _ in listener.events][2:4] == ["dsh_web.delta", "dsh_web.progress"]


def test_text_that_nobody_asked_for_and_usage_are_no_news():
    silent, told = News(include_text=False), News(include_text=True)

    assert [] == list(silent.of(TextDelta(text="word")))
    assert [] == list(told.of(TextDelta(text="")))
    assert [] == list(told.of(UsageReported(usage=Usage(total_tokens=1))))


async def test_what_was_told_before_a_failure_stays_told(invoke, streaming, runtime_of):
    listener = Listener()
    failing = streaming(ProviderError("the stream broke", retryable=True))
    runtime = runtime_of(provider=failing)

    text = await invoke(WebSearchTool(runtime=runtime), "q", {"callbacks": [listener]})
    with pytest.raises(WebError, match="the stream broke"):
        await invoke(WebSearchRetriever(runtime=runtime), "q", {"callbacks": [listener]})

    assert text.startswith("web_search failed (WEB_PROVIDER_ERROR): the stream broke")
    assert PROGRESS[:2] * 2 == listener.named("dsh_web.progress")
    assert [] == listener.named("dsh_web.search")


async def test_of_several_queries_only_the_summary_is_told(invoke, runtime, provider):
    listener = Listener()

    await invoke(WebSearchTool(runtime=runtime), {"queries": ["a", "b"]}, {"callbacks": [listener]})

    assert ["dsh_web.search"] == [name for name, _, _ in listener.events]
    assert provider.streamed == 0


# -- the outcome -----------------------------------------------------------------------------------


async def test_the_message_and_its_artifact_are_the_unstreamed_ones(invoke, runtime, provider):
    tool = WebSearchTool(runtime=runtime, max_results=1)

    plain = await invoke(tool, CALL)
    told = await invoke(tool, CALL, {"callbacks": [Listener()]})

    assert provider.streamed == 1
    assert plain == told


async def test_the_documents_are_the_unstreamed_ones(invoke, runtime, provider):
    retriever = WebSearchRetriever(runtime=runtime, k=1, include_answer=True)

    plain = await invoke(retriever, "q")
    told = await invoke(retriever, "q", {"callbacks": [Listener()]})

    assert provider.streamed == 1
    assert plain == told


async def test_a_real_provider_gives_the_same_either_way(invoke, runtime_of, server):
    provider = PerplexityAgentProvider(api_key=server.api_key, base_url=server.url)
    tool = WebSearchTool(runtime=runtime_of(provider=provider))
    listener = Listener()

    plain = await invoke(tool, CALL)
    told = await invoke(tool, CALL, {"callbacks": [listener]})

    assert plain == told
    assert ["progress", "progress", "sources"] == [
        data["kind"] for data in listener.named("dsh_web.progress")
    ]


async def test_the_providers_own_body_is_never_one_put_together(invoke, runtime, provider):
    tool = WebSearchTool(runtime=runtime, include_raw=True)

    await invoke(tool, CALL, {"callbacks": [Listener()]})

    assert provider.streamed == 0


# -- nobody listens --------------------------------------------------------------------------------


@pytest.mark.parametrize("handlers", [[], [Tracer()], [BaseCallbackHandler()]])
async def test_without_a_listener_nothing_is_streamed(invoke, searcher, provider, handlers):
    await invoke(searcher, "q", {"callbacks": handlers})

    assert provider.streamed == 0


async def test_a_handler_that_ignores_custom_events_does_not_listen(invoke, searcher, provider):
    class Ignoring(Listener):
        ignore_custom_event = True

    await invoke(searcher, "q", {"callbacks": [Ignoring()]})

    assert provider.streamed == 0


async def test_a_graph_whose_custom_events_nobody_reads_does_not_listen(invoke, runtime, provider):
    await invoke(agent(WebSearchTool(runtime=runtime), "q"), ASK)
    async for _ in agent(WebSearchTool(runtime=runtime), "q").astream(ASK, stream_mode="updates"):
        pass

    assert (len(provider.requests), provider.streamed) == (2, 0)


# -- agents and graphs -----------------------------------------------------------------------------


async def test_event_streams_of_an_agent_show_progress_under_the_tool(runtime):
    seen = [
        event
        async for event in agent(WebSearchTool(runtime=runtime), "q").astream_events(
            ASK, version="v2"
        )
        if event["event"] in ("on_custom_event", "on_tool_start", "on_tool_end")
    ]

    assert [
        "on_tool_start",
        *["on_custom_event"] * 4,
        "on_tool_end",
    ] == [event["event"] for event in seen]
    assert PROGRESS == [event["data"] for event in seen[1:4]]
    assert len({event["run_id"] for event in seen}) == 1


async def collected(graph, colour):
    if colour == "sync":
        return await asyncio.to_thread(lambda: list(graph.stream(ASK, stream_mode="custom")))
    return [chunk async for chunk in graph.astream(ASK, stream_mode="custom")]


@pytest.fixture(params=["sync", "async"])
def colour(request):
    return request.param


async def test_custom_streams_of_an_agent_show_progress(runtime, colour):
    chunks = await collected(agent(WebSearchTool(runtime=runtime), "q"), colour)

    assert ["dsh_web.progress"] * 3 + ["dsh_web.search"] == [chunk["name"] for chunk in chunks]
    assert PROGRESS == [chunk["data"] for chunk in chunks[:3]]
    assert len({chunk["run_id"] for chunk in chunks}) == 1


async def test_custom_streams_show_a_retriever_in_a_node(runtime, colour):
    retriever = WebSearchRetriever(runtime=runtime)

    async def find_async(state):
        return {"messages": [(await retriever.ainvoke("q"))[0].page_content]}

    def find(state):
        return {"messages": [retriever.invoke("q")[0].page_content]}

    graph = StateGraph(dict)
    graph.add_node("find", find if colour == "sync" else find_async)
    graph.add_edge(START, "find")
    graph.add_edge("find", END)

    chunks = await collected(graph.compile(), colour)

    assert PROGRESS == [chunk["data"] for chunk in chunks[:3]]


async def test_an_agents_loop_stays_free_and_progress_comes_at_once(runtime_of, server):
    provider = PerplexityAgentProvider(api_key=server.api_key, base_url=server.url)
    asked = agent(WebSearchTool(runtime=runtime_of(provider=provider)), "wait")
    late = []

    async def tick():
        while True:
            started = time.monotonic()
            await asyncio.sleep(TICK)
            late.append(time.monotonic() - started - TICK)

    chunks = asked.astream(ASK, stream_mode="custom")
    first = await anext(chunks)
    assert not server.release.is_set()
    ticker = asyncio.ensure_future(tick())
    asyncio.get_running_loop().call_later(10 * TICK, server.release.set)
    rest = [chunk async for chunk in chunks]
    ticker.cancel()

    assert first["data"]["stage"] == "searching"
    assert rest[-1]["name"] == "dsh_web.search"
    assert len(late) >= 5
    assert max(late) < 5 * TICK


async def test_cancelling_an_agent_closes_the_stream(runtime_of, server):
    provider = PerplexityAgentProvider(api_key=server.api_key, base_url=server.url)
    asked = agent(WebSearchTool(runtime=runtime_of(provider=provider)), "hang")
    listener = AsyncListener()
    task = asyncio.ensure_future(asked.ainvoke(ASK, {"callbacks": [listener]}))
    await asyncio.wait_for(listener.told.wait(), 10)

    task.cancel()
    closed = await asyncio.to_thread(server.hung_up.wait, 0.2)

    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed


# -- what a search has used ------------------------------------------------------------------------


async def test_a_tracer_finds_usage_in_the_outputs_of_a_tool_call(invoke, runtime):
    tracer = Tracer()

    await invoke(WebSearchTool(runtime=runtime), CALL, {"callbacks": [tracer]})

    artifact = tracer.finished[0].outputs["output"].artifact
    assert artifact["result"]["usage"]["cost_usd"] == 0.005


async def test_the_end_of_a_tool_in_an_event_stream_holds_usage(runtime):
    (end,) = [
        event
        async for event in agent(WebSearchTool(runtime=runtime), "q").astream_events(
            ASK, version="v2"
        )
        if event["event"] == "on_tool_end"
    ]

    assert end["data"]["output"].artifact["result"]["usage"]["cost_usd"] == 0.005
