import json
from typing import Any

import pytest
from markdown_it import MarkdownIt

from dsh_web import (
    Citation,
    ParallelChatProvider,
    ProviderError,
    UnsupportedFilterError,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    audit_citations,
    read_again,
    render_citations,
)
from dsh_web.citations import render_result
from dsh_web.merge import merge_results
from tests.core.parallel import BASE, EMPTY_CHAT, KEY, basis, chat_body, cited
from tests.core.perplexity import ask
from tests.flows import play, reply, sent_json

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
NO_SOURCE = "the answer names no source: nothing shows what it rests on"


def provider(**settings: Any) -> ParallelChatProvider:
    return ParallelChatProvider(api_key=KEY, **settings)


def result_of(content: object, *entries: object, **fields: object) -> WebSearchResult:
    return ask(provider(), reply(chat_body(content, *entries, **fields)))[1]


TWO = basis(cited(1, "Bees dance in a figure of eight."), cited(2))


# -- the request -------------------------------------------------------------------------------


def test_the_query_is_the_only_message():
    body, _ = ask(provider(), EMPTY_CHAT, query="Which way do bees dance?")

    expected = [{"role": "user", "content": "Which way do bees dance?"}]
    assert {"model": "base", "messages": expected} == body


def test_instructions_come_first():
    body, _ = ask(provider(instructions="Be short."), EMPTY_CHAT)

    assert [("system", "Be short."), ("user", "q")] == [
        (message["role"], message["content"]) for message in body["messages"]
    ]


def test_the_key_travels_as_openais_clients_send_it():
    steps, _ = play(provider().search_flow(WebSearchRequest(query="q")), EMPTY_CHAT)

    assert f"{BASE}/v1beta/chat/completions" == steps[0].url
    assert KEY == steps[0].bearer.reveal()
    assert {} == steps[0].secret_headers


@pytest.mark.parametrize("model", ["lite", "base", "core"])
def test_a_schema_is_sent_to_the_models_that_follow_one(model):
    body, _ = ask(provider(model=model), EMPTY_CHAT, response_format=SCHEMA)

    assert "json_schema" == body["response_format"]["type"]
    assert SCHEMA == body["response_format"]["json_schema"]["schema"]


def test_a_schema_is_refused_for_the_model_that_ignores_one():
    runtime = WebRuntime()
    runtime.register_search_provider(provider(model="speed"))

    with pytest.raises(UnsupportedFilterError, match="does not support response_format"):
        runtime.search("q", response_format=SCHEMA)


@pytest.mark.parametrize(
    "fields", [{"recency": "day"}, {"include_domains": ["a.example"]}, {"country": "NZ"}]
)
def test_the_api_has_no_filter_at_all(fields):
    runtime = WebRuntime()
    runtime.register_search_provider(provider())

    with pytest.raises(UnsupportedFilterError):
        runtime.search("q", **fields)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"model": "sonar"}, "model must be one of speed, lite, base, core, not 'sonar'"),
        ({"instructions": " "}, "instructions must be a non-empty text"),
    ],
)
def test_a_setting_that_cannot_work_makes_the_provider_unavailable(settings, reason):
    assert reason == provider(**settings).unavailable_reason()


# -- the result --------------------------------------------------------------------------------


def test_an_answer_with_blank_fields_is_read():
    result = result_of("Bees dance.", TWO)

    assert (None, None, "trun_1", "Bees dance.") == (
        result.model,
        result.finish_reason,
        result.request_id,
        result.content,
    )


def test_the_fields_that_are_blank_today_are_read_when_they_are_not():
    choice = {"finish_reason": "stop", "message": {"content": "Bees."}}
    result = result_of("", TWO, id="chat_1", model="base", choices=[choice])

    assert ("chat_1", "base", "stop", "Bees.") == (
        result.request_id,
        result.model,
        result.finish_reason,
        result.content,
    )


@pytest.mark.parametrize(
    ("model", "cost"), [("speed", 0.005), ("lite", 0.005), ("base", 0.01), ("core", 0.025)]
)
def test_an_answer_is_priced_by_its_model(model, cost):
    made = provider(model=model)
    _, result = ask(made, EMPTY_CHAT)

    assert (cost, True, None) == (
        result.usage.cost_usd,
        result.usage.cost_is_estimate,
        result.usage.input_tokens,
    )
    assert cost == made.estimated_cost(WebSearchRequest(query="q"))


