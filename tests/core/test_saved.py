"""Reading stored answers: bodies, streams, our own results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySonarProvider,
    ProviderError,
    WebError,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
    read_saved,
)
from dsh_web.citations import Citation
from tests.core.parallel import basis, chat_body, cited, found_body, hit
from tests.core.perplexity import (
    KEY,
    agent_body,
    ask,
    found,
    page,
    said,
    search_body,
    sonar_body,
)
from tests.flows import frames, play_stream, reply

PAGES = found(page(1), page(2))
SONAR = sonar_body("Bees dance[1].", citations=["https://site1.example/"])
FAST = agent_body(PAGES, said("Bees dance.[1]"))
LOW = agent_body(PAGES, said("Bees dance [web:1]."))


def test_the_same_question_asked_in_three_ways_gives_records_with_the_same_fields() -> None:
    records = [read_saved(body).citations[0] for body in (SONAR, FAST, LOW)]

    assert {"https://site1.example/"} == {record.url for record in records}
    assert {("web", 1, True)} == {(r.source_type, r.source_index, r.resolved) for r in records}
    assert ["[1]", "[1]", "[web:1]"] == [record.raw_marker for record in records]
    assert 1 == len({tuple(record.model_dump()) for record in records})
    assert set(Citation.model_fields) == set(records[0].model_dump(mode="json"))


STREAM = frames(
    {"type": "response.created", "response": {"id": "r"}},
    {"type": "response.output_item.done", "output_index": 0, "item": PAGES},
    {"type": "response.output_text.delta", "delta": "Bees dance.["},
    {"type": "response.output_text.delta", "delta": "1]"},
    {"type": "response.completed", "response": FAST},
)
CHUNKS = frames(
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Bees [1"}}]},
    {
        "object": "chat.completion.done",
        "citations": ["https://site1.example/"],
        "choices": [{"index": 0, "delta": {"content": "]."}, "finish_reason": "stop"}],
    },
    "[DONE]",
)


ARTIFACT = {"schema": 1, "kind": "web_search", "result": read_saved(LOW).model_dump(mode="json")}


@pytest.mark.parametrize(
    ("data", "provider", "marker"),
    [
        (SONAR, "perplexity-sonar", "[1]"),
        (json.dumps(SONAR), "perplexity-sonar", "[1]"),
        (json.dumps(SONAR).encode("utf-8-sig"), "perplexity-sonar", "[1]"),
        ({"request": {"q": 1}, "response": FAST}, "perplexity", "[1]"),
        (STREAM, "perplexity", "[1]"),
        (STREAM.decode(), "perplexity", "[1]"),
        (CHUNKS, "perplexity-sonar", "[1]"),
        (read_saved(LOW).model_dump(mode="json"), "perplexity", "[web:1]"),
        (ARTIFACT, "perplexity", "[web:1]"),
        ({"type": "tool", "content": "text", "artifact": ARTIFACT}, "perplexity", "[web:1]"),
        ({"tool_name": "web_search", "raw_output": ARTIFACT}, "perplexity", "[web:1]"),
        ({"request": "q", "response": json.dumps(SONAR)}, "perplexity-sonar", "[1]"),
        ({"request": "q", "response": STREAM.decode()}, "perplexity", "[1]"),
        ({"id": "job", "status": "COMPLETED", "response": SONAR}, "perplexity-sonar", "[1]"),
        ({"provider": "Perplexity", **SONAR}, "perplexity-sonar", "[1]"),
        ("id: 1\n" + STREAM.decode(), "perplexity", "[1]"),
    ],
)
def test_whatever_was_stored_is_read(data: Any, provider: str, marker: str) -> None:
    result = read_saved(data)

    assert provider == result.provider
    assert [(marker, "https://site1.example/")] == [
        (record.raw_marker, record.url) for record in result.citations
    ]


def test_a_search_body_has_sources_and_no_answer() -> None:
    result = read_saved(search_body(page(1)))

    assert ("perplexity-search", None, 1) == (result.provider, result.content, len(result.sources))


@pytest.mark.parametrize(
    ("provider", "body", "stream"),
    [
        (PerplexitySonarProvider(api_key=KEY), SONAR, CHUNKS),
        (PerplexityAgentProvider(api_key=KEY), FAST, STREAM),
    ],
)
def test_a_kept_body_can_be_replayed(provider: Any, body: Any, stream: bytes) -> None:
    _, result = ask(provider, reply(body), include_raw=True)
    request = WebSearchRequest(query="q", include_raw=True)
    heard = play_stream(provider.stream_flow(request), stream).result

    for kept in (result, heard):
        assert kept is not None
        assert kept.raw is not None
        assert kept.model_copy(update={"raw": None}) == read_saved(kept.raw)
    assert ask(provider, reply(body))[1].raw is None


def test_a_dump_without_its_defaults_is_a_result() -> None:
    dump = WebSearchResult(provider="toy", content="A[1].").model_dump(exclude_defaults=True)

    assert ["[1]"] == [record.raw_marker for record in read_saved(dump).citations]


@pytest.mark.parametrize(
    "data",
    [
        sonar_body("A\ud800[1]", citations=["https://a.example/"]),
        json.dumps(sonar_body("A\ud800[1]", citations=["https://a.example/"])),
        {"provider": "toy", "content": "A\ud800[1]", "sources": [{"url": "https://a.example/"}]},
    ],
)
def test_half_a_character_keeps_nothing_from_being_stored_again(data: Any) -> None:
    result = read_saved(data)

    assert "A\ufffd[1]" == result.content
    assert ["https://a.example/"] == [record.url for record in result.citations]
    assert result == WebSearchResult.model_validate_json(result.model_dump_json())


def test_a_result_stored_before_there_were_records_is_read() -> None:
    old = WebSearchResult(
        provider="toy", content="A[1].", sources=(WebSearchSource(url="https://a.example"),)
    )
    dump = {k: v for k, v in old.model_dump(mode="json").items() if "citation" not in k}

    assert ["https://a.example"] == [record.url for record in read_saved(dump).citations]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("no json", "x.json is not JSON"),
        ("1", "x.json is not a JSON object"),
        ("[1]", "x.json is a list: give its members one by one"),
        ({"choices": {1, 2}}, "x.json is not decoded JSON"),
        (5, "x.json is not a JSON object"),
        ({}, "x.json is no answer that is known here"),
        (
            {"provider": "p", "sources": [{"title": "no url"}]},
            "x.json is not a whole search result",
        ),
        ("data: {}\n\n", "x.json is an event stream of no API"),
    ],
)
def test_what_is_no_answer_is_refused_by_name(data: Any, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        read_saved(data, name="x.json")


def test_a_failed_run_stays_a_failure() -> None:
    with pytest.raises(ProviderError, match="out of luck"):
        read_saved(agent_body(status="failed", error={"message": "out of luck"}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "output", "results", "sources", "provider", "content", "response"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON | JSON.map(json.dumps) | st.text(max_size=40) | st.binary(max_size=40))
def test_any_data_is_a_result_or_one_of_our_errors(data: Any) -> None:
    try:
        result = read_saved(data)
    except WebError:
        return
    assert isinstance(result, WebSearchResult)


def test_a_stored_search_of_parallel_is_read_as_such() -> None:
    result = read_saved(found_body(hit(1, "One.", "Two.")))

    assert ("parallel", ("One.", "Two.")) == (result.provider, result.sources[0].excerpts)


@pytest.mark.parametrize("left", ["basis", "interaction_id"])
def test_a_stored_chat_of_parallel_is_told_from_sonars(left: str) -> None:
    body = chat_body("Bees dance.", basis(cited(1)))
    fields = {name: body[name] for name in ("choices", left)}

    assert "parallel-chat" == read_saved(fields).provider
    assert "perplexity-sonar" == read_saved({"choices": body["choices"]}).provider


def test_a_stored_stream_of_parallel_is_read_as_such() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Bees."}}], "basis": [basis(cited(1))]}
    result = read_saved(frames(chunk, "[DONE]"))

    assert ("parallel-chat", "Bees.", 1) == (
        result.provider,
        result.content,
        len(result.citations),
    )
