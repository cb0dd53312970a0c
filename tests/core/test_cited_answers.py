"""What the markers of each provider's answers lead to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
)
from dsh_web.citations import (
    CitationContract,
    normalize_citations,
    read_again,
    with_citations,
)
from dsh_web.merge import cap_sources, merge_results
from tests.core.perplexity import KEY, agent_body, ask, found, page, said, search_body, sonar_body
from tests.flows import frames, play_stream, reply

ONE, TWO, THREE = (f"https://site{number}.example/" for number in (1, 2, 3))


def agent(*items: object, **fields: Any) -> WebSearchResult:
    provider = PerplexityAgentProvider(api_key=KEY)
    return ask(provider, reply(agent_body(*items, **fields)))[1]


def sonar(content: object, **fields: Any) -> WebSearchResult:
    return ask(PerplexitySonarProvider(api_key=KEY), reply(sonar_body(content, **fields)))[1]


def links(result: WebSearchResult) -> list[tuple[str, str | None]]:
    return [(record.raw_marker, record.url) for record in result.citations]


def fetched(*pages: object) -> dict[str, Any]:
    return {"type": "fetch_url_results", "contents": list(pages)}


# -- Agent -------------------------------------------------------------------------------------


def test_an_agent_marker_is_the_id_of_a_result_wherever_it_stands() -> None:
    result = agent(found(page(3), page(1)), found(page(7, TWO)), said("A.[7] B[web:3], C[2]."))

    assert [("[7]", TWO), ("[web:3]", THREE), ("[2]", None)] == links(result)
    assert {"web"} == {record.source_type for record in result.citations}
    assert "perplexity-agent/2026-10" == result.citation_contract
    assert ("Title 7", "perplexity") == (result.citations[0].title, result.citations[0].provider)


def test_results_without_ids_are_not_numbered_by_their_place() -> None:
    nameless = {"url": ONE, "title": "One"}

    assert [("[1]", None)] == links(agent(found(nameless), said("A.[1]")))


def test_a_page_that_was_found_twice_answers_to_both_its_numbers() -> None:
    result = agent(found(page(1, ONE), page(2), page(5, ONE)), said("A[1] B[5]."))

    assert [("[1]", ONE), ("[5]", ONE)] == links(result)


def test_a_number_of_two_pages_leads_to_the_first_without_certainty() -> None:
    result = agent(found(page(1, ONE)), found(page(1, TWO)), said("A[1]."))

    assert [("[1]", ONE)] == links(result)
    assert "low" == result.citations[0].confidence


def test_a_run_that_only_fetched_counts_its_pages_from_zero() -> None:
    pages = fetched({"url": ONE, "title": "One"}, {"url": None}, {"url": THREE, "title": " "})
    result = agent(pages, said("A[web:0], B[web:2], C[web:1]."))

    assert [("[web:0]", ONE), ("[web:2]", THREE), ("[web:1]", None)] == links(result)
    assert ["low", "low", "high"] == [record.confidence for record in result.citations]
    assert ["One", None, None] == [record.title for record in result.citations]


def test_a_search_that_found_nothing_leaves_the_pages_to_count() -> None:
    result = agent(found(), fetched({"url": ONE}, {"url": TWO}), said("A[web:1]."))

    assert [("[web:1]", TWO)] == links(result)


def test_beside_results_only_zero_means_a_page() -> None:
    result = agent(
        found(page(1, ONE)), fetched({"url": TWO}, {"url": THREE}), said("A[0] B[1] C[2].")
    )

    assert [("[0]", TWO), ("[1]", ONE), ("[2]", None)] == links(result)


def test_annotations_point_into_their_own_part_of_the_text() -> None:
    second = {
        "type": "output_text",
        "text": "B.[9]",
        "annotations": [
            {"type": "url_citation", "url": TWO, "title": "T", "start_index": 2, "end_index": 5},
            {"type": "url_citation", "url": TWO, "start_index": 2, "end_index": 50},
            {"type": "url_citation", "url": THREE, "start_index": -4, "end_index": -1},
            {"type": "url_citation", "url": "javascript:x", "start_index": 2, "end_index": 5},
            {"type": "url_citation", "url": TWO, "start_index": "2", "end_index": None},
        ],
    }
    message = said("A.[1] ")
    message["content"].append(second)

    result = agent(found(page(1, ONE)), message)

    assert [("[1]", ONE), ("[9]", TWO)] == links(result)
    assert "T" == result.citations[1].title


# -- Sonar -------------------------------------------------------------------------------------


def test_a_sonar_marker_is_a_place_in_the_flat_list_with_titles_of_the_rich_one() -> None:
    result = sonar(
        "A[1] B[2] C[3].",
        citations=[TWO, ONE, "https://missing.example/"],
        search_results=[{"url": ONE, "title": "One"}, {"url": TWO, "title": "Two"}],
    )

    assert [("[1]", TWO), ("[2]", ONE), ("[3]", "https://missing.example/")] == links(result)
    assert ["Two", "One", None] == [record.title for record in result.citations]
    assert "perplexity-sonar/2026-06" == result.citation_contract


def test_a_title_is_that_of_the_entry_itself_if_it_has_one() -> None:
    rich = [{"url": ONE, "title": "Cached"}, {"url": ONE, "title": "Live"}]

    titles = [record.title for record in sonar("A[1] B[2].", search_results=rich).citations]

    assert ["Cached", "Live"] == titles


def test_white_space_around_an_address_separates_no_source_from_its_number() -> None:
    result = sonar("A[1].", citations=[f" {ONE}"], search_results=[{"url": ONE, "title": "One"}])

    assert [("[1]", ONE)] == links(result)
    assert (1,) == result.sources[0].ids


def test_a_gateway_that_kept_only_annotations_has_numbers_and_titles() -> None:
    notes = [
        {"type": "url_citation", "url_citation": {"url": ONE, "title": "One", "start_index": 0}},
        {"type": "url_citation", "url_citation": {"url": None}},
        {"type": "url_citation", "url_citation": {"url": TWO, "title": "Two", "end_index": 0}},
    ]
    body = sonar_body("A[1] B[2] C[3].")
    body["choices"][0]["message"]["annotations"] = notes

    for more in ({}, {"citations": [ONE, None, TWO]}):
        result = ask(PerplexitySonarProvider(api_key=KEY), reply({**body, **more}))[1]

        assert [("[1]", ONE), ("[2]", None), ("[3]", TWO)] == links(result)
        assert ["One", None, "Two"] == [record.title for record in result.citations]


@pytest.mark.parametrize("citations", [None, []])
def test_without_a_flat_list_it_is_a_place_in_the_rich_one(citations: object) -> None:
    rich = [{"url": None, "title": "lost"}, {"url": TWO, "title": "Two"}]
    result = sonar("A[1] B[2].", citations=citations, search_results=rich)

    assert [("[1]", None), ("[2]", TWO)] == links(result)


def test_an_entry_that_is_no_address_still_takes_its_number() -> None:
    assert [("[1]", None), ("[2]", None), ("[3]", THREE)] == links(
        sonar("A[1] B[2] C[3].", citations=[None, "not an address", THREE])
    )


def test_a_structured_answer_holds_no_citations() -> None:
    assert () == sonar('{"ranks": [1]}', citations=[ONE]).citations


def test_the_search_api_has_no_answer_to_cite() -> None:
    result = ask(PerplexitySearchProvider(api_key=KEY), reply(search_body(page(1))))[1]

    assert ((), None) == (result.citations, result.citation_contract)


# -- streams -----------------------------------------------------------------------------------

TEXT = "Tea[1][2], salt[web:1, web:7].\n\n- `a[1]`\n- Rye[2]"
PIECES = st.lists(st.integers(0, len(TEXT)), max_size=8).map(
    lambda cuts: [
        TEXT[start:end]
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(TEXT)], strict=True)
    ]
)


@given(PIECES)
def test_a_marker_that_a_stream_cuts_is_read_once(pieces: list[str]) -> None:
    pages = found(page(1, ONE), page(2, TWO))
    whole = agent_body(pages, said(TEXT))
    run = [
        {"type": "response.output_item.done", "output_index": 0, "item": pages},
        *({"type": "response.output_text.delta", "delta": piece} for piece in pieces),
        {"type": "response.completed", "response": whole},
    ]
    lists = {"citations": [ONE, TWO]}
    chat = [
        *({"choices": [{"index": 0, "delta": {"content": piece}}], **lists} for piece in pieces),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], **lists},
    ]

    for provider, sent, unstreamed in (
        (PerplexityAgentProvider(api_key=KEY), run, agent(pages, said(TEXT))),
        (PerplexitySonarProvider(api_key=KEY), chat, sonar(TEXT, **lists)),
    ):
        result = play_stream(provider.stream_flow(WebSearchRequest(query="q")), frames(*sent))
        assert result.result is not None
        assert unstreamed.citations == result.result.citations
        assert 5 == len(result.result.citations)


# -- any provider ------------------------------------------------------------------------------


def answer(content: str, *urls: str, **fields: Any) -> WebSearchResult:
    sources = [WebSearchSource(url=url) for url in urls]
    return WebSearchResult(**{"provider": "toy", "content": content, "sources": sources, **fields})


def test_an_answer_that_nothing_has_read_is_read_by_the_neutral_contract() -> None:
    result = with_citations(answer("A[2] B[3].", ONE, TWO))

    assert [("[2]", TWO), ("[3]", None)] == links(result)
    assert ("markers/1", "toy") == (result.citation_contract, result.citations[0].provider)


def test_an_answer_that_its_provider_has_read_is_left_alone() -> None:
    result = answer("A[1].", ONE, citation_contract="toy/1")

    assert with_citations(result) is result


def test_records_stay_when_the_sources_are_cut() -> None:
    result = cap_sources(with_citations(answer("A[2].", ONE, TWO)), 1)

    assert [ONE] == [source.url for source in result.sources]
    assert [("[2]", TWO)] == links(result)
    assert result.citations == read_again(result).citations


def test_joined_answers_keep_their_own_numbers() -> None:
    first = with_citations(answer("Uno[1].", ONE))
    silent = answer("", THREE)
    second = with_citations(answer("Due[1], tre[2].", TWO, THREE))

    merged = merge_results(["a", "b", "c"], [first, silent, second], None)
    content = merged.content or ""

    assert [("[1]", ONE), ("[1]", TWO), ("[2]", THREE)] == links(merged)
    assert [0, 1, 1] == [record.answer_index for record in merged.citations]
    assert ["[1]", "[1]", "[2]"] == [content[slice(*r.marker_span)] for r in merged.citations]
    assert ["Uno", "Due", "tre"] == [content[slice(*r.claim_span)] for r in merged.citations]
    assert ["Uno[1].", "Due[1], tre[2]."] == [content[slice(*s)] for s in merged.answer_spans]
    assert 3 == len({record.key for record in merged.citations})
    assert "markers/1" == merged.citation_contract


@pytest.mark.parametrize("contract", [None, "markers/1", "perplexity-sonar/2026-06"])
def test_reading_again_changes_nothing_that_matters(contract: str | None) -> None:
    merged = merge_results(
        ["a", "b"],
        [with_citations(answer("A[1][9].", ONE)), with_citations(answer("B[web:1].", TWO))],
        1,
    )

    again = read_again(merged, contract=contract)

    assert links(merged) == links(again)
    assert [r.marker_span for r in merged.citations] == [r.marker_span for r in again.citations]
    assert again == read_again(again)
    if contract is None:
        assert merged == again


def test_what_annotations_said_survives_reading_again() -> None:
    message = said("Zinc fell. Copper rose.[4]")
    message["content"][0]["annotations"] = [
        {"type": "url_citation", "url": TWO, "start_index": 23, "end_index": 26}
    ]
    marked = agent(found(page(4, ONE)), message)
    words = said("Zinc fell.")
    words["content"][0]["annotations"] = [
        {"type": "url_citation", "url": TWO, "start_index": 0, "end_index": 9}
    ]
    unmarked = agent(found(page(4, ONE)), words)

    assert [("[4]", TWO)] == links(marked)
    assert [("", TWO)] == links(unmarked)
    assert marked == read_again(marked)
    assert unmarked == read_again(unmarked)


def test_a_contract_of_your_own_reads_again_too() -> None:
    mine = CitationContract("mine/2", default_type="note")
    result = read_again(with_citations(answer("A[1].", ONE)), contract=mine)

    assert [("note", ONE)] == [(record.source_type, record.url) for record in result.citations]
    assert "mine/2" == result.citation_contract


def annotated(text: str, url: str, start: int, end: int) -> dict[str, Any]:
    """Return a message with one annotation."""
    message = said(text)
    message["content"][0]["annotations"] = [
        {"type": "url_citation", "url": url, "start_index": start, "end_index": end}
    ]
    return message


@pytest.mark.parametrize(
    "result",
    [
        agent(fetched({"url": ONE}), said("A[web:0] B[web:1].")),
        agent(fetched({"url": ONE}, {"url": TWO}), said("A[web:0] B[web:1].")),
        agent(found({"url": ONE, "title": "No id"}), said("A[1].")),
        agent(found(page(1, ONE)), found(page(1, TWO)), said("A[1].")),
        agent(found(page(1, ONE)), annotated("A[9] B[9].", TWO, 1, 4)),
        agent(found(page(9, ONE)), annotated("A[9] B[9] C[9,9].", TWO, 1, 4)),
        agent(found(page(4, ONE)), annotated("Zinc fell.", ONE, 0, 9)),
        agent(found(page(4, ONE)), annotated("Zinc fell. Iron rose.[5]", ONE, 0, 9)),
        sonar("A[1][2].", citations=[ONE], search_results=[{"url": TWO}, {"url": THREE}]),
        sonar("A[1-3], in [2019].", citations=[ONE, TWO, THREE]),
        sonar('{"ranks": [1]}', citations=[ONE]),
    ],
    ids=lambda result: repr(result.content),
)
@pytest.mark.parametrize("most", [None, 0])
def test_a_vendors_answer_reads_again_to_the_same_records(
    result: WebSearchResult, most: int | None
) -> None:
    kept = WebSearchResult.model_validate_json(cap_sources(result, most).model_dump_json())

    assert result.citations == read_again(kept).citations
    assert links(result) == links(read_again(kept, contract="markers/1"))


PIECE = st.sampled_from(
    [
        "Tea",
        " ",
        ". ",
        "[1]",
        "[2]",
        "[web:0]",
        "[web:1]",
        "[1, 2]",
        "[1-2]",
        "[9]",
        "[file:1]",
        "[2019]",
        "`",
        "```\n",
        "\n\n",
        "- ",
        "$",
        "<think>",
        "{",
        "}",
        "[1](https://a.example)",
    ]
)
NOTES = st.lists(
    st.tuples(st.sampled_from([ONE, TWO, THREE]), st.integers(-2, 30), st.integers(-2, 30)),
    max_size=3,
)


@given(
    st.lists(PIECE, max_size=14).map("".join),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([ONE, TWO])), max_size=3),
    st.booleans(),
    NOTES,
    st.none() | st.integers(0, 2),
)
def test_reading_any_answer_again_changes_nothing(
    text: str,
    results: list[tuple[int, str]],
    has_pages: bool,
    notes: list[tuple[str, int, int]],
    most: int | None,
) -> None:
    message = said(text)
    message["content"][0]["annotations"] = [
        {"url": url, "start_index": start, "end_index": end} for url, start, end in notes
    ]
    items = [found(*(page(number, url) for number, url in results)), message]
    if has_pages:
        items.insert(0, fetched({"url": THREE}))
    result = cap_sources(agent(*items), most)
    merged = merge_results(["p", "q"], [result, result], most)

    assert result.citations == read_again(result).citations
    assert merged.citations == read_again(merged).citations


def test_numbers_that_the_text_defines_are_not_taken_for_those_of_the_sources() -> None:
    text = "Uno[1-2] due.[^2] tre.[^1]\n\n[^1]: https://note.example/"
    records = normalize_citations(text, [ONE, TWO], contract="footnotes/1", provider="toy")
    result = answer(text, citations=records, citation_contract="footnotes/1")

    assert result == read_again(result)


def test_a_result_without_an_answer_has_nothing_to_read_again() -> None:
    result = WebSearchResult(provider="toy", sources=(WebSearchSource(url=ONE),))

    assert result == read_again(result)
