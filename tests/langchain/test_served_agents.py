"""Agents with the toolkit over real HTTP: turns, memory, streams, failures, cancelling, limits."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallLimitMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from dsh_web import WebError, WebPage, WebRuntime, WebSearchResult
from dsh_web.server import Fault, LoopbackServer
from langchain_dsh_web import WebToolException, WebToolkit, is_retryable

from .served import ASK, REACH, calls, runtime_at, scripted, searches, tool_messages

QUESTION = "How do I shuffle a list?"


@pytest.fixture(params=["perplexity", "parallel"], autouse=True)
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything here runs once per vendor, and knows nothing of either."""
    monkeypatch.setattr(REACH, "vendor", request.param)
    return str(request.param)


@pytest.fixture
def server():
    with LoopbackServer() as server:
        yield server


def agent_at(
    server: LoopbackServer,
    *turns: Any,
    runtime: WebRuntime | None = None,
    search: dict[str, Any] | None = None,
    **settings: Any,
) -> Any:
    toolkit = WebToolkit(runtime=runtime or runtime_at(server), search=search or {})
    return create_agent(scripted(*turns), tools=toolkit.get_tools(), **settings)


async def test_an_agent_searches_then_reads_a_page(invoke, server) -> None:
    turns = searches(QUESTION), calls(("web_fetch", {"url": f"{server.url}/pages/1"}))

    state = await invoke(agent_at(server, *turns), ASK)

    found, read = tool_messages(state)
    assert WebSearchResult.model_validate(found.artifact["result"]).citations
    page = WebPage.model_validate(read.artifact["result"])
    assert page.is_usable
    assert read.content.startswith(f"Fetched {page.url} (HTTP 200)")
    assert state["messages"][-1].content == "done"


async def test_parallel_calls_of_one_turn_run_at_the_same_time(invoke) -> None:
    with LoopbackServer(latency=0.3) as server:
        agent = agent_at(server, searches("list", "file", "json", "date"))
        start = time.monotonic()

        state = await invoke(agent, ASK)

        assert time.monotonic() - start < 4 * 0.3
        assert [m.tool_call_id for m in tool_messages(state)] == [
            f"web_search-{number}" for number in range(4)
        ]
        assert all(m.status == "success" for m in tool_messages(state))


async def test_a_failed_call_beside_good_ones_fails_alone(invoke, server) -> None:
    turn = calls(
        ("web_search", {"queries": ["list"]}),
        ("web_search", {"queries": [" "]}),
        ("web_fetch", {"url": "ftp://x.example/"}),
    )

    state = await invoke(agent_at(server, turn), ASK)

    assert [m.status for m in tool_messages(state)] == ["success", "error", "error"]
    assert tool_messages(state)[2].artifact["error"]["code"] == "WEB_INVALID_URL"


async def test_an_error_is_told_to_the_model_which_recovers(invoke, server) -> None:
    server.add_fault(Fault(status=503))
    model = scripted(searches("first try"), searches("second try"))
    agent = create_agent(model, tools=WebToolkit(runtime=runtime_at(server)).get_tools())

    state = await invoke(agent, ASK)

    failed, found = tool_messages(state)
    assert (failed.status, found.status) == ("error", "success")
    told = [m for m in model.heard[1] if isinstance(m, ToolMessage)][-1]
    assert told.content == failed.content
    assert failed.content.startswith("web_search failed (WEB_PROVIDER_ERROR): ")
    assert failed.content.endswith("(it may work if tried again)")
    assert failed.artifact["error"]["retryable"] is True


FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "wrong key": ({"api_key": "sk-not-the-key"}, "WEB_PROVIDER_ERROR"),
    "rate limit": ({"fault": "status=429,retry-after=7"}, "WEB_PROVIDER_ERROR"),
    "server error": ({"fault": "status=500"}, "WEB_PROVIDER_ERROR"),
    "nobody there": ({"base_url": "http://127.0.0.1:9"}, "WEB_PROVIDER_ERROR"),
    "no JSON": ({"fault": "body=oops"}, "WEB_PROVIDER_ERROR"),
    "filter refused": ({"search": {"mode": "academic"}}, "WEB_UNSUPPORTED_FILTER"),
    "too slow": ({"fault": "delay=5", "search": {"timeout": 0.2}}, "WEB_TIMEOUT"),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failing_provider_never_ends_the_run(invoke, server, name: str) -> None:
    options, code = FAILURES[name]
    search = {**options.get("search", {})}
    reach = {key: value for key, value in options.items() if key != "search"}
    agent = agent_at(server, searches("q"), runtime=runtime_at(server, **reach), search=search)

    state = await invoke(agent, ASK)

    (failed,) = tool_messages(state)
    assert failed.status == "error"
    assert failed.content.startswith(f"web_search failed ({code}): ")
    assert failed.artifact["error"]["code"] == code
    assert failed.artifact["error"].get("retry_after") == (7 if name == "rate limit" else None)
    assert json.loads(json.dumps(failed.artifact)) == failed.artifact
    assert "sk-not-the-key" not in str(state)
    assert state["messages"][-1].content == "done"


async def test_no_provider_and_two_providers_are_told_too(invoke, server) -> None:
    two = runtime_at(server)
    two.register_search_provider(next(iter(runtime_at(server, kind=_Other)._searchers.all())))

    for runtime, code in ((WebRuntime(), "UNAVAILABLE"), (two, "AMBIGUOUS")):
        state = await invoke(agent_at(server, searches("q"), runtime=runtime), ASK)
        assert f"WEB_PROVIDER_{code}" in tool_messages(state)[0].content


class _Other:
    id = "other"

    def __init__(self, **settings: Any) -> None:
        pass

    def available(self) -> bool:
        return True

    def search_flow(self, request: Any) -> Any:
        raise AssertionError("it is never chosen")


async def test_unhandled_errors_reach_the_retry_middleware(invoke, server) -> None:
    server.add_fault(Fault(status=503), times=2)
    retries = ToolRetryMiddleware(
        max_retries=2, retry_on=is_retryable, on_failure="error", initial_delay=0.0, jitter=False
    )
    agent = agent_at(
        server, searches("q"), search={"handle_tool_error": False}, middleware=[retries]
    )

    state = await invoke(agent, ASK)

    assert [m.status for m in tool_messages(state)] == ["success"]
    assert len(server.requests) == 3


async def test_unhandled_errors_that_no_retry_can_cure_end_the_run_at_once(invoke, server) -> None:
    retries = ToolRetryMiddleware(
        max_retries=2, retry_on=is_retryable, on_failure="error", initial_delay=0.0, jitter=False
    )
    agent = agent_at(
        server,
        searches("q"),
        runtime=runtime_at(server, api_key="wrong"),
        search={"handle_tool_error": False},
        middleware=[retries],
    )

    with pytest.raises(WebToolException) as caught:
        await invoke(agent, ASK)

    assert isinstance(caught.value.__cause__, WebError)
    assert caught.value.error.status_code == 401
    assert len(server.requests) == 1


async def test_a_call_limit_stops_an_agent_that_searches_for_ever(invoke, server) -> None:
    limit = ToolCallLimitMiddleware(tool_name="web_search", run_limit=2, exit_behavior="continue")
    agent = agent_at(server, *(searches(f"q{n}") for n in range(5)), middleware=[limit])

    state = await invoke(agent, ASK)

    assert len(server.requests) == 2
    assert state["messages"][-1].content == "done"


# -- memory ----------------------------------------------------------------------------------------


async def test_a_conversation_goes_on_where_it_stopped(invoke, server) -> None:
    agent = agent_at(server, searches("a"), "first", searches("b"), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}

    await invoke(agent, ASK, thread)
    state = await invoke(agent, ASK, thread)

    assert len(tool_messages(state)) == 2
    first = WebSearchResult.model_validate(tool_messages(state)[0].artifact["result"])
    assert first.request is not None
    assert first.request.query == "a"


