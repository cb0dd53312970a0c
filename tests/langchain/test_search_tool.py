from __future__ import annotations

import asyncio
import json

import pytest
import respx
from httpx import Response
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from dsh_web import (
    PerplexitySearchProvider,
    ProviderError,
    WebError,
    WebSearchResult,
    WebSearchSource,
)
from langchain_dsh_web import WebSearchTool, WebToolException, is_retryable

SEARCH_URL = "https://api.perplexity.ai/search"
KEY = "test-key-000"


def tool_call(**arguments):
    return {"type": "tool_call", "id": "call_7", "name": "web_search", "args": arguments}


def failing_with(error):
    def answer(request):
        raise error

    return answer


async def test_a_tool_call_gives_text_for_the_model_and_data_for_the_program(invoke, runtime):
    message = await invoke(WebSearchTool(runtime=runtime, max_results=2), tool_call(queries=["q"]))

    assert isinstance(message, ToolMessage)
    assert (
        message.tool_call_id,
        message.name,
        message.status,
    ) == ("call_7", "web_search", "success")
    assert "- [T0](https://site.example/0) — Text 0" in message.content.splitlines()
    assert "(Showing the first 2 sources. Refine the query for more.)" in message.content
    assert [source["url"] for source in message.artifact["result"]["sources"]] == [
        "https://site.example/0",
        "https://site.example/1",
    ]


async def test_the_artifact_reads_back_as_the_result_it_came_from(invoke, runtime):
    message = await invoke(WebSearchTool(runtime=runtime), tool_call(queries=["q"]))
    artifact = json.loads(json.dumps(message.artifact))

    result = WebSearchResult.model_validate(artifact.pop("result"))

    assert runtime.search("q", max_results=8) == result
    assert artifact == {
        "schema": 1,
        "kind": "web_search",
        "queries": ["q"],
        "text_truncated": False,
    }


async def test_without_a_tool_call_the_text_alone_comes_back(invoke, runtime):
    text = await invoke(WebSearchTool(runtime=runtime), {"queries": ["q"]})

    assert text.startswith("Sources:\n- [T0](https://site.example/0)")


async def test_several_queries_make_one_result(invoke, runtime_of, provider_of):
    def by_query(request):
        source = WebSearchSource(url=f"https://{request.query}.example/", snippet="s")
        return WebSearchResult(provider="fake", sources=(source,))

    provider = provider_of(by_query)
    tool = WebSearchTool(runtime=runtime_of(provider=provider))

    message = await invoke(tool, tool_call(queries=["a", "b", "a"]))

    assert {"a", "b"} == {request.query for request in provider.requests}
    assert message.artifact["queries"] == ["a", "b"]
    assert [source["url"] for source in message.artifact["result"]["sources"]] == [
        "https://a.example/",
        "https://b.example/",
    ]


async def test_no_results_say_so(invoke, runtime_of):
    tool = WebSearchTool(runtime=runtime_of(lambda request: WebSearchResult(provider="fake")))

    assert await invoke(tool, {"queries": ["q"]}) == "No results found."


async def test_the_text_is_cut_to_the_limit_and_the_artifact_is_not(invoke, runtime):
    tool = WebSearchTool(runtime=runtime, max_output_chars=300)

    message = await invoke(tool, tool_call(queries=["q"]))

    assert len(message.content) <= 300
    assert message.artifact["text_truncated"]
    assert len(message.artifact["result"]["sources"]) == 8


async def test_filters_are_settings_and_reach_the_request(invoke, runtime, provider):
    tool = WebSearchTool(runtime=runtime, recency="day", include_domains=["a.example"])

    await invoke(tool, {"queries": ["q"], "recency": "year", "max_results": 50})

    assert provider.requests[0].recency == "day"
    assert provider.requests[0].include_domains == ("a.example",)
    assert provider.requests[0].max_results == 8


@respx.mock
@pytest.mark.parametrize("include_raw", [False, True])
async def test_the_raw_body_is_in_the_artifact_only_when_asked_for(invoke, runtime_of, include_raw):
    respx.post(SEARCH_URL).mock(return_value=Response(200, json={"id": "r", "results": []}))
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key=KEY))
    tool = WebSearchTool(runtime=runtime, include_raw=include_raw)

    message = await invoke(tool, tool_call(queries=["q"]))

    assert include_raw == ("raw" in message.artifact["result"])


@respx.mock
async def test_a_failure_is_an_error_message_without_the_key(invoke, runtime_of):
    respx.post(SEARCH_URL).mock(
        return_value=Response(
            401, json={"error": {"message": f"Invalid API key {KEY}", "code": 401}}
        )
    )
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key=KEY))

    message = await invoke(WebSearchTool(runtime=runtime), tool_call(queries=["q"]))

    assert message.status == "error"
    assert message.artifact == {
        "schema": 1,
        "kind": "web_search",
        "error": {
            "code": "WEB_PROVIDER_ERROR",
            "message": "Invalid API key [masked]",
            "provider": "perplexity-search",
            "status_code": 401,
            "retryable": False,
        },
        "result": None,
    }
    assert message.content == "web_search failed (WEB_PROVIDER_ERROR): Invalid API key [masked]"


