"""The chat completions paths, retired and legacy."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from perplexity import Perplexity

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


def test_legacy_images_are_there_on_request_and_empty(legacy: httpx.Client) -> None:
    media = {"overrides": {"return_images": True}}

    assert "images" not in legacy.post("/v1/sonar", json=body()).json()
    assert legacy.post("/v1/sonar", json=body(return_images=True)).json()["images"] == []
    assert legacy.post("/v1/sonar", json=body(media_response=media)).json()["images"] == []


def test_legacy_schemas_are_filled(legacy: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"fact": {"type": "string"}}, "required": ["fact"]}
    wanted = {"type": "json_schema", "json_schema": {"schema": schema}}

    answer = legacy.post("/v1/sonar", json=body(response_format=wanted)).json()
    plain = legacy.post("/v1/sonar", json=body(response_format={"type": "text"}))

    assert json.loads(answer["choices"][0]["message"]["content"])["fact"]
    assert plain.status_code == 200


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "regex", "regex": {"regex": "a+"}},
        {"type": "json_schema", "json_schema": {"schema": {"type": "array"}}},
    ],
)
def test_legacy_formats_that_cannot_be_met_fail(legacy: httpx.Client, wanted: Any) -> None:
    answer = legacy.post("/v1/sonar", json=body(response_format=wanted))

    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "upstream_structured_output_failed"


@pytest.mark.parametrize("path", ["/v1/async/sonar", "/async/chat/completions"])
def test_legacy_jobs_run_to_their_end(legacy: httpx.Client, path: str) -> None:
    created = legacy.post(path, json={"request": body()})
    jobs = [created.json()]
    while jobs[-1]["status"] in {"CREATED", "IN_PROGRESS"}:
        jobs.append(legacy.get(f"{path}/{jobs[0]['id']}").json())
        time.sleep(0.01)

    assert created.status_code == 200
    assert list(dict.fromkeys(job["status"] for job in jobs)) == [
        *("CREATED", "IN_PROGRESS", "COMPLETED"),
    ]
    assert jobs[0]["response"] is None
    assert jobs[-1]["response"]["object"] == "chat.completion"
    assert jobs[-1]["completed_at"] >= jobs[-1]["created_at"]
    listed = legacy.get(path).json()["requests"]
    assert listed[0]["id"] == jobs[0]["id"]
    assert "response" not in listed[0]


def test_legacy_jobs_can_fail(legacy: httpx.Client) -> None:
    wanted = {"type": "regex", "regex": {"regex": "a+"}}
    job = legacy.post("/v1/async/sonar", json={"request": body(response_format=wanted)}).json()
    while job["status"] in {"CREATED", "IN_PROGRESS"}:
        job = legacy.get(f"/v1/async/sonar/{job['id']}").json()

    assert job["status"] == "FAILED"
    assert "schema" in job["error_message"]
    assert job["response"] is None
    assert job["failed_at"] >= job["created_at"]


def test_legacy_jobs_are_idempotent_by_key(legacy: httpx.Client) -> None:
    first, second, third = (
        legacy.post("/v1/async/sonar", json={"request": body(), "idempotency_key": key}).json()
        for key in ("a", "a", "b")
    )

    assert first["id"] == second["id"] != third["id"]


@pytest.mark.parametrize(
    ("sent", "status", "place"),
    [
        ({}, 422, ["body", "request"]),
        ({"request": {"messages": []}}, 422, ["body", "request", "model"]),
        ({"request": body(stream=True)}, 400, None),
        ({"request": body(model="x")}, 400, None),
    ],
)
def test_legacy_jobs_are_checked_at_once(
    legacy: httpx.Client, sent: Any, status: int, place: Any
) -> None:
    answer = legacy.post("/v1/async/sonar", json=sent)

    assert answer.status_code == status
    if place:
        assert answer.json()["detail"][0]["loc"] == place


def test_an_unknown_legacy_job_is_a_404(legacy: httpx.Client) -> None:
    assert legacy.get("/v1/async/sonar/none").status_code == 404


def test_the_sdk_reads_jobs(legacy_server: LoopbackServer) -> None:
    with Perplexity(api_key=legacy_server.api_key, base_url=legacy_server.url) as sdk:
        job: Any = sdk.async_.chat.completions.create(
            request={"model": "sonar", "messages": [{"role": "user", "content": QUESTION}]}
        )
        while job.status != "COMPLETED":
            job = sdk.async_.chat.completions.get(job.id)
        listed = sdk.async_.chat.completions.list()

    assert "[1]" in job.response.choices[0].message.content
    assert job.id in {entry.id for entry in listed.requests}
