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
        (
            "\u0925\u094b\u0921\u093c\u093e \u092a\u093e\u0928\u0940",
            "\u092a\u093e\u0928\u0940 \u0939\u0948 \u0915\u0939\u093e\u0901",
            False,
        ),
        ("Jos\u00e9 \uff11\uff12 caf\u00e9s", "the cafe of Jose", False),
        ("It grew by 1,400 people", "Population 1.400", False),
        ("The roof is the one of them all", "Zinc mines close", False),
        (
            "Copper prices rose",
            "\u6771\u4eac\u306e\u5929\u6c17\u306f\u6674\u308c\u3067\u3059",
            False,
        ),
        (
            "Copper prices rose in the year that was the best for them",
            "Der Preis von Zink ist in dem Jahr nicht gestiegen und wird es auch nicht",
            False,
        ),
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
    assert [("markers/1", 2, 2), ("none", 1, 0)] == [
        (name, part.answers, part.citations) for name, part in total.by_contract.items()
    ]
    assert {"toy": 3} == {name: part.answers for name, part in total.by_provider.items()}
    assert total == summarize_audits([answer("Uno[1][7].", A), *audits[1:]])


def test_a_page_that_many_answers_cite_counts_once_over_all() -> None:
    total = summarize_audits([answer("Uno[1].", A), answer("Due[1][1][2].", A, B)])

    assert (4, 3, 2) == (total.citations, total.cited_sources, total.distinct_cited_sources)


def test_findings_say_where_they_are_and_what_they_support() -> None:
    (finding,) = audit_citations(answer("# Bees\r\n\r\nThey dance[9].", A)).unresolved

    assert (3, "They dance", "[9]") == (finding.line, finding.claim, finding.raw_marker)


def test_findings_behind_an_endless_sentence_stay_small() -> None:
    audit = audit_citations(answer(f"{'word ' * 20_000}{'[9]' * 2_000}", A))

    assert 2_000 == len(audit.unresolved)
    assert {500} == {len(finding.claim) for finding in audit.unresolved}


def test_pages_that_were_cut_from_the_list_are_named() -> None:
    whole = answer("Uno[1]. Due[2].", A, B)

    audit = audit_citations(whole.model_copy(update={"sources": whole.sources[:1]}))

    assert ((B,), 2, 1) == (audit.unlisted, audit.cited_sources, audit.sources)


def test_an_address_counts_as_a_link_only_as_a_whole() -> None:
    text = f"See ({A}deep/page), [b]({B})[c]({C}).\n\n[x]: https://d.example/"
    audit = audit_citations(answer(text, A, B, C, "https://d.example/"))

    assert ((A, "https://d.example/"), 2) == (audit.uncited, audit.linked_sources)


def test_sources_without_an_answer_are_not_unused() -> None:
    audit = audit_citations(WebSearchResult(provider="toy", sources=(WebSearchSource(url=A),)))

    assert ((), False) == (audit.uncited, audit.has_answer)


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
        f"Sources: [1] Alpha {A} [2] Beta {B}",
        f"**Sources**: {A}, {B}",
        f"## \U0001f4da Sources (2)\n1. Alpha\n   {A}\n2. Beta\n   {B}\n",
        f"\u53c2\u8003\u6587\u732e\uff1a\n1. [Alpha]({A})\n2. [Beta]({B})\n",
        f"Quellenangaben\n--------------\n(1) Alpha {A}\n(2) Beta {B}\n",
        f"### References\n\n| # | source | page |\n|---|---|---|\n| 1 | Alpha | {A} |\n| 2 | Beta | {B} |\n",
        f"[^1]: {A}\n[^2]: {B}\n",
        f"Sources\n1. Alpha: {A}\n   A word about it.\n2. Beta: {B}\n\nI hope this helps.",
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


def test_a_text_that_goes_on_after_its_list_is_read_to_the_end() -> None:
    result = read_markdown(f"Uno[1].\n\n## Sources\n1. {A}\n\n## More\n\nDue[1].\n")

    assert "Uno[1].\n\n## More\n\nDue[1].\n" == result.content
    assert [A, A] == [record.url for record in result.citations]


@pytest.mark.parametrize(
    ("item", "url", "title"),
    [
        ("[What is [X]?](https://x.example/a_(b))", "https://x.example/a_(b)", "What is [X]?"),
        ("[1](https://x.example/)", "https://x.example/", None),
        ("https://x.example/w_(b), read on Monday.", "https://x.example/w_(b)", "read on Monday"),
        ("(see https://x.example/)", "https://x.example/", "see"),
        ("**Bold** - <https://x.example/>", "https://x.example/", "Bold"),
    ],
)
def test_addresses_and_titles_are_told_apart(item: str, url: str, title: str | None) -> None:
    (source,) = read_markdown(f"Uno[1].\n\nSources:\n1. {item}\n").sources

    assert (url, title) == (source.url, source.title)


@pytest.mark.parametrize(
    "text",
    [
        "Uno[1].\n\nSources differ about it.\n",
        f"Uno[1].\n\n```\nSources:\n1. {A}\n```\n",
        f"Uno[1].\n\n1. First open {A} and then look for the button that says that you agree to it all.\n",
    ],
)
def test_what_only_looks_like_a_list_stays_text(text: str) -> None:
    result = read_markdown(text)

    assert (text, ()) == (result.content, result.sources)


def test_an_item_without_an_address_keeps_its_number() -> None:
    result = read_markdown(f"Uno[1]. Due[2].\n\nSources:\n- A book, 2020\n- {B}\n")

    assert [None, B] == [record.url for record in result.citations]


def test_sources_that_an_export_defines_and_never_cites_are_unused() -> None:
    text = (
        f"Uno.[^1_1] Due.[^2_1]\n\n"
        f'<span style="display:none">[^1_2]</span>\n\n[^1_1]: {A}\n\n[^1_2]: {B}\n\n[^2_1]: {C}\n'
    )

    audit = audit_citations(read_markdown(text))

    assert ((A, C), (B,), 0) == (audit.cited, audit.uncited, audit.linked_sources)


@pytest.mark.parametrize("line", ["Sources:", "Sources: (", "[1]", "1. ](https:/", "## Links ["])
def test_a_long_text_of_nearly_lists_is_read_in_time(line: str) -> None:
    text = f"{line}\n" * 40_000  # a hang is a failure: each line looked at once takes a second

    assert () == read_markdown(text).sources


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
