"""What there is to say of an answer's citations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import WebSearchResult, WebSearchSource
from dsh_web.citations import (
    CitationAudit,
    audit_citations,
    read_markdown,
    summarize_audits,
    with_citations,
)

A, B, C = (f"https://{name}.example/" for name in "abc")


def answer(content: str, *sources: WebSearchSource | str, **fields: Any) -> WebSearchResult:
    listed = tuple(
        source if isinstance(source, WebSearchSource) else WebSearchSource(url=source, title="T")
        for source in sources
    )
    return with_citations(
        WebSearchResult(**{"provider": "toy", "content": content, "sources": listed, **fields})
    )


def test_places_records_and_pages_are_counted_apart() -> None:
    audit = audit_citations(answer("Uno[1, 2]. Due[1][1]. Tre[9].", A, B, C), name="x")

    assert (4, 5, 3, 2) == (audit.markers, audit.citations, audit.sources, audit.cited_sources)
    assert ["[9]"] == [record.raw_marker for record in audit.unresolved]
    assert (C,) == audit.uncited
    assert {"numeric": 5} == audit.source_types
    assert not audit.is_complete


def test_repeats_and_missing_titles_are_listed() -> None:
    audit = audit_citations(answer("Uno[1].", A, A, WebSearchSource(url=B)))

    assert ((A,), (B,), (B,)) == (audit.duplicated_urls, audit.missing_titles, audit.uncited)


def test_a_link_in_the_text_uses_a_source_without_a_marker() -> None:
    audit = audit_citations(answer(f"See [there]({A}).", A, B))

    assert (0, 1, (B,)) == (audit.citations, audit.linked_sources, audit.uncited)


@pytest.mark.parametrize(
    ("claim", "snippet", "is_hint"),
    [
        ("Copper prices rose", "Zinc mines close again", True),
        ("Copper prices rose", "The price of COPPER", False),
        ("It grew by 1,400 people", "Population 1,400", False),
        ("\u6771\u4eac\u306e\u4eba\u53e3", "\u6771\u4eac\u90fd\u306e\u6982\u8981", False),
        ("\u6771\u4eac\u306e\u4eba\u53e3", "\u5927\u962a\u306e\u5929\u6c17", True),
        ("Copper prices rose", None, False),
        ("Of the and", "Zinc", False),
    ],
)
def test_a_claim_that_shares_no_word_with_its_source_is_a_hint(
    claim: str, snippet: str | None, is_hint: bool
) -> None:
    source = WebSearchSource(url=A, title="Page", snippet=snippet)
    audit = audit_citations(answer(f"{claim}[1].", source))

    assert ([(claim, A)] if is_hint else []) == [(m.claim, m.url) for m in audit.mismatches]


def test_totals_add_up_and_name_answers_that_cite_nothing() -> None:
    audits = [
        audit_citations(answer("Uno[1][7].", A)),
        audit_citations(answer("Nothing.", A, B)),
        audit_citations(WebSearchResult(provider="toy", sources=(WebSearchSource(url=A),))),
    ]

    total = summarize_audits(audits)

    assert (3, 2, 2, 1, 1) == (
        total.answers,
        total.markers,
        total.citations,
        total.unresolved,
        total.cited_sources,
    )
    assert 1 == total.answers_without_citations
    assert {"markers/1": 2, "none": 1} == total.contracts


def test_an_audit_round_trips_through_json() -> None:
    audit = audit_citations(answer("Uno[1][7].", A, B))

    assert audit == CitationAudit.model_validate_json(audit.model_dump_json())


# -- Markdown with a list of sources -----------------------------------------------------------


@pytest.mark.parametrize(
    "listing",
    [
        f"## Sources\n1. [Alpha]({A})\n2. [Beta]({B})\n",
        f"**Sources:**\n\n1. Alpha - {A}\n2. Beta: {B}\n",
        f"References\n[1] Alpha {A}\n[2] Beta ({B})\n",
        f"Quellen:\n- [1] Alpha: {A}\n- [2] Beta: {B}\n",
        f'[1]: {A} "Alpha"\n[2]: {B} "Beta"\n',
        f"1. [Alpha]({A})\n2. [Beta]({B})",
        f"# Sources\n* [Alpha]({A})\n* [Beta]({B})\n\n# Appendix\n\nMore.",
        f"Citations:\n[1] {A}\n[2] {B}\n",
    ],
)
def test_usual_lists_of_sources_are_read(listing: str) -> None:
    result = read_markdown(f"Uno[1]. Due[2].\n\n{listing}")

    assert [A, B] == [source.url for source in result.sources]
    assert {source.title for source in result.sources} in ({"Alpha", "Beta"}, {None})
    assert [("[1]", A), ("[2]", B)] == [(r.raw_marker, r.url) for r in result.citations]


def test_numbers_of_a_list_count_not_its_order() -> None:
    result = read_markdown(f"Uno[7].\n\nSources:\n\n[9] {A}\n[7] {B}\n")

    assert [B] == [record.url for record in result.citations]


def test_footnotes_bring_their_own_sources() -> None:
    result = read_markdown(f"Uno.[^1] Due.[^2]\n\n[^1]: Alpha {A}\n[^2]: a note\n")

    assert [(A, True), (None, False)] == [(r.url, r.resolved) for r in result.citations]
    assert "footnotes/1" == result.citation_contract


def test_an_export_of_the_app_is_read_by_its_own_contract() -> None:
    result = read_markdown(f"Uno.[^1_1]\n\n[^1_1]: {A}\n")

    assert ("perplexity-export/2026-10", A) == (
        result.citation_contract,
        result.citations[0].url,
    )


def test_text_without_a_list_has_markers_without_sources() -> None:
    result = read_markdown("Uno[1].\n\n1. first step\n2. second step\n")

    assert ((), [False]) == (result.sources, [record.resolved for record in result.citations])
    assert (result.content or "").endswith("second step\n")


@given(
    st.lists(
        st.sampled_from(
            [
                "Sources:",
                "## References",
                "1. ",
                "[1] ",
                "[^1]: ",
                "- ",
                f"<{A}>",
                f"[x]({B})",
                "\n",
            ]
        )
        | st.text(max_size=6),
        max_size=25,
    ).map("".join)
)
def test_any_markdown_is_read(text: str) -> None:
    audit_citations(read_markdown(text))
