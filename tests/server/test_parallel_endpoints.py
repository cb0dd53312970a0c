"""Parallel's Search, Extract and Chat as the loopback server speaks them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer, StreamStyle

TIDES = "https://energy.example/articles/tides"
WIND = "https://www.wind.example.org/farms"
BEES = "https://bees.example.edu/dance"


@pytest.fixture
def parallel(server: LoopbackServer, connect) -> httpx.Client:
    return connect(server, headers={"x-api-key": server.api_key})


def search(client: httpx.Client, *queries: str, **body: Any) -> httpx.Response:
    return client.post("/v1/search", json={"search_queries": list(queries), **body})


def urls(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [result["url"] for result in response.json()["results"]]


def policy(**fields: Any) -> dict[str, Any]:
    return {"advanced_settings": {"source_policy": fields}}


# -- search ----------------------------------------------------------------------------------------


def test_a_search_finds_pages_with_excerpts(parallel) -> None:
    body = search(parallel, "tidal turbines").json()

    assert set(body) == {"search_id", "session_id", "results", "warnings", "usage"}
    assert body["search_id"].startswith("search_")
    assert body["session_id"].startswith("session_")
    assert body["warnings"] is None
    assert body["usage"] == [{"name": "sku_search", "count": 1}]
    first = body["results"][0]
    assert first["url"] == TIDES
    assert first["publish_date"] == "2026-01-15"
    assert len(first["excerpts"]) > 1
    assert any("turbines" in excerpt for excerpt in first["excerpts"])


def test_the_lists_of_several_queries_are_one_without_repeats(parallel) -> None:
    found = urls(search(parallel, "tidal turbines", "offshore wind turbines", "honey bees"))

    assert {TIDES, WIND, BEES} <= set(found)
    assert len(found) == len(set(found))


def test_the_objective_takes_part_in_the_ranking(parallel) -> None:
    assert BEES not in urls(search(parallel, "tidal turbines"))
    assert BEES in urls(search(parallel, "tidal turbines", objective="How do honey bees dance?"))


@pytest.mark.parametrize("carrier", ["x-api-key", "authorization"])
def test_either_header_carries_the_key(server, connect, carrier: str) -> None:
    value = server.api_key if carrier == "x-api-key" else f"Bearer {server.api_key}"

    assert search(connect(server, headers={carrier: value}), "tides").status_code == 200


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "wrong"}, {"authorization": "Bearer wrong"}])
@pytest.mark.parametrize("path", ["/v1/search", "/v1/extract", "/v1beta/chat/completions"])
def test_without_the_key_there_is_parallels_envelope(server, connect, headers, path) -> None:
    response = connect(server, headers=headers).post(path, json={})

    assert response.status_code == 401
    body = response.json()
    assert body["type"] == "error"
    assert set(body["error"]) == {"ref_id", "message"}


def test_parallels_header_opens_no_door_of_perplexitys(server, connect) -> None:
    client = connect(server, headers={"x-api-key": server.api_key})

    assert client.post("/search", json={"query": "tides"}).status_code == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "search_queries"),
        ({"search_queries": []}, "search_queries"),
        ({"search_queries": [""]}, "search_queries[0]"),
        ({"search_queries": ["x" * 201]}, "search_queries[0]"),
        ({"search_queries": ["a"], "objective": "x" * 5001}, "objective"),
        ({"search_queries": ["a"], "processor": "base"}, "processor"),
        ({"search_queries": ["a"], "mode": "agentic"}, "mode"),
        ({"search_queries": ["a"], "max_results": 5}, "max_results"),
        ({"search_queries": ["a"], "advanced_settings": {"x": 1}}, "advanced_settings.x"),
        (
            {"search_queries": ["a"], "advanced_settings": {"excerpt_settings": {"x": 1}}},
            "advanced_settings.excerpt_settings.x",
        ),
        (
            {"search_queries": ["a"], "advanced_settings": {"max_results": 0}},
            "advanced_settings.max_results",
        ),
        (
            {
                "search_queries": ["a"],
                "advanced_settings": {"fetch_policy": {"max_age_seconds": 5}},
            },
            "advanced_settings.fetch_policy.max_age_seconds",
        ),
    ],
)
def test_a_body_at_fault_is_refused_with_its_field(parallel, body, field) -> None:
    response = parallel.post("/v1/search", json=body)

    assert response.status_code == 422
    error = response.json()["error"]
    assert error["detail"]["field"] == field
    assert error["ref_id"].startswith("search_")


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "NaN"])
def test_what_is_no_json_object_is_refused(parallel, body: str) -> None:
    response = parallel.post("/v1/search", content=body)

    assert response.status_code == 422
    assert response.json()["type"] == "error"


def test_what_goes_beyond_a_limit_is_lowered_and_said(parallel) -> None:
    settings = {"max_results": 50, "location": "uk"}
    body = search(parallel, *"abcdefg", advanced_settings=settings).json()

    assert [warning["type"] for warning in body["warnings"]] == [
        "input_validation_warning",
        "input_validation_warning",
        "warning",
    ]
    assert "2 beyond the first 5" in body["warnings"][0]["message"]
    assert body["warnings"][2]["detail"] == {"location": "uk"}
    assert (
        search(parallel, "tides", advanced_settings={"location": "NZ"}).json()["warnings"] is None
    )


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"include_domains": ["gy.example"]}, set()),
        ({"include_domains": ["energy.example"]}, {TIDES}),
        ({"include_domains": ["example.org"]}, {WIND}),
        ({"include_domains": ["www.example.org"]}, {WIND}),
        ({"include_domains": [".edu"]}, {BEES}),
        ({"include_domains": ["energy.example/articles"]}, {TIDES}),
        ({"include_domains": ["energy.example/articles/"]}, {TIDES}),
        ({"include_domains": ["energy.example/art"]}, set()),
        ({"include_domains": ["energy.example/Articles"]}, set()),
        ({"exclude_domains": ["energy.example", "example.org"]}, {BEES}),
        (
            {"include_domains": ["energy.example"], "exclude_domains": ["energy.example"]},
            {TIDES},
        ),
        ({"after_date": "2026-01-15"}, {TIDES}),
        ({"after_date": "2025-03-10"}, {TIDES, WIND}),
        ({"after_date": "2026-01-16"}, set()),
    ],
)
def test_a_source_policy_really_filters(parallel, fields, found) -> None:
    response = search(parallel, "turbines", "honey bees", **policy(**fields))

    assert set(urls(response)) & {TIDES, WIND, BEES} == found


@pytest.mark.parametrize(("undated", "are_there"), [("kept", True), ("dropped", False)])
def test_what_becomes_of_undated_pages_can_be_chosen(corpus, connect, undated, are_there) -> None:
    words = ("lagoon wall notes", "coral reef", "tidal turbines")
    with LoopbackServer(corpus=corpus, undated=undated) as server:
        client = connect(server, headers={"x-api-key": server.api_key})
        results = search(client, *words).json()["results"]
        without_date = {r["url"] for r in results if r["publish_date"] is None}
        assert without_date
        found = set(urls(search(client, *words, **policy(after_date="2020-01-01"))))

    assert TIDES in found
    assert (without_date <= found) is are_there
    assert bool(without_date & found) is are_there


@pytest.mark.parametrize(
    "fields",
    [
        {"include_domains": ["https://energy.example"]},
        {"include_domains": ["*.example"]},
        {"include_domains": ["energy.example?x"]},
        {"include_domains": [f"d{n}.example" for n in range(201)]},
        {
            "include_domains": [f"d{n}.example" for n in range(150)],
            "exclude_domains": [f"d{n}.example" for n in range(51)],
        },
        {"after_date": "03/01/2026"},
        {"after_date": "2026-02-30"},
    ],
)
def test_a_policy_that_cannot_be_read_is_refused(parallel, fields) -> None:
    assert search(parallel, "tides", **policy(**fields)).status_code == 422


def test_turbo_takes_no_paths(parallel) -> None:
    body = policy(include_domains=["energy.example/articles"])

    assert search(parallel, "tides", mode="turbo", **body).status_code == 422
    assert search(parallel, "tides", mode="fast", **body).status_code == 200


def test_excerpts_stay_within_their_budgets(parallel) -> None:
    settings = {"excerpt_settings": {"max_chars_per_result": 40}}
    each = search(parallel, "turbines", advanced_settings=settings).json()["results"]
    total = search(parallel, "turbines", max_chars_total=50).json()["results"]

    assert all(sum(map(len, result["excerpts"])) <= 40 for result in each)
    assert sum(len(text) for result in total for text in result["excerpts"]) <= 50
    assert len(total) > 1


# -- extract ---------------------------------------------------------------------------------------


def extract(client: httpx.Client, *wanted: str, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/extract", json={"urls": list(wanted), **body})
    assert response.status_code == 200, response.text
    return response.json()


def test_each_address_has_a_result_or_an_error_once(parallel) -> None:
    body = extract(parallel, TIDES, "https://nowhere.example/", WIND, TIDES)

    assert sorted(result["url"] for result in body["results"]) == sorted([TIDES, WIND])
    assert body["errors"] == [
        {
            "url": "https://nowhere.example/",
            "error_type": "fetch_error",
            "http_status_code": 404,
            "content": "the page is not in the corpus of this server",
        }
    ]
    assert "full_content" not in body["results"][0]
    assert body["results"][0]["excerpts"][0]
    assert body["warnings"][0]["type"] == "warning"


def test_the_order_is_the_servers_own_and_always_the_same(parallel) -> None:
    orders = [
        [result["url"] for result in extract(parallel, *wanted)["results"]]
        for wanted in ((TIDES, WIND, BEES), (BEES, WIND, TIDES), (WIND, TIDES, BEES))
    ]

    assert orders[0] == orders[1] == orders[2]


def test_the_whole_text_comes_on_request(parallel) -> None:
    whole = extract(parallel, TIDES, advanced_settings={"full_content": True})
    cut = extract(parallel, TIDES, advanced_settings={"full_content": {"max_chars_per_result": 9}})

    assert "twenty-five years" in whole["results"][0]["full_content"]
    assert len(cut["results"][0]["full_content"]) == 9


def test_an_objective_chooses_the_excerpts(parallel) -> None:
    body = extract(parallel, TIDES, objective="How long do turbines last?")
    cut = extract(parallel, TIDES, objective="How long do turbines last?", max_chars_total=30)

    assert body["warnings"] is None
    assert "last" in " ".join(body["results"][0]["excerpts"])
    assert sum(map(len, cut["results"][0]["excerpts"])) <= 30


def test_pages_of_the_server_itself_can_be_extracted(server, parallel) -> None:
    assert len(extract(parallel, f"{server.url}/pages/1")["results"]) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"urls": []},
        {"urls": [""]},
        {"urls": [f"https://a.example/{n}" for n in range(21)]},
        {"urls": [TIDES], "excerpts": True},
        {"urls": [TIDES], "full_content": True},
        {"urls": [TIDES], "advanced_settings": {"full_content": {"x": 1}}},
        {"urls": [TIDES], "advanced_settings": {"source_policy": {}}},
    ],
)
def test_an_extraction_at_fault_is_refused(parallel, body) -> None:
    response = parallel.post("/v1/extract", json=body)

    assert response.status_code == 422
    assert response.json()["error"]["ref_id"].startswith("extract_")


# -- chat ------------------------------------------------------------------------------------------


def chat(client: httpx.Client, path: str = "/v1beta/chat/completions", **body: Any) -> Any:
    messages = [{"role": "user", "content": "How long do tidal turbines last?"}]
    return client.post(path, json={"model": "base", "messages": messages, **body})


@pytest.mark.parametrize("path", ["/v1beta/chat/completions", "/chat/completions"])
def test_an_answer_has_its_basis_and_nothing_else_filled_in(parallel, path: str) -> None:
    body = chat(parallel, path).json()

    assert (body["id"], body["model"], body["usage"]) == ("", "", None)
    assert body["interaction_id"].startswith("trun_")
    (choice,) = body["choices"]
    assert choice["finish_reason"] is None
    assert "twenty-five years" in choice["message"]["content"]
    assert "[1]" not in choice["message"]["content"]
    (basis,) = body["basis"]
    assert basis["field"] == "output"
    assert TIDES in [citation["url"] for citation in basis["citations"]]
    assert basis["citations"][0]["excerpts"]


def test_speed_gives_no_basis(parallel) -> None:
    assert chat(parallel, model="speed").json()["basis"] == []


def test_an_answer_follows_a_schema_except_with_speed(parallel) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}

    followed = chat(parallel, response_format=wanted).json()["choices"][0]["message"]["content"]
    ignored = chat(parallel, response_format=wanted, model="speed").json()

    assert "urbines" in json.loads(followed)["answer"]
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(ignored["choices"][0]["message"]["content"])


def frames_of(response: httpx.Response) -> list[str]:
    return [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]


def test_a_stream_ends_with_the_basis_and_done(parallel) -> None:
    *frames, done = frames_of(chat(parallel, stream=True))

    chunks = [json.loads(frame) for frame in frames]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert done == "[DONE]"
    assert text == chat(parallel).json()["choices"][0]["message"]["content"]
    assert [bool(chunk["basis"]) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_a_stream_can_leave_done_out_or_break(corpus, connect) -> None:
    styles = {"without": StreamStyle(done=False), "broken": StreamStyle(terminal="error")}
    for name, style in styles.items():
        with LoopbackServer(corpus=corpus, stream=style) as server:
            client = connect(server, headers={"x-api-key": server.api_key})
            fault = {"x-loopback-fault": "stream-done=0"} if name == "without" else {}
            client.headers.update(fault)
            frames = frames_of(chat(client, stream=True))
        if name == "broken":
            assert any(json.loads(f).get("type") == "error" for f in frames if f != "[DONE]")


@pytest.mark.parametrize(
    "body",
    [
        {"model": "sonar-9"},
        {"model": None},
        {"messages": []},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        {"response_format": {"type": "json_schema"}},
    ],
)
def test_a_chat_at_fault_is_refused_in_the_other_shape(parallel, body) -> None:
    response = chat(parallel, **body)

    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"][0] == "body"


def test_a_model_of_the_other_vendor_still_meets_the_retired_endpoint(server, connect) -> None:
    response = chat(connect(server), "/chat/completions", model="sonar")

    assert response.status_code == 403
    assert response.json()["error"]["type"] == "chat_completions_not_available"


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [402, 429, 500, 503])
def test_faults_speak_parallels_language_at_its_addresses(parallel, status: int) -> None:
    for path in ("/v1/search", "/v1/extract", "/v1beta/chat/completions"):
        spec = f"status={status},retry-after=2" if status == 429 else f"status={status}"
        response = parallel.post(f"/_fault/{spec}{path}", json={})

        assert response.status_code == status
        assert response.json()["type"] == "error"
        assert response.headers.get("retry-after") == ("2" if status == 429 else None)