def test_artifacts_come_back_equal_from_a_file(server, tmp_path: Path) -> None:
    path, thread = tmp_path / "memory.sqlite", {"configurable": {"thread_id": "1"}}
    turn = calls(
        ("web_search", {"queries": ["list", "file"]}),
        ("web_search", {"queries": [" "]}),
        ("web_fetch", {"url": f"{server.url}/pages/1"}),
    )
    with sqlite3.connect(path, check_same_thread=False) as connection:
        agent = agent_at(server, turn, checkpointer=SqliteSaver(connection))
        live = tool_messages(agent.invoke(ASK, thread))

    with sqlite3.connect(path, check_same_thread=False) as connection:
        again = agent_at(server, checkpointer=SqliteSaver(connection))
        stored = tool_messages(again.get_state(thread).values)
        resumed = again.invoke({"messages": [("user", "and?")]}, thread)

    assert [m.artifact for m in stored] == [m.artifact for m in live]
    assert [m.artifact["kind"] for m in stored] == ["web_search", "web_search", "web_fetch"]
    assert WebSearchResult.model_validate(stored[0].artifact["result"]).citations
    assert stored[1].artifact["error"]["code"] == "WEB_INVALID_REQUEST"
    assert len(tool_messages(resumed)) == 3


async def test_artifacts_come_back_equal_from_a_file_async(server, tmp_path: Path) -> None:
    path, thread = str(tmp_path / "memory.sqlite"), {"configurable": {"thread_id": "1"}}
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        agent = agent_at(server, searches("list"), checkpointer=saver)
        live = tool_messages(await agent.ainvoke(ASK, thread))

    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        again = agent_at(server, checkpointer=saver)
        stored = tool_messages((await again.aget_state(thread)).values)

    assert [m.artifact for m in stored] == [m.artifact for m in live]
    assert type(stored[0].artifact) is dict


async def test_an_interrupted_run_resumes_before_the_search(invoke, server) -> None:
    agent = agent_at(
        server, searches("a"), checkpointer=InMemorySaver(), interrupt_before=["tools"]
    )
    thread = {"configurable": {"thread_id": "1"}}

    stopped = await invoke(agent, ASK, thread)
    assert tool_messages(stopped) == []
    assert server.requests == []
    state = await invoke(agent, None, thread)

    assert [m.status for m in tool_messages(state)] == ["success"]
    assert len(server.requests) == 1


# -- streams ---------------------------------------------------------------------------------------


def test_a_run_can_be_watched_step_by_step(server) -> None:
    agent = agent_at(server, searches(QUESTION))

    seen = list(agent.stream(ASK, stream_mode=["updates", "messages", "custom"]))

    steps = [name for mode, part in seen if mode == "updates" for name in part]
    assert steps == ["model", "tools", "model"]
    assert any(mode == "messages" and isinstance(part[0], ToolMessage) for mode, part in seen)


async def test_a_run_can_be_watched_step_by_step_async(server) -> None:
    agent = agent_at(server, searches(QUESTION))

    events = [event async for event in agent.astream_events(ASK, version="v2")]

    ends = [e for e in events if e["event"] == "on_tool_end"]
    assert [e["name"] for e in ends] == ["web_search"]
    told = [e["name"] for e in events if e["event"] == "on_custom_event"]
    assert told[-1] == "dsh_web.search"
    assert "dsh_web.progress" in told


# -- cancelling ------------------------------------------------------------------------------------


async def test_cancelling_the_run_closes_the_connection_and_leaves_the_runtime_usable() -> None:
    with LoopbackServer(latency=20) as server:
        runtime = runtime_at(server)
        task = asyncio.ensure_future(
            agent_at(server, searches("a", "b"), runtime=runtime).ainvoke(ASK)
        )
        await asyncio.to_thread(_until, lambda: len(server.requests) == 2)

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await asyncio.to_thread(server.wait_until_closed, 2.0)
    with LoopbackServer() as server:
        state = await agent_at(server, searches("a"), runtime=runtime_at(server)).ainvoke(ASK)
        assert tool_messages(state)[0].status == "success"


async def test_a_model_that_answers_at_once_costs_no_search(invoke, server) -> None:
    state = await invoke(agent_at(server, AIMessage("I know that.")), ASK)

    assert state["messages"][-1].content == "I know that."
    assert server.requests == []


def _until(is_true: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)