def test_the_pages_of_the_basis_are_the_sources_each_once_in_order():
    result = result_of(
        "Bees dance.", basis(cited(2, "One."), cited(1)), basis(cited(2, "Two.", "One."), cited(3))
    )

    assert [(2, (1,)), (1, (2,)), (3, (3,))] == [(int(s.url[12]), s.ids) for s in result.sources]
    first = result.sources[0]
    assert (("One.", "Two."), "One.\n\nTwo.", "Title 2") == (
        first.excerpts,
        first.snippet,
        first.title,
    )


def test_a_page_with_neither_title_nor_excerpt_is_a_bare_address():
    result = result_of("Bees.", basis(cited(1, title=None), cited(2, title=" "), cited(3)))

    assert ["link", "link", "result"] == [source.origin for source in result.sources]


def test_a_broken_citation_does_not_lose_the_others():
    result = result_of("Bees.", basis(7, {"url": "x"}, cited(1)), 5, basis(citations=None))

    assert ["https://site1.example/"] == [source.url for source in result.sources]
    assert ("2 source entries without a usable http(s) address left out",) == result.warnings


@pytest.mark.parametrize("entries", [[], [basis()], [basis(citations=None, confidence=None)]])
def test_an_answer_without_sources_says_so(entries):
    result = result_of("Bees.", *entries)

    assert (NO_SOURCE,) == result.warnings


def test_an_answer_that_is_an_error_is_an_error():
    with pytest.raises(ProviderError, match="model is busy"):
        ask(provider(), reply({"error": {"message": "model is busy"}}))


def test_a_body_that_makes_no_sense_is_an_error():
    with pytest.raises(ProviderError, match="choices is not a list"):
        ask(provider(), reply({"choices": "x"}))


def test_structured_answers_keep_their_sources_and_have_no_citations():
    content = json.dumps({"a": "b"})
    result = result_of(content, basis(cited(1), field="a"))

    assert (content, 1, ()) == (result.content, len(result.sources), result.citations)


# -- citations ---------------------------------------------------------------------------------


def test_each_page_is_cited_by_the_whole_answer_without_a_marker():
    (first, second) = result_of("Bees dance.", TWO).citations

    assert (
        Citation(
            provider="parallel-chat",
            source_type="web",
            source_index=1,
            url="https://site1.example/",
            title="Title 1",
            marker_span=(11, 11),
            claim_span=(0, 11),
            raw_marker="",
            resolved=True,
        )
        == first
    )
    assert (2, "https://site2.example/") == (second.source_index, second.url)
    assert first.key != second.key


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        ("high", "high"),
        ("medium", "low"),
        ("low", "low"),
        ("LOW", "low"),
        ("", "high"),
        (None, "high"),
        (3, "high"),
    ],
)
def test_what_the_vendor_is_unsure_of_is_cited_with_low_confidence(confidence, expected):
    result = result_of("Bees.", basis(cited(1), confidence=confidence))

    assert [expected] == [record.confidence for record in result.citations]


def test_one_sure_entry_is_enough_for_a_page():
    entries = [basis(cited(1), confidence=level) for level in ("low", "high", "medium")]

    assert ["high"] == [record.confidence for record in result_of("Bees.", *entries).citations]


def test_brackets_in_the_answer_are_not_citations():
    result = result_of("Bees dance[1] and arr[2] too [7].", TWO)

    assert ["", ""] == [record.raw_marker for record in result.citations]
    assert () == audit_citations(result).unresolved


@pytest.mark.parametrize(
    "content",
    ["Bees dance.", " \n Bees dance[1].\n", "Bees[9] dance [2](https://x.example/)", "🐝 dance."],
)
@pytest.mark.parametrize("confidence", ["high", "low"])
def test_reading_a_stored_answer_again_changes_nothing(content, confidence):
    result = result_of(content, basis(cited(1), cited(2), confidence=confidence))
    stored = WebSearchResult.model_validate_json(result.model_dump_json())

    assert 2 == len(result.citations)
    assert result == read_again(stored)
    assert result == read_again(read_again(stored))


def test_reading_again_after_sources_were_cut_keeps_the_records():
    result = result_of("Bees dance.", TWO)
    cut = result.model_copy(update={"sources": result.sources[:1]})

    assert result.citations == read_again(cut).citations


