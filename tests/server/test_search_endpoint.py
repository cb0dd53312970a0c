"""`POST /search`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsh_web.server import LoopbackServer

TIDES = "https://energy.example/articles/tides"
WIND = "https://www.wind.example.org/farms"
BEES = "https://bees.example.edu/dance"
LAGOON = "https://corpus.example/notes/lagoon.txt"


def urls(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [result["url"] for result in answer.json()["results"]]


def test_a_question_finds_the_page_that_answers_it(client: httpx.Client) -> None:
    answer = client.post("/search", json={"query": "Where do honey bees say the flowers are?"})

    body = answer.json()
    assert urls(answer)[0] == BEES
    assert set(body) == {"id", "results", "server_time"}
    assert set(body["results"][0]) == {"title", "url", "snippet", "date", "last_updated"}
    assert body["results"][0]["title"] == "How bees dance"
    assert body["results"][0]["date"] == "2024-05-01"
    assert "Honey bees dance" in body["results"][0]["snippet"]


def test_scripts_and_other_files_are_not_searched(client: httpx.Client) -> None:
    found = urls(client.post("/search", json={"query": "turbines"}))

    assert set(found) == {TIDES, WIND, LAGOON}


def test_a_word_in_the_title_ranks_first(client: httpx.Client) -> None:
    assert urls(client.post("/search", json={"query": "tidal power"}))[0] == TIDES


def test_max_results_limits_the_list(client: httpx.Client) -> None:
    assert len(urls(client.post("/search", json={"query": "turbines", "max_results": 1}))) == 1


def test_some_rows_have_a_null_date_and_none_lacks_the_key(client: httpx.Client) -> None:
    results = client.post("/search", json={"query": "turbines lagoon reef wind bees"}).json()[
        "results"
    ]

    assert all("date" in row and "last_updated" in row for row in results)
    assert any(row["date"] is None for row in results)
    assert any(row["date"] is not None for row in results)


@pytest.mark.parametrize("tokens", [1, 5, 12, 30])
def test_snippets_follow_max_tokens_per_page(client: httpx.Client, tokens: int) -> None:
    body = {"query": "tidal turbines", "max_tokens_per_page": tokens}

    results = client.post("/search", json=body).json()["results"]

    assert max(len(row["snippet"]) for row in results) <= 4 * tokens
    assert all(row["snippet"] for row in results)


def test_max_tokens_limits_all_snippets_together(client: httpx.Client) -> None:
    results = client.post("/search", json={"query": "turbines", "max_tokens": 20}).json()["results"]

    assert len(results) == 3
    assert sum(len(row["snippet"]) for row in results) <= 80


def test_server_time_comes_only_on_request(client: httpx.Client) -> None:
    silent = client.post("/search", json={"query": "sea"}).json()
    told = client.post("/search", json={"query": "sea", "display_server_time": True}).json()

    assert silent["server_time"] is None
    assert told["server_time"].endswith("Z")


def test_several_queries_give_one_flat_list_without_repeats(client: httpx.Client) -> None:
    found = urls(client.post("/search", json={"query": ["tidal turbines", "lagoon", "bees"]}))

    assert {TIDES, LAGOON, BEES} <= set(found)
    assert len(found) == len(set(found))


def test_several_queries_can_be_grouped(corpus: Path, connect: Any) -> None:
    with LoopbackServer(corpus=corpus, multi_query="grouped") as server:
        client = connect(server)
        many = client.post("/search", json={"query": ["bees", "reef"]}).json()["results"]
        one = client.post("/search", json={"query": "bees"}).json()["results"]

    assert [group[0]["url"] for group in many] == [
        BEES,
        "https://corpus.example/notes/coral.txt",
    ]
    assert one[0]["url"] == BEES


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["energy.example"], {TIDES}),
        (["-energy.example"], {WIND, LAGOON}),
        (["example.org"], {WIND}),
        (["energy.example/articles"], {TIDES}),
        (["energy.example/art"], set()),
        ([".org"], {WIND}),
        (["https://www.wind.example.org"], {WIND}),
        (["example", "-energy.example"], {LAGOON}),
        (["nergy.example"], set()),
        ([], {TIDES, WIND, LAGOON}),
    ],
)
def test_domain_filters_really_filter(
    client: httpx.Client, entries: list[str], expected: set[str]
) -> None:
    body = {"query": "turbines", "search_domain_filter": entries}

    assert set(urls(client.post("/search", json=body))) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"search_after_date_filter": "01/15/2026"}, TIDES),
        ({"search_before_date_filter": "3/10/2025"}, WIND),
        ({"search_after_date_filter": "1/1/2025", "search_before_date_filter": "12/31/2025"}, WIND),
        ({"last_updated_before_filter": "06/30/2025"}, WIND),
        (
            {
                "last_updated_after_filter": "2026-02-01",
                "search_domain_filter": ["-corpus.example"],
            },
            TIDES,
        ),
    ],
)
def test_date_filters_really_filter(
    client: httpx.Client, filters: dict[str, Any], expected: str
) -> None:
    found = urls(client.post("/search", json={"query": "turbines", **filters}))

    assert expected in found
    assert not set(found) - {expected, LAGOON}


def test_recency_keeps_what_is_new(client: httpx.Client) -> None:
    week = urls(client.post("/search", json={"query": "turbines", "search_recency_filter": "week"}))
    day = urls(client.post("/search", json={"query": "turbines", "search_recency_filter": "day"}))

    assert week == [LAGOON]
    assert day == []


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"query": None}, ["body", "query"]),
        ({"query": ""}, ["body", "query"]),
        ({"query": 7}, ["body", "query"]),
        ({"query": []}, ["body", "query"]),
        ({"query": ["a"] * 6}, ["body", "query"]),
        ({"query": ["a", 3]}, ["body", "query", 1]),
        ({"max_results": 0}, ["body", "max_results"]),
        ({"max_results": 21}, ["body", "max_results"]),
        ({"max_results": "5"}, ["body", "max_results"]),
        ({"max_results": True}, ["body", "max_results"]),
        ({"max_tokens": 1_000_001}, ["body", "max_tokens"]),
        ({"max_tokens_per_page": 0}, ["body", "max_tokens_per_page"]),
        ({"search_context_size": "huge"}, ["body", "search_context_size"]),
        ({"country": "USA"}, ["body", "country"]),
        ({"search_language_filter": ["en", "deu"]}, ["body", "search_language_filter", 1]),
        ({"search_language_filter": ["en"] * 21}, ["body", "search_language_filter"]),
        ({"search_recency_filter": "decade"}, ["body", "search_recency_filter"]),
        ({"search_domain_filter": ["a.example"] * 21}, ["body", "search_domain_filter"]),
        ({"search_domain_filter": ["a" * 254]}, ["body", "search_domain_filter", 0]),
        ({"display_server_time": "yes"}, ["body", "display_server_time"]),
    ],
)
def test_values_out_of_range_are_named_in_a_422(
    client: httpx.Client, change: dict[str, Any], loc: list[Any]
) -> None:
    answer = client.post("/search", json={"query": "sea", **change})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == loc
    assert set(answer.json()["detail"][0]) == {"loc", "msg", "type"}


@pytest.mark.parametrize(
    ("change", "type_"),
    [
        ({"search_after_date_filter": "13/01/2026"}, "invalid_date_format"),
        ({"last_updated_before_filter": "soon"}, "invalid_date_format"),
        ({"search_domain_filter": [" "]}, "invalid_search_domain_filter"),
        (
            {"search_recency_filter": "day", "search_before_date_filter": "01/01/2026"},
            "invalid_parameter",
        ),
    ],
)
def test_unusable_filters_are_a_400(
    client: httpx.Client, change: dict[str, Any], type_: str
) -> None:
    answer = client.post("/search", json={"query": "sea", **change})

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == type_
    assert answer.json()["error"]["code"] == 400


def test_recency_goes_together_with_last_updated(client: httpx.Client) -> None:
    body = {
        "query": "turbines",
        "search_recency_filter": "week",
        "last_updated_after_filter": "01/01/2026",
    }

    assert urls(client.post("/search", json=body)) == [LAGOON]


def test_unknown_fields_are_ignored(client: httpx.Client) -> None:
    assert urls(client.post("/search", json={"query": "bees", "search_after_date": "x"})) == [BEES]


@pytest.mark.parametrize(
    "query",
    [
        *('"', '""" OR "', "*", "NEAR(", "NEAR(a b, 2)", "title:sea", "a AND", "-", "^sea"),
        *("{a} : b", "\u0000sea", "\ud800", "海の力", "🐝", "'; DROP TABLE document; --"),
        *("what is it?", "_._"),
    ],
)
def test_no_query_text_acts_as_syntax(client: httpx.Client, query: str) -> None:
    content = b'{"query": ' + _json_text(query) + b"}"

    assert client.post("/search", content=content).status_code == 200


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.text(min_size=1, max_size=80))
def test_any_query_text_is_answered(client: httpx.Client, query: str) -> None:
    answer = client.post("/search", content=b'{"query": ' + _json_text(query) + b"}")

    assert answer.status_code in ({200} if query.strip() else {422})


def _json_text(text: str) -> bytes:
    return json.dumps(text).encode()