@respx.mock
async def test_a_failure_can_be_raised_instead_with_the_error_inside(invoke, runtime_of):
    respx.post(SEARCH_URL).mock(
        return_value=Response(401, json={"error": {"message": f"Invalid API key {KEY}"}})
    )
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key=KEY))
    tool = WebSearchTool(runtime=runtime, handle_tool_error=False)

    with pytest.raises(WebToolException) as caught:
        await invoke(tool, tool_call(queries=["q"]))

    assert caught.value.error.status_code == 401
    assert caught.value.error is caught.value.__cause__
    assert KEY not in str(caught.value)
    assert not is_retryable(caught.value)


async def test_a_failure_says_when_to_try_again(invoke, runtime_of):
    error = ProviderError("slow\ndown", retry_after=7.0, retryable=True)
    tool = WebSearchTool(runtime=runtime_of(failing_with(error)))

    text = await invoke(tool, {"queries": ["q"]})

    assert text == "web_search failed (WEB_PROVIDER_ERROR): slow down (try again in 7 s)"


async def test_a_long_failure_is_shortened(invoke, runtime_of):
    tool = WebSearchTool(runtime=runtime_of(failing_with(ProviderError("x" * 10_000))))

    assert len(await invoke(tool, {"queries": ["q"]})) < 600


async def test_a_missing_provider_is_an_error_message(invoke):
    message = await invoke(WebSearchTool(), tool_call(queries=["q"]))

    assert message.status == "error"
    assert message.content.startswith("web_search failed (WEB_PROVIDER_UNAVAILABLE): ")


async def test_a_renamed_tool_fails_under_its_name(invoke, runtime_of):
    tool = WebSearchTool(name="news", runtime=runtime_of(failing_with(ProviderError("down"))))

    assert await invoke(tool, {"queries": ["q"]}) == "news failed (WEB_PROVIDER_ERROR): down"


async def test_cancelling_the_task_is_no_tool_error(runtime_of):
    tool = WebSearchTool(runtime=runtime_of(failing_with(asyncio.CancelledError())))

    with pytest.raises(asyncio.CancelledError):
        await tool.ainvoke(tool_call(queries=["q"]))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ProviderError("busy", retryable=True), True),
        (ProviderError("wrong key"), False),
        (WebToolException("busy", ProviderError("busy", retryable=True)), True),
        (WebToolException("wrong key", ProviderError("wrong key")), False),
        (ValueError("something else"), False),
    ],
)
def test_is_retryable_goes_by_the_error_of_the_core(error, expected):
    assert expected == is_retryable(error)


def test_the_model_is_shown_the_approved_schema(approved):
    approved("web_search_tool.json", json.dumps(convert_to_openai_tool(WebSearchTool()), indent=2))


def test_the_strict_schema_is_the_same_schema():
    strict = convert_to_openai_tool(WebSearchTool(), strict=True)["function"]

    assert convert_to_openai_tool(WebSearchTool())["function"] | {"strict": True} == strict


def test_the_schema_follows_the_bound_on_queries():
    tool = WebSearchTool(max_queries=1)

    assert tool.args["queries"]["maxItems"] == 1
    assert "Give one query" in tool.description


def test_a_description_of_ones_own_is_kept():
    tool = WebSearchTool(description="Search our intranet.")

    assert tool.description == "Search our intranet."
    assert convert_to_openai_tool(tool)["function"]["description"] == "Search our intranet."


@pytest.mark.parametrize(
    "settings",
    [
        {"max_result": 3},
        {"max_queries": 0},
        {"max_results": 0},
        {"max_output_chars": 0},
        {"country": "Norway"},
    ],
)
def test_a_constructor_argument_at_fault_is_refused(settings):
    with pytest.raises(ValidationError):
        WebSearchTool(**settings)


def test_more_queries_than_the_runtime_takes_are_refused_at_once(runtime_of):
    with pytest.raises(ValidationError, match=r"build it with WebRuntime\(max_queries=6\)"):
        WebSearchTool(runtime=runtime_of(), max_queries=6)

    assert WebSearchTool(runtime=runtime_of(max_queries=6), max_queries=6)


@respx.mock
async def test_a_runtime_from_the_environment_takes_as_many_queries(invoke, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "perplexity-search")
    route = respx.post(SEARCH_URL).mock(return_value=Response(200, json={"id": "r", "results": []}))

    await invoke(WebSearchTool(max_queries=6), {"queries": list("abcdef")})

    assert route.call_count == 6


def test_errors_are_web_errors_by_code(runtime_of):
    tool = WebSearchTool(runtime=runtime_of(), country="NZ", handle_tool_error=False)

    with pytest.raises(WebToolException) as caught:
        tool.invoke({"queries": ["q"]})

    assert isinstance(caught.value.error, WebError)
    assert caught.value.error.code == "WEB_UNSUPPORTED_FILTER"
