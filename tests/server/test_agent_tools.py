"""What tools other than `web_search` bring, and answers that follow a JSON schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer
from dsh_web.server.structured import UnfillableSchemaError, fill_schema

QUESTION = "Where do tidal turbines stand, and how long is the lagoon wall?"


def ask(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/agent", json={"input": QUESTION, **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def kinds(response: dict[str, Any]) -> list[str]:
    return [item["type"] for item in response["output"]]


@pytest.fixture
def people(tmp_path: Path, connect: Any) -> Any:
    (tmp_path / "ada.txt").write_text(
        "Ada Example\n\nAda Example leads the tidal power group of a small company.\n"
    )
    (tmp_path / "group.txt").write_text(
        "Tidal group\n\nThe tidal power group of the company has nine members.\n"
    )
    with LoopbackServer(corpus=tmp_path) as server:
        yield connect(server)


def test_people_are_pages_that_hold_the_name(people: httpx.Client) -> None:
    response = ask(
        people,
        model="openai/gpt-6-luna",
        input="What does Ada Example do in the tidal power group?",
        tools=[{"type": "people_search"}],
    )

    found, message = response["output"]
    assert found["type"] == "people_search_results"
    assert [row["url"] for row in found["results"]] == ["https://corpus.example/ada.txt"]
    assert f"[web:{found['results'][0]['id']}]" in message["content"][0]["text"]
    assert response["usage"]["tool_calls_details"] == {
        "search_people": {"invocation": 1, "cost_usd": 0.005}
    }


def test_people_have_ids_of_their_own_beside_a_web_search(people: httpx.Client) -> None:
    response = ask(
        people,
        model="openai/gpt-6-luna",
        input="Who leads the tidal power group?",
        tools=[{"type": "people_search"}, {"type": "web_search", "max_results": 1}],
    )

    rows = [row for item in response["output"][:-1] for row in item["results"]]
    assert kinds(response) == ["search_results", "people_search_results", "message"]
    assert [row["id"] for row in rows] == [1, 11]
    assert len({row["url"] for row in rows}) == 2


def test_finance_results_quote_pages(client: httpx.Client) -> None:
    response = ask(
        client, model="openai/gpt-6-luna", tools=[{"type": "finance_search"}], max_steps=2
    )

    assert kinds(response) == ["skill_loaded", "finance_results", "message"]
    item = response["output"][1]
    assert item["tickers"] is None
    assert item["results"]
    assert all(row["sources"][0].startswith("https://") for row in item["results"])
    text = response["output"][2]["content"][0]["text"]
    assert "lagoon wall" in text
    assert "[" not in text


def test_loading_the_finance_skill_takes_the_only_step(client: httpx.Client) -> None:
    response = ask(
        client, model="openai/gpt-6-luna", tools=[{"type": "finance_search"}], max_steps=1
    )

    assert kinds(response) == ["skill_loaded", "message"]


@pytest.mark.parametrize(
    "change",
    [{"tools": [{"type": "image_search"}]}, {"tool_choice": {"type": "image_search"}}],
)
def test_there_are_no_pictures(client: httpx.Client, change: dict[str, Any]) -> None:
    response = ask(client, model="openai/gpt-6-luna", **change)

    assert response["output"][0] == {
        "type": "image_search_results",
        "queries": [QUESTION],
        "results": [],
    }


def test_calls_stop_at_the_limit(client: httpx.Client) -> None:
    tools = [{"type": kind} for kind in ("web_search", "people_search", "image_search")]

    response = ask(client, model="openai/gpt-6-luna", tools=tools, max_tool_calls=2)

    assert kinds(response) == ["search_results", "people_search_results", "message"]


SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "facts": {"type": "array", "items": {"type": "string"}},
        "source_urls": {"type": "array", "items": {"type": "string"}},
        "link": {"type": "string"},
        "is_known": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
    },
    "required": ["summary", "facts", "source_urls", "link", "is_known"],
}


def format_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def test_a_schema_is_filled_from_the_sources(client: httpx.Client) -> None:
    response = ask(client, preset="fast", response_format=format_of(SCHEMA))

    filled = json.loads(response["output"][-1]["content"][0]["text"])
    found = response["output"][0]["results"]
    assert list(filled) == list(SCHEMA["properties"])
    assert "lagoon wall" in filled["summary"]
    assert filled["summary"] in filled["facts"]
    assert filled["source_urls"] == [row["url"] for row in found]
    assert filled["link"] == found[0]["url"]
    assert filled["is_known"] is True


def test_a_schema_that_cannot_be_filled_fails_the_run(client: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}
    body = {"preset": "fast", "input": QUESTION, "response_format": format_of(schema)}

    answer = client.post("/v1/agent", json=body)
    queued = client.post("/v1/agent", json={**body, "background": True}).json()
    run = client.get(f"/v1/agent/{queued['id']}").json()
    while run["status"] in {"queued", "in_progress"}:
        run = client.get(f"/v1/agent/{queued['id']}").json()

    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "upstream_structured_output_failed"
    assert run["status"] == "failed"
    assert run["error"]["code"] == "upstream_structured_output_failed"
    assert run["completed_at"] is None


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": "string"}, "It has 12 or 3.5 parts."),
        ({"type": "integer"}, 12),
        ({"type": "number"}, 12),
        ({"type": "boolean"}, True),
        ({"type": "array"}, ["It has 12 or 3.5 parts."]),
        ({"type": "string", "enum": ["none", "parts"]}, "parts"),
    ],
)
def test_values_are_copied(part: dict[str, Any], value: Any) -> None:
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"]}

    filled = fill_schema(schema, ["It has 12 or 3.5 parts."], ["https://a.example"], "Nothing.")

    assert json.loads(filled) == {"x": value}


def test_without_sources_texts_say_so() -> None:
    parts = {"text": "string", "all": "array", "any": "boolean"}
    schema = {"type": "object", "properties": {name: {"type": t} for name, t in parts.items()}}

    filled = fill_schema(schema, [], [], "Nothing.")

    assert json.loads(filled) == {"text": "Nothing.", "all": [], "any": False}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object"},
        {"type": "array", "items": {"type": "object"}},
        {"type": "number"},
        {"type": ["string", "number"]},
        {"anyOf": [{"type": "string"}]},
        {"type": "string", "enum": ["absent"]},
        True,
    ],
)
def test_what_cannot_be_copied_is_left_out_or_fails(part: Any) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"x": part}}

    assert json.loads(fill_schema(schema, ["A plain sentence."], [], "")) == {}
    with pytest.raises(UnfillableSchemaError):
        fill_schema({**schema, "required": ["x"]}, ["A plain sentence."], [], "")


def test_null_stands_in_where_it_may() -> None:
    schema = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}

    assert json.loads(fill_schema(schema, [], [], "")) == {"n": None}


def test_a_required_name_without_a_description_fails() -> None:
    with pytest.raises(UnfillableSchemaError, match="ghost"):
        fill_schema({"type": "object", "required": ["ghost"]}, [], [], "")
