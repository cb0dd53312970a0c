"""The tool `web_search`: what a model is shown, what it may send, what comes back."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from dsh_web import (
    InvalidRequestError,
    ProviderError,
    SelectionError,
    WebRuntime,
    WebSearchResult,
)
from llama_index_dsh_web import WebToolSpec

APPROVED = Path(__file__).with_name("approved")
LINE_ITEMS = "- [Alpha](https://alpha.example/a)"


def web_search_tool(runtime: WebRuntime | None, **settings) -> FunctionTool:
    return WebToolSpec(runtime, **settings).to_tool_list()[0]


def test_it_is_a_llama_index_tool_spec():
    assert issubclass(WebToolSpec, BaseToolSpec)
    assert WebToolSpec.spec_functions == [
        ("web_search", "aweb_search"),
        ("web_fetch", "aweb_fetch"),
    ]


# -- what the model is shown -----------------------------------------------------------------------


def test_the_model_is_shown_the_approved_tool(runtime):
    shown = web_search_tool(runtime).metadata.to_openai_tool()

    approved = json.loads((APPROVED / "web_search_tool.json").read_text("utf-8"))
    assert approved == shown
    assert len(shown["function"]["description"]) < 1024


def test_the_schema_needs_no_provider_and_follows_the_bound():
    without = web_search_tool(WebRuntime(), max_queries=1).metadata

    queries = without.get_parameters_dict()["properties"]["queries"]
    assert (queries["minItems"], queries["maxItems"]) == (1, 1)
    assert "one query" in without.description


def test_the_schema_promises_no_more_queries_than_the_runtime_takes():
    metadata = web_search_tool(WebRuntime(max_queries=2), max_queries=4).metadata

    assert metadata.get_parameters_dict()["properties"]["queries"]["maxItems"] == 2


async def test_a_higher_bound_holds_for_a_runtime_from_the_environment(monkeypatch, run_tool):
    monkeypatch.setenv("PERPLEXITY_API_KEY", "test-key-0123456789")

    output = await run_tool(web_search_tool(None, max_queries=6), queries=list("abcdefg"))

    assert output.is_error
    assert output.content == "queries must contain at most 6 queries"


@pytest.mark.parametrize("functions", [["web_search"], ["aweb_search"]])
async def test_a_tool_of_one_function_is_the_same_tool(runtime, run_tool, functions):
    (tool,) = WebToolSpec(runtime).to_tool_list(functions)

    output = await run_tool(tool, queries=["q"])

    assert "web_search" == tool.metadata.name == output.tool_name
    assert output.raw_output["schema"] == 1


async def test_name_and_description_can_be_replaced_without_losing_the_schema(runtime, run_tool):
    given = ToolMetadata(name="look_up", description="Look it up.", return_direct=True)
    tool, _ = WebToolSpec(runtime).to_tool_list(func_to_metadata_mapping={"web_search": given})

    output = await run_tool(tool, queries=["q"])

    assert (tool.metadata.name, tool.metadata.description) == ("look_up", "Look it up.")
    assert tool.metadata.return_direct
    assert list(tool.metadata.get_parameters_dict()["properties"]) == ["queries"]
    assert output.tool_name == "look_up"


async def test_a_subclass_can_add_tools_of_its_own(runtime, run_tool):
    class Extended(WebToolSpec):
        spec_functions: ClassVar = [*WebToolSpec.spec_functions, "count"]

        def count(self, text: str) -> int:
            """Count the letters."""
            return len(text)

    search, _, count = await Extended(runtime).to_tool_list_async()

    assert (await run_tool(count, text="tide")).content == "4"
    assert LINE_ITEMS in (await run_tool(search, queries=["q"])).content


# -- what the model may send -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"queries": ["tram fares", "bus fares"]}, ["tram fares", "bus fares"]),
        ({"queries": '["tram fares", "bus fares"]'}, ["tram fares", "bus fares"]),
        ({"queries": "tram fares"}, ["tram fares"]),
        ({"queries": '{"input": "chess final winner"}'}, ["chess final winner"]),
        ({"queries": {"query": "tides"}}, ["tides"]),
        ({"query": "tides"}, ["tides"]),
        ({"input": "tides"}, ["tides"]),
        ({"search_query": ["tides"]}, ["tides"]),
        ({"queries": ["solar", "wind", "solar"]}, ["solar", "wind"]),
        ({"queries": ["tides"], "max_results": 99}, ["tides"]),
    ],
)
async def test_queries_are_read_as_they_are_meant(runtime, provider, run_tool, arguments, sent):
    await run_tool(web_search_tool(runtime), **arguments)

    assert sorted(sent) == sorted(request.query for request in provider.requests)
    assert {8} == {request.max_results for request in provider.requests}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"queries": [""]}, "each query must be a non-empty string"),
        ({"queries": ["ok", "  \n"]}, "each query must be a non-empty string"),
        ({"queries": [{"description": "cost"}]}, "each query must be a non-empty string"),
        ({"queries": []}, "queries must contain at least one query"),
        ({}, "queries must contain at least one query"),
        ({"queries": ["a", "b", "c"]}, "queries must contain at most 2 queries"),
    ],
)
async def test_an_argument_fault_says_what_is_wrong_and_costs_nothing(
    runtime, provider, run_tool, arguments, fault
):
    tool = web_search_tool(runtime, max_queries=2)

    output = await run_tool(tool, **arguments)

    assert output.is_error
    assert output.content == fault
    assert output.raw_output["error"]["code"] == "WEB_INVALID_REQUEST"
    assert provider.requests == []


async def test_settings_reach_the_provider(runtime, provider, run_tool):
    await run_tool(web_search_tool(runtime, max_results=2, country="nz"), queries=["q"])

    assert [(r.max_results, r.country) for r in provider.requests] == [(2, "NZ")]


@pytest.mark.parametrize(
    "settings",
    [{"max_queries": 0}, {"max_results": 0}, {"max_output_chars": 0}, {"country": "?"}],
)
def test_a_bad_setting_is_refused_at_once(settings):
    with pytest.raises(InvalidRequestError):
        WebToolSpec(**settings)


def test_an_unknown_setting_is_a_type_error():
    with pytest.raises(TypeError, match="api_key"):
        WebToolSpec(api_key="k")


# -- what comes back -------------------------------------------------------------------------------


async def test_the_output_is_text_for_the_model_and_the_structured_result(
    runtime, provider, run_tool
):
    output = await run_tool(web_search_tool(runtime), queries=["q"])

    assert (APPROVED / "web_search_output.txt").read_text("utf-8") == output.content + "\n"
    assert output.raw_input == {"args": [], "kwargs": {"queries": ["q"]}}
    structured = output.raw_output
    assert list(structured) == ["schema", "kind", "queries", "result", "text_truncated"]
    assert (
        structured["schema"],
        structured["kind"],
        structured["queries"],
        structured["text_truncated"],
    ) == (1, "web_search", ["q"], False)
    found = WebSearchResult.model_validate(structured["result"])
    assert found.request is not None
    assert found.request.query == "q"
    assert found.model_copy(update={"request": None}) == provider.result
    assert json.loads(json.dumps(structured)) == structured
    assert not output.is_error


async def test_several_queries_give_one_merged_result(runtime, provider, run_tool):
    output = await run_tool(web_search_tool(runtime, max_results=1), queries=["one", "two"])

    result = output.raw_output["result"]
    assert [source["url"] for source in result["sources"]] == ["https://alpha.example/a"]
    assert result["truncated"]
    assert "(Showing the first 1 sources. Refine the query for more.)" in output.content
    assert output.content.startswith("## one")


async def test_nothing_found_is_said_in_words(runtime, provider, run_tool):
    provider.result = WebSearchResult(provider="fake")

    output = await run_tool(web_search_tool(runtime), queries=["q"])

    assert output.content.startswith("No results found.")


async def test_long_text_is_cut_but_the_structured_result_is_not(runtime, provider, run_tool):
    output = await run_tool(web_search_tool(runtime, max_output_chars=220), queries=["q"])

    assert len(output.content) <= 220
    assert output.raw_output["text_truncated"]
    assert output.raw_output["result"]["sources"][0]["snippet"] == "part one"


async def test_every_search_is_an_event(runtime, run_tool, event_log):
    await run_tool(web_search_tool(runtime), queries=["one", "two"])

    (event,) = event_log.named("WebSearchEvent")
    assert (
        event.queries,
        event.usage["input_tokens"],
        event.usage["cost_usd"],
    ) == (["one", "two"], 6, 0.01)


async def test_the_functions_called_directly_return_what_the_tool_returns(runtime):
    spec = WebToolSpec(runtime)

    by_position = spec.web_search(["q"])
    by_task = await spec.aweb_search("q")
    by_tool = await spec.to_tool_list()[0].acall(queries=["q"])

    assert by_position == by_tool
    assert str(by_position) == by_tool.content == by_task.content


# -- failures --------------------------------------------------------------------------------------


async def test_a_failed_search_runs_once_through_call_tool(runtime, provider):
    provider.error = ProviderError("Fake answered HTTP 400: no", status_code=400)
    tool = web_search_tool(runtime)

    output = call_tool(tool, {"queries": ["q"]})
    awaited = await acall_tool(tool, {"query": "q"})

    assert output.is_error
    assert awaited.is_error
    assert output.content == awaited.content
    assert "web_search failed (WEB_PROVIDER_ERROR): Fake answered HTTP 400: no" == output.content
    assert len(provider.requests) == 2


async def test_a_call_by_position_runs_where_llama_index_does_not_repeat_it(
    runtime, provider, run_tool, monkeypatch
):
    module = sys.modules[WebToolSpec.__module__]
    tool = web_search_tool(runtime)

    monkeypatch.setattr(module, "_CALL_TOOL_REPEATS", False)
    assert LINE_ITEMS in (await run_tool(tool, "q")).content
    monkeypatch.setattr(module, "_CALL_TOOL_REPEATS", True)
    with pytest.raises(TypeError, match="by name"):
        await run_tool(tool, "q")

    assert len(provider.requests) == 1


async def test_without_a_provider_the_tool_says_so(run_tool):
    output = await run_tool(web_search_tool(None), queries=["q"])

    assert output.is_error
    assert isinstance(output.exception, SelectionError)
    assert output.content.startswith("web_search failed (WEB_PROVIDER_UNAVAILABLE): ")


async def test_cancelling_the_task_closes_the_connections(loopback, loopback_runtime):
    loopback.delay = 10
    tool = web_search_tool(loopback_runtime)
    task = asyncio.ensure_future(tool.acall(queries=["one", "two"]))
    await asyncio.to_thread(loopback.asked.wait, 5)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await asyncio.to_thread(loopback.hung_up.wait, 0.2)
    assert {task for task in asyncio.all_tasks() if not task.done()} == {asyncio.current_task()}


# -- copies ----------------------------------------------------------------------------------------


async def test_a_spec_can_be_copied_and_pickled_without_the_key(
    loopback_runtime, monkeypatch, run_tool
):
    spec = WebToolSpec(loopback_runtime, max_results=1)

    pickled = pickle.dumps(spec)
    monkeypatch.setenv("PERPLEXITY_API_KEY", "test-key-of-the-other-process")

    assert b"test-key-0123456789" not in pickled
    for other in (copy.deepcopy(spec), pickle.loads(pickled)):
        tool, _ = other.to_tool_list()
        output = await run_tool(tool, queries=["q"])
        assert len(output.raw_output["result"]["sources"]) == 1
        other._call.runtime.close()
