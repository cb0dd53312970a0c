"""The tool `web_fetch`: what a model is shown, what it may send, what comes back."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool, ToolMetadata

from dsh_web import (
    CancelToken,
    ProviderError,
    SelectionError,
    WebCancelledError,
    WebPage,
    WebRuntime,
    WebTimeoutError,
)
from llama_index_dsh_web import WebToolSpec
from tests.fetching import FakeFetcher, fetching, html, text

APPROVED = Path(__file__).with_name("approved")
URL = "https://a.example/tides"
PAGE = html(URL, "<title>Tides</title><h1>Tides</h1><p>High at <b>noon</b>.</p>")


@pytest.fixture
def fetcher() -> FakeFetcher:
    return FakeFetcher({URL: PAGE})


@pytest.fixture
def pages(fetcher: FakeFetcher) -> WebRuntime:
    return fetching(fetcher)


def fetch_tool(runtime: WebRuntime | None, **settings) -> FunctionTool:
    return WebToolSpec(runtime, **settings).to_tool_list()[1]


# -- what the model is shown, and what it may send -------------------------------------------------


def test_the_model_is_shown_the_approved_tool(pages):
    shown = fetch_tool(pages).metadata.to_openai_tool()

    assert json.loads((APPROVED / "web_fetch_tool.json").read_text("utf-8")) == shown


@pytest.mark.parametrize(
    "arguments", [{"url": URL}, {"url": json.dumps({"url": URL})}, {"url": [URL]}, {"link": URL}]
)
async def test_an_address_is_read_as_it_is_meant(pages, fetcher, run_tool, arguments):
    await run_tool(fetch_tool(pages), **arguments)

    assert fetcher.asked == [URL]


@pytest.mark.parametrize("arguments", [{}, {"url": ""}, {"url": 5}, {"url": [URL, URL]}])
async def test_an_argument_fault_says_what_is_wrong_and_costs_nothing(
    pages, fetcher, run_tool, arguments
):
    output = await run_tool(fetch_tool(pages), **arguments)

    assert output.is_error
    assert output.content == "url must be a non-empty string"
    assert fetcher.asked == []


async def test_name_and_description_can_be_replaced_without_losing_the_schema(pages, run_tool):
    given = ToolMetadata(name="open_page", description="Open it.")
    _, tool = WebToolSpec(pages).to_tool_list(func_to_metadata_mapping={"web_fetch": given})

    output = await run_tool(tool, url=URL)

    assert list(tool.metadata.get_parameters_dict()["properties"]) == ["url"]
    assert output.tool_name == "open_page"
    assert output.raw_output["kind"] == "web_fetch"


# -- what comes back -------------------------------------------------------------------------------


async def test_the_output_is_text_for_the_model_and_the_structured_page(pages, run_tool):
    output = await run_tool(fetch_tool(pages), url=URL)
    raw = json.loads(json.dumps(output.raw_output))

    assert output.content.startswith(f"Fetched {URL} (HTTP 200)\n\n")
    assert "noon" in output.content
    assert WebPage.model_validate(raw.pop("result")) == pages.read_page(URL)
    assert raw == {"schema": 1, "kind": "web_fetch", "url": URL, "text_truncated": False}


async def test_long_text_is_cut_but_the_structured_page_is_not(run_tool):
    runtime = fetching(FakeFetcher({URL: text(URL, "tide " * 1000)}))

    output = await run_tool(fetch_tool(runtime, max_output_chars=500), url=URL)

    assert len(output.content) <= 500
    assert len(output.raw_output["result"]["text"]) == 5000
    assert output.raw_output["text_truncated"]


async def test_the_functions_called_directly_return_what_the_tool_returns(pages):
    spec = WebToolSpec(pages)

    by_position = spec.web_fetch(URL)
    by_task = await spec.aweb_fetch(url=URL)
    by_tool = await fetch_tool(pages).acall(url=URL)

    assert by_position == by_task == by_tool


async def test_every_fetch_is_an_event_that_says_nothing_of_the_page(pages, run_tool, event_log):
    await run_tool(fetch_tool(pages), url=URL)

    (event,) = event_log.named("WebFetchEvent")
    assert (event.url, event.status_code, event.kind, event.truncated) == (URL, 200, "html", False)
    assert event.text_chars == len(pages.read_page(URL).text)
    assert "noon" not in event.model_dump_json()


async def test_both_tools_share_the_runtime(pages, provider, run_tool):
    pages.register_search_provider(provider)
    search, fetch = WebToolSpec(pages).to_tool_list()

    assert "Alpha" in (await run_tool(search, queries=["q"])).content
    assert "noon" in (await run_tool(fetch, url=URL)).content


# -- failures --------------------------------------------------------------------------------------


async def test_a_failure_is_a_typed_error_and_happens_once(pages, fetcher, run_tool):
    fetcher.pages[URL] = ProviderError("down")

    output = await run_tool(fetch_tool(pages), url=URL)

    assert output.is_error
    assert output.content == "web_fetch failed (WEB_PROVIDER_ERROR): down"
    assert output.raw_output["kind"] == "web_fetch"
    assert output.raw_output["error"]["retryable"] is False
    assert fetcher.asked == [URL]


async def test_a_failure_is_raised_where_that_is_asked_for(pages, fetcher, run_tool):
    fetcher.pages[URL] = ProviderError("down")

    with pytest.raises(ProviderError, match="down"):
        await run_tool(fetch_tool(pages, raise_errors=True), url=URL)


async def test_without_a_provider_the_tool_says_so(run_tool):
    output = await run_tool(fetch_tool(WebRuntime()), url=URL)

    assert isinstance(output.exception, SelectionError)


async def test_time_limit_and_token_hold_for_a_fetch(run_tool):
    release, token = threading.Event(), CancelToken()
    runtime = fetching(FakeFetcher({}, lambda url: release.wait(10)))

    late = await run_tool(fetch_tool(runtime, timeout=0.1), url=URL)
    token.cancel()
    stopped = await run_tool(fetch_tool(runtime, cancel=token), url=URL)

    assert isinstance(late.exception, WebTimeoutError)
    assert isinstance(stopped.exception, WebCancelledError)
    release.set()


async def test_the_event_loop_runs_on_while_a_page_is_fetched():
    asked, release = threading.Event(), threading.Event()

    def before(url):
        asked.set()
        release.wait(10)

    runtime = fetching(FakeFetcher({URL: PAGE}, before))
    task = asyncio.ensure_future(fetch_tool(runtime).acall(url=URL))
    # Neither line could be passed if the fetch held the loop.
    assert await asyncio.to_thread(asked.wait, 10)
    release.set()

    assert "noon" in (await task).content


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
async def test_an_agent_reads_a_page_and_goes_on_after_a_blocked_one(pages, fetcher, scripted_llm):
    blocked = "http://127.0.0.1/"
    fetcher.pages[blocked] = ProviderError("not public", code="WEB_BLOCKED_URL")

    class Fetching(scripted_llm):
        def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **kwargs):
            calls = super().get_tool_calls_from_response(response, error_on_no_tool_call)
            return [
                ToolSelection(tool_id=c.tool_id, tool_name="web_fetch", tool_kwargs=c.tool_kwargs)
                for c in calls
            ]

    llm = Fetching(calls=[{"url": blocked}, {"url": URL}])
    agent = FunctionAgent(
        tools=WebToolSpec(pages).to_tool_list(), llm=llm, streaming=False, timeout=20
    )

    answer = str(await agent.run("When is high tide?"))

    assert llm.heard[0] == "web_fetch failed (WEB_BLOCKED_URL): not public"
    assert "noon" in answer
