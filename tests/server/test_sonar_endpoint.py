"""The chat completions paths, retired and legacy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer

QUESTION = "How do bees dance, and what do turbines do?"


@pytest.fixture(scope="module")
def legacy_server(corpus: Path) -> Iterator[LoopbackServer]:
    with LoopbackServer(corpus=corpus, sonar="legacy") as server:
        yield server


@pytest.fixture
def legacy(legacy_server: LoopbackServer, connect: Any) -> httpx.Client:
    client: httpx.Client = connect(legacy_server)
    return client


def body(**change: Any) -> dict[str, Any]:
    return {"model": "sonar", "messages": [{"role": "user", "content": QUESTION}], **change}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/chat/completions"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/sonar"),
        ("POST", "/async/chat/completions"),
        ("POST", "/v1/async/sonar"),
        ("GET", "/v1/async/sonar/abc"),
    ],
)
def test_retired_paths_point_at_the_agent_api(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path, json=body() if method == "POST" else None)

    error = answer.json()["error"]
    assert answer.status_code == 403
    assert error["type"] == "chat_completions_not_available"
    assert error["code"] == 403
    assert "Agent API" in error["message"]


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/chat/completions", "/v1/sonar"])
def test_legacy_answers_have_the_shape_of_2026(legacy: httpx.Client, path: str) -> None:
    answer = legacy.post(path, json=body()).json()

    choice = answer["choices"][0]
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "sonar"
    assert choice["finish_reason"] == "stop"
    assert choice["delta"] == {"role": "assistant", "content": ""}
    assert "[1]" in choice["message"]["content"]
    assert answer["citations"] == [row["url"] for row in answer["search_results"]]
    assert all(row["source"] == "web" for row in answer["search_results"])
    cost = answer["usage"]["cost"]
    assert cost["total_cost"] == pytest.approx(
        cost["input_tokens_cost"] + cost["output_tokens_cost"] + cost["request_cost"]
    )
    assert "related_questions" not in answer


@pytest.mark.parametrize(
    ("change", "type_"),
    [
        ({"model": "llama-3.1-sonar-small-128k-online"}, "invalid_model"),
        ({"messages": []}, "invalid_message"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "invalid_message"),
        ({"messages": [{"role": "user", "content": "x"}] * 2}, "invalid_message"),
        ({"search_after_date_filter": "tomorrow"}, "invalid_date_format"),
        ({"stream": True}, "invalid_request"),
    ],
)
def test_legacy_rules_are_a_400(legacy: httpx.Client, change: dict[str, Any], type_: str) -> None:
    answer = legacy.post("/chat/completions", json=body(**change))

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == type_


def test_legacy_validation_is_a_422(legacy: httpx.Client) -> None:
    answer = legacy.post("/chat/completions", json={"messages": [{"role": "robot", "content": ""}]})

    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [
        ["body", "model"],
        ["body", "messages", 0, "role"],
    ]


def test_legacy_filters_and_options_are_honoured(legacy: httpx.Client) -> None:
    answer = legacy.post(
        "/chat/completions",
        json=body(
            search_domain_filter=["bees.example.edu"],
            return_related_questions=True,
            stop=["x"],
            unknown_field=1,
            web_search_options={"search_context_size": "high"},
        ),
    ).json()
    recent = legacy.post("/chat/completions", json=body(search_recency_filter="day")).json()

    assert answer["citations"] == ["https://bees.example.edu/dance"]
    assert answer["related_questions"]
    assert answer["usage"]["search_context_size"] == "high"
    assert recent["citations"] == []


def test_legacy_search_can_be_disabled(legacy: httpx.Client) -> None:
    answer = legacy.post("/chat/completions", json=body(disable_search=True)).json()

    assert answer["search_results"] == []
    assert "from memory" in answer["choices"][0]["message"]["content"]


def test_legacy_max_tokens_cuts_the_answer(legacy: httpx.Client) -> None:
    answer = legacy.post("/chat/completions", json=body(max_tokens=5)).json()

    assert answer["choices"][0]["finish_reason"] == "length"
    assert len(answer["choices"][0]["message"]["content"]) <= 20
