"""Whatever form arguments come in, the tool searches for what was meant or says why not."""

from __future__ import annotations

import pytest

from langchain_dsh_web import WebSearchTool, WebToolException


def as_tool_call(arguments):
    return {"type": "tool_call", "id": "call_7", "name": "web_search", "args": arguments}


@pytest.mark.parametrize("form", ["arguments", "tool call"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"queries": ["tram fares", "bus fares"]}, ["tram fares", "bus fares"]),
        ({"queries": '["tram fares", "bus fares"]'}, ["tram fares", "bus fares"]),
        ({"queries": "tram fares"}, ["tram fares"]),
        ({"queries": '{"input": "chess final winner"}'}, ["chess final winner"]),
        ({"queries": ["solar cost", "wind cost", "solar cost"]}, ["solar cost", "wind cost"]),
        ({"query": "tram fares"}, ["tram fares"]),
        ({"input": "tram fares"}, ["tram fares"]),
        ({"search_query": ["tram fares"]}, ["tram fares"]),
        ({"queries": None, "query": "tram fares"}, ["tram fares"]),
    ],
)
async def test_arguments_are_read_as_they_are_meant(
    invoke, runtime, provider, form, arguments, expected
):
    given = as_tool_call(arguments) if form == "tool call" else arguments

    await invoke(WebSearchTool(runtime=runtime), given)

    assert sorted(expected) == sorted(request.query for request in provider.requests)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tram fares", ["tram fares"]),
        ('["tram fares", "bus fares"]', ["bus fares", "tram fares"]),
        ('{"query": "tram fares"}', ["tram fares"]),
    ],
)
async def test_a_text_is_read_as_the_queries(invoke, runtime, provider, text, expected):
    await invoke(WebSearchTool(runtime=runtime), text)

    assert expected == sorted(request.query for request in provider.requests)


FAULTS = [
    ({}, "queries must contain at least one query"),
    ({"queries": []}, "queries must contain at least one query"),
    ({"queries": None}, "queries must contain at least one query"),
    ({"queries": [""]}, "each query must be a non-empty string"),
    ({"queries": ["ok", "  \n"]}, "each query must be a non-empty string"),
    (
        {"queries": [{"description": "cost", "type": "str"}]},
        "each query must be a non-empty string",
    ),
    ({"queries": 7}, "each query must be a non-empty string"),
    ({"queries": ["a", "b", "c", "d", "e"]}, "queries must contain at most 4 queries"),
    ({"topic": "tram fares"}, "queries must contain at least one query"),
]


@pytest.mark.parametrize(("arguments", "expected"), FAULTS)
async def test_arguments_at_fault_are_told_to_the_model_and_nothing_is_sent(
    invoke, runtime, provider, arguments, expected
):
    message = await invoke(WebSearchTool(runtime=runtime), as_tool_call(arguments))

    assert ("error", expected) == (message.status, message.content)
    assert provider.requests == []


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_a_blank_text_is_at_fault(invoke, runtime, text):
    assert (
        await invoke(WebSearchTool(runtime=runtime), text)
        == "each query must be a non-empty string"
    )


async def test_arguments_at_fault_can_be_raised(invoke, runtime):
    tool = WebSearchTool(runtime=runtime, handle_tool_error=False, max_queries=1)

    with pytest.raises(WebToolException, match=r"^queries must contain at most 1 query$") as caught:
        await invoke(tool, {"queries": ["a", "b"]})

    assert caught.value.error.code == "WEB_INVALID_REQUEST"


@pytest.mark.parametrize(
    "name", ["self", "text", "run_manager", "config", "callbacks", "args", "kwargs", "json", "a b"]
)
async def test_an_invented_argument_of_any_name_does_no_harm(invoke, runtime, name):
    message = await invoke(
        WebSearchTool(runtime=runtime), as_tool_call({"queries": ["q"], name: "x"})
    )

    assert message.status == "success"
