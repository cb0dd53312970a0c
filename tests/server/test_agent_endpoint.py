"""`POST /v1/agent` under all its spellings, and `GET /v1/models`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer

QUESTION = "Where do tidal turbines stand, and how long is the lagoon wall?"
TIDES = "https://energy.example/articles/tides"
KEYS = {
    *("id", "object", "created_at", "completed_at", "status", "model", "output", "error"),
    *("incomplete_details", "usage", "background", "store", "parallel_tool_calls"),
    *("previous_response_id", "instructions", "prompt_cache_key", "safety_identifier", "user"),
    *("max_output_tokens", "max_tool_calls", "reasoning", "metadata", "tools", "tool_choice"),
    *("text", "service_tier", "temperature", "top_p", "top_logprobs", "presence_penalty"),
    *("frequency_penalty", "truncation"),
}


def ask(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/agent", json={"input": QUESTION, **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/agent", json={"input": QUESTION, **body})
    assert answer.status_code == 400, answer.text
    return dict(answer.json()["error"])


def items(response: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item for item in response["output"] if item["type"] == kind]


def text(response: dict[str, Any]) -> str:
    (message,) = items(response, "message")
    return str(message["content"][0]["text"])


def results(response: dict[str, Any]) -> dict[int, dict[str, Any]]:
    rows = [row for item in items(response, "search_results") for row in item["results"]]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("path", ["/v1/agent", "/v1/responses", "/responses"])
def test_every_spelling_gives_the_full_response_object(client: httpx.Client, path: str) -> None:
    answer = client.post(path, json={"preset": "fast", "input": QUESTION})

    body = answer.json()
    assert set(body) == KEYS
    assert body["status"] == "completed"
    assert body["created_at"] == body["completed_at"]
    assert body["id"] == "resp_" + answer.headers["x-request-id"]
    assert body["model"] == "openai/gpt-6-luna"


@pytest.mark.parametrize("effort", ["fast", "fast@2026-10-16.0"])
def test_fast_writes_bare_numbers_right_after_the_sentence(
    client: httpx.Client, effort: str
) -> None:
    response = ask(client, effort=effort)

    assert re.search(r"\w\.\[\d+\]", text(response))
    assert "[web:" not in text(response)
    assert len(items(response, "search_results")) == 1


@pytest.mark.parametrize("preset", ["low", "pro-search", "medium", "deep-research", "high"])
def test_slower_presets_write_web_markers(client: httpx.Client, preset: str) -> None:
    response = ask(client, preset=preset)

    assert re.search(r"\w\. \[web:\d+\]", text(response))


@pytest.mark.parametrize(
    ("style", "preset", "pattern"), [("web", "fast", r" \[web:\d"), ("number", "low", r"\.\[\d")]
)
def test_the_marker_style_can_be_fixed(
    corpus: Path, connect: Any, style: Any, preset: str, pattern: str
) -> None:
    with LoopbackServer(corpus=corpus, marker_style=style) as server:
        assert re.search(pattern, text(ask(connect(server), preset=preset)))


@pytest.mark.parametrize("preset", ["fast", "low", "medium"])
def test_every_marker_names_a_result_that_holds_the_sentence(
    client: httpx.Client, corpus: Path, preset: str
) -> None:
    response = ask(client, preset=preset)
    found = results(response)

    cited = re.findall(r"([^.\]]+\.)((?:\s?\[(?:web:)?\d+\])+)", text(response))
    assert cited
    for sentence, markers in cited:
        for number in re.findall(r"\d+", markers):
            assert sentence.strip() in " ".join(found[int(number)]["snippet"].split())


def test_result_ids_have_gaps_and_the_first_item_does_not_start_at_one(
    corpus: Path, connect: Any
) -> None:
    tool = {"type": "web_search", "max_results": 1}
    with LoopbackServer(corpus=corpus) as server:
        response = ask(connect(server), preset="medium", tools=[tool])

    first, *others = items(response, "search_results")
    assert [row["id"] for row in first["results"]] == [11]
    assert [row["id"] for row in others[0]["results"]] == [1]
    addresses = [row["url"] for row in results(response).values()]
    assert len(addresses) == len(set(addresses))


def test_unknown_dates_are_left_out(client: httpx.Client) -> None:
    rows = results(ask(client, preset="medium", input="coral turbines bees")).values()

    assert any("date" not in row for row in rows)
    assert any("date" in row for row in rows)
    assert all(row["source"] == "web" for row in rows)


def test_annotations_are_empty_unless_switched_on(client: httpx.Client) -> None:
    response = ask(client, preset="fast")

    assert items(response, "message")[0]["content"][0]["annotations"] == []


@pytest.mark.parametrize("preset", ["fast", "low"])
def test_annotations_cover_the_markers(corpus: Path, connect: Any, preset: str) -> None:
    with LoopbackServer(corpus=corpus, annotations=True) as server:
        response = ask(connect(server), preset=preset)

    part = items(response, "message")[0]["content"][0]
    found = results(response)
    assert part["annotations"]
    for annotation in part["annotations"]:
        marker = part["text"][annotation["start_index"] : annotation["end_index"]]
        number = int(re.fullmatch(r"\[(?:web:)?(\d+)\]", marker)[1])  # type: ignore[index]
        assert annotation["type"] == "url_citation"
        assert annotation["url"] == found[number]["url"]


def test_a_question_without_hits_says_so(client: httpx.Client) -> None:
    response = ask(client, preset="fast", input="zyzzyva quixotry")

    assert results(response) == {}
    assert "Nothing was found" in text(response)
    assert "[" not in text(response)


def test_a_bare_model_answers_from_memory(client: httpx.Client) -> None:
    response = ask(client, model="perplexity/sonar")

    assert [item["type"] for item in response["output"]] == ["message"]
    assert "from memory" in text(response)
    assert "tool_calls_details" not in response["usage"]


@pytest.mark.parametrize("choice", ["required", {"type": "web_search"}, {"type": "required"}])
def test_tool_choice_forces_a_search(client: httpx.Client, choice: Any) -> None:
    response = ask(client, model="perplexity/sonar", tool_choice=choice)

    assert results(response)
    assert response["tool_choice"] == choice


@pytest.mark.parametrize("change", [{"tool_choice": "none"}, {"max_tool_calls": 0}])
def test_tools_can_be_forbidden(client: httpx.Client, change: dict[str, Any]) -> None:
    assert items(ask(client, preset="low", **change), "search_results") == []


def test_a_search_tool_filters(client: httpx.Client) -> None:
    tool = {
        "type": "web_search",
        "filters": {"search_domain_filter": ["energy.example"]},
        "max_results": 5,
        "search_context_size": "low",
        "user_location": {"country": "GB", "city": "Swansea", "latitude": 51.6},
    }

    response = ask(client, model="openai/gpt-6-luna", tools=[tool], max_steps=3)

    assert {row["url"] for row in results(response).values()} == {TIDES}
    assert response["tools"] == [{"type": "web_search"}]


def test_a_named_function_is_called(client: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    tool = {"type": "function", "name": "look_up", "parameters": schema}

    response = ask(client, model="perplexity/sonar", tools=[tool], tool_choice={"name": "look_up"})

    (call,) = items(response, "function_call")
    assert call["name"] == "look_up"
    assert QUESTION in call["arguments"]


@pytest.mark.parametrize("url", [TIDES, "/pages/"])
def test_fetching_reads_a_page_of_the_corpus(
    server: LoopbackServer, client: httpx.Client, url: str
) -> None:
    address = url if url == TIDES else f"{server.url}{url}5"

    response = ask(
        client, preset="low", input=f"Summarise {address}.", tools=[{"type": "fetch_url"}]
    )

    (fetched,) = items(response, "fetch_url_results")
    assert [content["url"] for content in fetched["contents"]] == [address]
    assert items(response, "search_results") == []
    assert "[web:0]" in text(response)
    assert response["usage"]["tool_calls_details"]["fetch_url"]["invocation"] == 1


def test_a_page_outside_the_corpus_cannot_be_fetched(client: httpx.Client) -> None:
    response = ask(
        client,
        model="perplexity/sonar",
        input="Read https://nowhere.example/x",
        tools=[{"type": "fetch_url"}],
    )

    assert items(response, "fetch_url_results")[0]["contents"] == []
    assert "could not be fetched" in text(response)


@pytest.mark.parametrize(
    ("body", "price"),
    [
        ({"preset": "fast"}, 0.001),
        ({"model": "openai/gpt-6-luna", "tools": [{"type": "web_search"}]}, 0.0025),
        (
            {"model": "openai/gpt-6-sol", "tools": [{"type": "web_search", "search_type": "fast"}]},
            0.001,
        ),
        ({"model": "anthropic/claude-opus-5-5", "max_output_tokens": 500}, 0),
    ],
)
def test_costs_add_up(client: httpx.Client, body: dict[str, Any], price: float) -> None:
    usage = ask(client, **body)["usage"]

    cost = usage["cost"]
    parts = cost["input_cost"] + cost["output_cost"] + cost.get("tool_calls_cost", 0)
    assert cost["total_cost"] == pytest.approx(parts)
    assert cost.get("tool_calls_cost", 0) == price
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens"] > 0
    assert cost["currency"] == "USD"


@pytest.mark.parametrize("cap", [1, 16])
def test_a_tiny_cap_leaves_no_text(client: httpx.Client, cap: int) -> None:
    response = ask(client, preset="fast", max_output_tokens=cap)

    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["completed_at"] is None
    assert response["output"] == []
    assert response["usage"]["output_tokens"] == 16


def test_a_small_cap_cuts_the_text(client: httpx.Client) -> None:
    response = ask(client, preset="fast", max_output_tokens=20)

    assert response["status"] == "incomplete"
    assert 0 < len(text(response)) <= 80
    assert items(response, "message")[0]["status"] == "incomplete"


def test_messages_are_read_up_to_the_last_question(client: httpx.Client) -> None:
    messages = [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"role": "user", "content": "How do wind farms stand?"},
        {"role": "assistant", "content": "On steel."},
        {"role": "user", "content": [{"type": "input_text", "text": "And how do bees dance?"}]},
    ]

    response = ask(client, preset="fast", input=messages)

    assert items(response, "search_results")[0]["queries"] == ["And how do bees dance?"]


def test_a_completed_response_can_be_continued_and_others_cannot(client: httpx.Client) -> None:
    first = ask(client, preset="fast")

    second = ask(client, preset="fast", previous_response_id=first["id"])

    assert second["previous_response_id"] == first["id"]
    assert refused(client, preset="fast", previous_response_id="resp_x") == {
        "message": "invalid request",
        "type": "invalid_request",
        "code": 400,
    }


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"search_mode": "web"}, "search_mode"),
        ({"messages": []}, "messages"),
        ({"max_tokens": 5}, "max_tokens"),
        ({"text": {}}, "text"),
        ({"reasoning": {"summary": "auto"}}, "reasoning.summary"),
        ({"tools": [{"type": "web_search", "country": "DE"}]}, "tools[0].country"),
        (
            {"tools": [{"type": "web_search", "filters": {"search_language_filter": ["en"]}}]},
            "tools[0].filters.search_language_filter",
        ),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function"),
        ({"input": [{"role": "user", "content": "x", "name": "n"}]}, "input[0].name"),
    ],
)
def test_unknown_fields_are_refused_by_name(
    client: httpx.Client, change: dict[str, Any], param: str
) -> None:
    error = refused(client, **{"preset": "fast", **change})

    assert error["param"] == param
    assert "unknown field" in error["message"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "one of model, models, effort, preset or profile"),
        ({"model": "anthropic/claude-sonnet-5"}, "max_output_tokens is required"),
        ({"preset": "fast", "input": ""}, "empty string"),
        ({"preset": "fast", "input": []}, "empty array"),
        ({"preset": "fast", "input": 7}, "empty array"),
        ({"preset": "fast", "input": {}}, "empty array"),
        ({"preset": "fast", "input": None}, "empty array"),
        ({"preset": "fast", "max_steps": 0}, "at least 1"),
        ({"preset": "fast", "max_steps": 101}, "at most 100"),
        ({"preset": "fast", "tool_choice": "web_search"}, "tool_choice"),
        ({"preset": "fast", "tool_choice": {"name": "absent"}}, "tool_choice"),
        ({"preset": "slow"}, "preset"),
        ({"effort": "wide-research"}, "effort"),
        ({"effort": "fast@yesterday"}, "effort"),
        ({"preset": "fast", "profile": {"type": "custom", "id": "p"}}, "profile"),
        ({"preset": "fast", "temperature": 3}, "temperature"),
        ({"preset": "fast", "tools": [{"type": "teleport"}]}, "tools[0]: type"),
        ({"preset": "fast", "tools": [{"type": "function", "name": "web_search"}]}, "built-in"),
        ({"preset": "fast", "metadata": {str(n): "" for n in range(17)}}, "metadata"),
        (
            {"preset": "fast", "response_format": {"type": "json_schema", "json_schema": {}}},
            "schema",
        ),
    ],
)
def test_rules_are_enforced_with_a_reason(
    client: httpx.Client, change: dict[str, Any], message: str
) -> None:
    assert message in refused(client, **change)["message"]


@pytest.mark.parametrize("model", ["sonar", "perplexity/sonar-pro", "openai/gpt-2"])
def test_unknown_models_are_refused(client: httpx.Client, model: str) -> None:
    assert refused(client, model=model)["type"] == "invalid_model"


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"max_results": 51}, "tools[0]: max_results"),
        ({"search_context_size": "giant"}, "tools[0]: search_context_size"),
        ({"user_location": {"country": "GBR"}}, "tools[0]: user_location.country"),
        ({"user_location": {"latitude": 91}}, "tools[0]: user_location.latitude"),
        ({"filters": {"search_recency_filter": "era"}}, "hour, day, week, month, year"),
        ({"filters": {"search_domain_filter": ["a.example"] * 21}}, "search_domain_filter"),
        (
            {
                "filters": {
                    "search_recency_filter": "day",
                    "search_after_date_filter": "01/01/2026",
                }
            },
            "cannot be used together",
        ),
    ],
)
def test_search_tools_are_checked(client: httpx.Client, tool: dict[str, Any], message: str) -> None:
    assert (
        message in refused(client, preset="low", tools=[{"type": "web_search", **tool}])["message"]
    )


def test_the_anthropic_rule_does_not_hold_with_a_preset(client: httpx.Client) -> None:
    assert ask(client, preset="low", model="anthropic/claude-sonnet-5")["status"] == "completed"


def test_the_first_of_several_models_is_served(client: httpx.Client) -> None:
    models = ["openai/gpt-6-sol", "perplexity/sonar"]

    assert ask(client, models=models, model="xai/grok-4.7")["model"] == "openai/gpt-6-sol"


def test_a_body_above_32_mib_is_refused(client: httpx.Client) -> None:
    answer = client.post("/v1/agent", content=b" " * (32 * 1024 * 1024 + 1), timeout=20)

    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "payload_too_large"


def test_models_are_listed_with_the_prices_that_are_known(client: httpx.Client) -> None:
    body = client.get("/v1/models").json()

    models = {model["id"]: model for model in body["data"]}
    assert body["object"] == "list"
    assert all(model["created"] == 0 for model in models.values())
    assert models["perplexity/sonar"]["pricing"]["unit"] == "usd_per_1m_tokens"
    assert "pricing" not in models["xai/grok-4.7"]
