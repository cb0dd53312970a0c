"""What a search cost and what went not quite as asked reaches whoever listens."""

from __future__ import annotations

import json

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.runnables import RunnableLambda

from dsh_web import Usage, WebSearchResult, WebSearchSource
from langchain_dsh_web import WebSearchRetriever, WebSearchTool


class Listener(BaseCallbackHandler):
    def __init__(self):
        self.events = []
        self.runs = {}

    def on_retriever_start(self, serialized, query, *, run_id, **kwargs):
        self.runs[run_id] = "retriever"

    def on_tool_start(self, serialized, input_str, *, run_id, **kwargs):
        self.runs[run_id] = "tool"

    def on_custom_event(self, name, data, *, run_id, **kwargs):
        self.events.append((name, data, self.runs.get(run_id)))


class AsyncListener(AsyncCallbackHandler):
    def __init__(self):
        self.events = []

    async def on_custom_event(self, name, data, **kwargs):
        self.events.append((name, data))


def answer(request):
    return WebSearchResult(
        provider="fake",
        content="An answer.",
        sources=tuple(WebSearchSource(url=f"https://a.example/{i}") for i in range(9)),
        request_id="r-1",
        usage=Usage(total_tokens=12, cost_usd=0.005),
        warnings=("1 entry was skipped",),
    )


@pytest.fixture(params=["retriever", "tool"])
def kind(request):
    return request.param


@pytest.fixture
def searcher(kind, runtime_of):
    runtime = runtime_of(answer)
    if kind == "retriever":
        return WebSearchRetriever(runtime=runtime, k=8)
    return WebSearchTool(runtime=runtime)


async def test_an_event_belongs_to_the_run_that_searched(invoke, searcher, kind):
    listener = Listener()

    await invoke(searcher, "secret plans", {"callbacks": [listener]})

    expected = {
        "provider": "fake",
        "request_id": "r-1",
        "usage": {"total_tokens": 12, "cost_usd": 0.005, "cost_is_estimate": False},
        "truncated": True,
        "warnings": ["1 entry was skipped"],
        "related_questions": [],
        "source_count": 8,
    }
    assert [("dsh_web.search", expected, kind)] == listener.events
    assert expected == json.loads(json.dumps(listener.events[0][1]))


async def test_an_event_nests_in_a_chain(invoke, searcher, kind):
    listener = Listener()
    chain = RunnableLambda(lambda text: text) | searcher

    await invoke(chain, "q", {"callbacks": [listener]})

    assert [kind] == [run for _, _, run in listener.events]


async def test_async_listeners_and_event_streams_receive_it(searcher):
    listener = AsyncListener()
    await searcher.ainvoke("q", {"callbacks": [listener]})
    streamed = [
        event["name"]
        async for event in searcher.astream_events("q", version="v2")
        if event["event"] == "on_custom_event"
    ]

    assert [name for name, _ in listener.events] == ["dsh_web.search"]
    assert streamed == ["dsh_web.search"]


async def test_a_failed_search_sends_no_event(invoke, runtime_of):
    def failing(request):
        raise ConnectionError("gone")

    listener = Listener()
    tool = WebSearchTool(runtime=runtime_of(failing))

    text = await invoke(tool, "q", {"callbacks": [listener]})

    assert text.startswith("web_search failed (WEB_PROVIDER_ERROR): ")
    assert listener.events == []