def test_joined_answers_keep_their_own_records():
    one, two = result_of("Bees dance.", TWO), result_of("Ants walk.", basis(cited(3)))
    merged = merge_results(["bees", "ants"], [one, two], None)

    claims = [merged.content[slice(*record.claim_span)] for record in merged.citations]
    assert ["Bees dance.", "Bees dance.", "Ants walk."] == claims
    assert [0, 0, 1] == [record.answer_index for record in merged.citations]
    assert merged.citations == read_again(merged).citations


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        (
            "markdown",
            'Bees dance.[[1]](https://site1.example/ "Title 1")'
            '[[2]](https://site2.example/ "Title 2")',
        ),
        ("plain", "Bees dance.[1][2]"),
    ],
)
def test_the_pages_are_shown_behind_the_answer(style, expected):
    result = result_of("Bees dance.", TWO)
    shown = render_citations(result.content, result.citations, style=style, source_list="none")

    assert expected == shown


ENDINGS = {
    "a sentence": "Bees dance.",
    "a fence": "Look:\n\n```python\ndance()\n```",
    "an open fence": "Look:\n\n```python\ndance()",
    "a fence in a quote": "> ```\n> dance()\n> ```",
    "a fence and a blank line": "~~~\ndance()\n~~~\n",
    "a table": "| bee | way |\n| --- | --- |\n| one | left |",
    "a table without pipes": "bee | way\n--- | ---\none | left",
    "a list": "- one\n- two",
    "a code span": "See `dance()`",
    "an address": "See https://x.example/",
    "a formula": "Cost $5$",
    "an exclamation": "Bees dance!",
    "windows lines": "Look:\r\n\r\n```\r\ndance()\r\n```",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_whatever_an_answer_ends_with_the_marks_behind_it_are_links(ending):
    result = result_of(ENDINGS[ending], TWO)
    shown = render_result(result, style="markdown")
    tokens = MarkdownIt("commonmark").enable("table").parse(shown)
    inline = [child for token in tokens for child in token.children or ()]

    links = [child.attrs["href"] for child in inline if child.type == "link_open"]
    assert ["https://site1.example/", "https://site2.example/"] == links
    assert shown.startswith(ENDINGS[ending].rstrip("\n!"))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("style", ["html", "html_markdown"])
def test_whatever_an_answer_ends_with_html_shows_the_marks(ending, style):
    shown = render_result(result_of(ENDINGS[ending], TWO), style=style)

    assert 'id="cite-mark-1-1"' in shown
    assert 'id="cite-mark-2-1"' in shown


@pytest.mark.parametrize("style", ["footnotes", "plain"])
@pytest.mark.parametrize("ending", ["a fence", "a table", "an open fence"])
def test_marks_stand_apart_from_a_block_that_can_hold_none(ending, style):
    shown = render_result(result_of(ENDINGS[ending], TWO), style=style)

    last = "```" if "fence" in ending else "| one | left |"
    marks = "[^1][^2]" if style == "footnotes" else "[1][2]"
    assert f"{last}\n\n{marks}\n\n" in shown


def test_an_audit_finds_every_page_cited():
    audit = audit_citations(result_of("Bees dance in a figure.", TWO))

    assert (1, 2, 2, (), (), ()) == (
        audit.markers,
        audit.citations,
        audit.cited_sources,
        audit.uncited,
        audit.unresolved,
        audit.mismatches,
    )


def test_an_audit_counts_what_the_vendor_is_unsure_of():
    result = result_of("Bees dance.", basis(cited(1), confidence="medium"))

    assert 1 == len(audit_citations(result).low_confidence)


def test_a_stored_body_is_read_without_sending():
    result = provider().read_body(chat_body("Bees dance.", TWO))

    assert result_of("Bees dance.", TWO) == result


def test_a_pinned_chat_stands_beside_the_vendors_default(monkeypatch):
    monkeypatch.setenv("PARALLEL_API_KEY", KEY)
    runtime = WebRuntime.from_env(search_provider="parallel-chat")

    assert "parallel-chat" == runtime.search_provider_id()
    ids = [s["id"] for s in runtime.describe() if s["capability"] == "search"]
    assert ["parallel", "parallel-chat"] == ids


def test_a_refused_key_is_told_in_the_vendors_words():
    with pytest.raises(ProviderError) as caught:
        ask(provider(), reply({"detail": [{"loc": ["body"], "msg": "bad"}]}, status=422))

    assert ("bad", 422) == (caught.value.message, caught.value.status_code)


def test_a_search_is_not_streamed():
    steps, _ = play(provider().search_flow(WebSearchRequest(query="q")), EMPTY_CHAT)

    assert "stream" not in sent_json(steps[0])
