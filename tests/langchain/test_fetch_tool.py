"""The tool `web_fetch`: what a model is shown and told, what a program gets beside it."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from dsh_web import (
    CancelToken,
    HttpFetchProvider,
    PerplexitySearchProvider,
    ProviderError,
    WebError,
    WebPage,
    WebRuntime,
)
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebFetchTool, WebToolException, WebToolkit
from tests.fetching import FakeFetcher, fetching, html, text

URL = "https://a.example/tides"
PAGE = html(URL, "<title>Tides</title><h1>Tides</h1><p>High at <b>noon</b>.</p>")
FAULT = "url must be a non-empty string"


@pytest.fixture
def fetcher() -> FakeFetcher:
    return FakeFetcher({URL: PAGE})


@pytest.fixture
def runtime(fetcher: FakeFetcher) -> WebRuntime:
    return fetching(fetcher)


def tool_call(**arguments):
    return {"type": "tool_call", "id": "call_7", "name": "web_fetch", "args": arguments}


# -- what comes back -------------------------------------------------------------------------------


async def test_a_tool_call_gives_text_for_the_model_and_data_for_the_program(invoke, runtime):
    message = await invoke(WebFetchTool(runtime=runtime), tool_call(url=URL))

    assert isinstance(message, ToolMessage)
    assert (message.tool_call_id, message.name, message.status) == (
        "call_7",
        "web_fetch",
        "success",
    )
    assert message.content.startswith(f"Fetched {URL} (HTTP 200)\n\n")
    assert "noon" in message.content


async def test_the_artifact_reads_back_as_the_page_it_came_from(invoke, runtime):
    message = await invoke(WebFetchTool(runtime=runtime), tool_call(url=URL))
    artifact = json.loads(json.dumps(message.artifact))

    page = WebPage.model_validate(artifact.pop("result"))

    assert runtime.read_page(URL) == page
    assert artifact == {"schema": 1, "kind": "web_fetch", "url": URL, "text_truncated": False}


async def test_without_a_tool_call_the_text_alone_comes_back(invoke, runtime):
    shown = await invoke(WebFetchTool(runtime=runtime), {"url": URL})

    assert shown.startswith(f"Fetched {URL} (HTTP 200)")


async def test_an_http_error_status_is_told_and_no_failure(invoke, runtime):
    message = await invoke(WebFetchTool(runtime=runtime), tool_call(url="https://a.example/no"))

    assert message.status == "success"
    assert message.content.startswith("Fetched https://a.example/no (HTTP 404)")
    assert message.artifact["result"]["status_code"] == 404


async def test_long_text_is_cut_but_the_artifact_is_not(invoke):
    runtime = fetching(FakeFetcher({URL: text(URL, "tide " * 1000)}))

    message = await invoke(WebFetchTool(runtime=runtime, max_output_chars=500), tool_call(url=URL))

    assert len(message.content) <= 500
    assert len(message.artifact["result"]["text"]) == 5000
    assert message.artifact["text_truncated"]


async def test_boundaries_stand_around_the_page(invoke, runtime):
    plain = await invoke(WebFetchTool(runtime=runtime), {"url": URL})
    marked = await invoke(WebFetchTool(runtime=runtime, boundaries=True), {"url": URL})

    assert len(marked) > len(plain)
    assert plain.splitlines()[0] == marked.splitlines()[0]
    inner = marked.index("noon")
    assert marked[:inner].splitlines()[0:3] != plain[: plain.index("noon")].splitlines()[0:3]
    assert not marked.rstrip().endswith("noon**.")


# -- what the model is shown, and what it may send -------------------------------------------------


def test_a_model_is_shown_one_required_address_and_nothing_else(approved):
    shown = convert_to_openai_tool(WebFetchTool())

    approved("web_fetch_tool.json", json.dumps(shown, indent=2))


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": URL},
        {"url": json.dumps({"url": URL})},
        {"url": [URL]},
        {"link": URL},
        {"url": f" {URL} ", "reason": "because", "self": 1, "text": 2, "config": 3},
    ],
)
async def test_slips_of_a_model_are_understood(invoke, runtime, fetcher, arguments):
    message = await invoke(WebFetchTool(runtime=runtime), tool_call(**arguments))

    assert message.status == "success"
    assert fetcher.asked == [URL]


@pytest.mark.parametrize(
    "arguments", [{}, {"url": ""}, {"url": " "}, {"url": 5}, {"url": [URL] * 2}]
)
async def test_an_argument_fault_says_what_is_wrong_and_costs_nothing(
    invoke, runtime, fetcher, arguments
):
    message = await invoke(WebFetchTool(runtime=runtime), tool_call(**arguments))

    assert (message.status, message.content) == ("error", FAULT)
    assert fetcher.asked == []


def test_an_unknown_setting_is_refused():
    with pytest.raises(ValidationError, match="colour"):
        WebFetchTool(colour="red")


# -- failures --------------------------------------------------------------------------------------


async def test_a_failed_fetch_is_one_line_for_the_model(invoke, fetcher, runtime):
    fetcher.pages[URL] = WebError(
        "127.0.0.1 is a loopback address,\nnot public", code="WEB_BLOCKED_URL"
    )

    message = await invoke(WebFetchTool(runtime=runtime), tool_call(url=URL))

    assert message.status == "error"
    assert message.content == (
        "web_fetch failed (WEB_BLOCKED_URL): 127.0.0.1 is a loopback address, not public"
    )


async def test_middleware_gets_the_typed_error(invoke, fetcher, runtime):
    fetcher.pages[URL] = ProviderError("down", retryable=True)

    with pytest.raises(WebToolException) as caught:
        await invoke(WebFetchTool(runtime=runtime, handle_tool_error=False), tool_call(url=URL))

    assert caught.value.error is caught.value.__cause__
    assert caught.value.error.code == "WEB_PROVIDER_ERROR"


async def test_without_a_provider_the_tool_says_so(invoke):
    message = await invoke(WebFetchTool(runtime=WebRuntime()), tool_call(url=URL))

    assert message.content.startswith("web_fetch failed (WEB_PROVIDER_UNAVAILABLE)")


async def test_the_timeout_is_the_whole_call(invoke):
    release = threading.Event()
    runtime = fetching(FakeFetcher({}, lambda url: release.wait(10)))

    message = await invoke(WebFetchTool(runtime=runtime, timeout=0.1), tool_call(url=URL))
    release.set()

    assert message.content == "web_fetch failed (WEB_TIMEOUT): Fake fetch timed out after 0.1 s"


async def test_a_cancel_token_stops_the_call(invoke):
    token, release = CancelToken(), threading.Event()

    def before(url):
        token.cancel("enough")
        release.wait(10)

    runtime = fetching(FakeFetcher({}, before))
    message = await invoke(WebFetchTool(runtime=runtime, cancel=token), tool_call(url=URL))
    release.set()

    assert message.content == "web_fetch failed (WEB_ABORTED): Fake fetch aborted"


async def test_the_event_loop_runs_on_while_a_page_is_fetched():
    asked, release = threading.Event(), threading.Event()

    def before(url):
        asked.set()
        release.wait(10)

    runtime = fetching(FakeFetcher({URL: PAGE}, before))
    task = asyncio.ensure_future(WebFetchTool(runtime=runtime).ainvoke({"url": URL}))
    # Neither line could be passed if the fetch held the loop.
    assert await asyncio.to_thread(asked.wait, 10)
    release.set()

    assert "noon" in await task


async def test_cancelling_the_task_is_a_cancelled_error():
    asked, release = threading.Event(), threading.Event()

    def before(url):
        asked.set()
        release.wait(10)

    runtime = fetching(FakeFetcher({URL: PAGE}, before))
    task = asyncio.ensure_future(WebFetchTool(runtime=runtime).ainvoke({"url": URL}))
    assert await asyncio.to_thread(asked.wait, 10)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()


# -- events, limits, copies ------------------------------------------------------------------------


async def test_listeners_are_told_of_the_page_and_of_nothing_it_says(runtime):
    events = [
        event
        async for event in WebFetchTool(runtime=runtime).astream_events({"url": URL})
        if event["event"] == "on_custom_event"
    ]

    ((name, told),) = [(event["name"], event["data"]) for event in events]
    assert name == "dsh_web.fetch"
    assert told["url"] == URL
    assert (told["status_code"], told["kind"], told["truncated"]) == (200, "html", False)
    assert told["text_chars"] == len(runtime.read_page(URL).text)
    assert "noon" not in json.dumps(told)


async def test_a_rate_limiter_is_asked_once_per_page(invoke, runtime):
    class Counting(InMemoryRateLimiter):
        count = 0

        def acquire(self, *, blocking=True):
            Counting.count += 1
            return True

        async def aacquire(self, *, blocking=True):
            return self.acquire()

    await invoke(WebFetchTool(runtime=runtime, rate_limiter=Counting()), {"url": URL})

    assert Counting.count == 1


def test_a_deep_copy_shares_the_runtime_and_the_token(runtime):
    tool = WebFetchTool(runtime=runtime, cancel=CancelToken(), main_content=True)

    copied = copy.deepcopy(tool)

    assert copied.runtime is runtime
    assert copied.cancel is tool.cancel
    assert copied.main_content


def test_a_pickled_tool_keeps_its_settings_and_its_schema():
    loaded = pickle.loads(pickle.dumps(WebFetchTool(max_output_chars=100, boundaries=True)))

    assert (loaded.max_output_chars, loaded.boundaries) == (100, True)
    assert loaded.invoke({"url": ""}) == FAULT


# -- in an agent -----------------------------------------------------------------------------------


class ScriptedModel(GenericFakeChatModel):
    disable_streaming: bool = True

    def bind_tools(self, tools, **kwargs):
        return self


async def test_an_agent_reads_a_page_and_goes_on_after_a_blocked_one(invoke, fetcher, runtime):
    blocked = "http://127.0.0.1/"
    fetcher.pages[blocked] = WebError("not public", code="WEB_BLOCKED_URL")

    def ask(url):
        call = {"name": "web_fetch", "args": {"url": url}, "id": f"call-{url}"}
        return AIMessage(content="", tool_calls=[call])

    script = iter([ask(blocked), ask(URL), AIMessage(content="done")])
    agent = create_agent(
        ScriptedModel(messages=script),
        tools=[WebFetchTool(runtime=runtime)],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}}

    state = await invoke(agent, {"messages": [("user", "?")]}, thread)

    failed, read = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert failed.content == "web_fetch failed (WEB_BLOCKED_URL): not public"
    assert "noon" in read.content
    assert state["messages"][-1].content == "done"
    stored = agent.get_state(thread).values["messages"][-2].artifact
    assert WebPage.model_validate(stored["result"]) == runtime.read_page(URL)


async def test_an_agent_searches_and_reads_what_it_finds_over_loopback(invoke, tmp_path):
    (tmp_path / "tides.md").write_text("# Tidal power\n\nTurbines turn with the tide.\n")
    with LoopbackServer(corpus=tmp_path) as server:
        runtime = WebRuntime()
        runtime.register_search_provider(
            PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
        )
        runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
        page = f"{server.url}/pages/1"
        search = {"name": "web_search", "args": {"queries": ["tide"]}, "id": "call-1"}
        fetch = {"name": "web_fetch", "args": {"url": page}, "id": "call-2"}
        script = iter(
            [
                AIMessage(content="", tool_calls=[search]),
                AIMessage(content="", tool_calls=[fetch]),
                AIMessage(content="done"),
            ]
        )
        tools = WebToolkit(runtime=runtime).get_tools()

        agent = create_agent(ScriptedModel(messages=script), tools=tools)
        state = await invoke(agent, {"messages": [("user", "?")]})

        found, read = [m for m in state["messages"] if isinstance(m, ToolMessage)]
        assert "Tidal power" in found.content
        assert read.content.startswith(f"Fetched {page} (HTTP 200)\n\n")
        assert "# Tidal power" in read.content
        assert "Turbines turn with the tide." in read.content
        runtime.close()
