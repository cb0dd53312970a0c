"""Numbers that never move: one source, one number, over any number of answers."""

from __future__ import annotations

import pickle
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError, WebSearchResult, WebSearchSource
from dsh_web.citations import Citation, CitationLedger, LedgerEntry, normalize_citations

from .rendered import record

A, B, C, D = (f"https://{letter}.example/" for letter in "abcd")


def answer(text: str, *urls: str, provider: str = "p") -> WebSearchResult:
    sources = tuple(WebSearchSource(url=url) for url in urls)
    citations = normalize_citations(text, sources, provider=provider)
    return WebSearchResult(content=text, citations=citations, sources=sources, provider=provider)


def ledger_of(*urls: str) -> CitationLedger:
    return CitationLedger().with_citations(cited(*urls))


def cited(*urls: str) -> list[Citation]:
    text = "[1]" * len(urls)
    return [record(text, "[1]", at=3 * place, url=url) for place, url in enumerate(urls)]


def numbers(ledger: CitationLedger) -> dict[str | None, int]:
    return {entry.url: entry.number for entry in ledger.entries}


# -- adding ------------------------------------------------------------------------------------


def test_a_source_keeps_its_number_from_answer_to_answer():
    ledger = CitationLedger()
    ledger = ledger.with_result(answer("x[2] y[1]", A, B))
    ledger = ledger.with_result(answer("x[1] y[2] z[3]", C, A, D))

    assert {B: 1, A: 2, C: 3, D: 4} == numbers(ledger)


def test_sources_are_numbered_in_text_order_whatever_the_order_of_the_records():
    assert numbers(ledger_of(A, B)) == numbers(CitationLedger().with_citations(cited(A, B)[::-1]))


def test_adding_gives_another_ledger_and_leaves_the_first():
    empty = CitationLedger()
    empty.with_result(answer("x[1]", A))

    assert () == empty.entries


def test_adding_a_result_again_changes_nothing():
    result = answer("x[1] y[3] z[9]", A, B, C)
    once = CitationLedger().with_result(result, include_uncited=True)

    assert once == once.with_result(result) == once.with_result(result, include_uncited=True)


def test_sources_that_are_not_cited_follow_only_on_request():
    result = answer("x[3]", A, B, C)

    assert {C: 1} == numbers(CitationLedger().with_result(result))
    everything = CitationLedger().with_result(result, include_uncited=True)
    assert {C: 1, A: 2, B: 3} == numbers(everything)
    assert 4 == everything.with_citations(cited(D)).number_of(D)


def test_markers_that_lead_nowhere_take_no_number():
    ledger = CitationLedger().with_result(answer("x[7] y[file:1] z[1]", A))

    assert {A: 1} == numbers(ledger)
    assert [None, None, 1] == [
        ledger.number_of(found) for found in answer("x[7] y[file:1] z[1]", A).citations
    ]


def test_addresses_are_compared_as_text():
    ledger = ledger_of("https://a.example", "https://a.example/", "https://a.example/#x")

    assert [1, 2, 3] == [entry.number for entry in ledger.entries]


@pytest.mark.parametrize(
    "other",
    [
        {"provider": "q"},
        {"source_type": "file"},
        {"index": 2},
        {"answer_index": 1},
        {"title": "Other"},
    ],
)
def test_sources_without_an_address_are_told_apart_by_what_they_are(other):
    first = record("[1]", "[1]", url=None, resolved=True)
    ledger = CitationLedger().with_citations([first, first])
    second = record("[1]", "[1]", other.pop("index", 1), url=None, resolved=True, **other)
    ledger = ledger.with_citations([second])

    assert (1, 2) == (ledger.number_of(first), ledger.number_of(second))


def test_an_entry_says_who_named_the_source_first_and_how():
    first = record("[4]", "[4]", 4, url=A, provider="first", source_type="web")
    again = record("[1]", "[1]", 1, url=A, provider="second")
    [entry] = CitationLedger().with_citations([first]).with_citations([again]).entries

    assert LedgerEntry(number=1, provider="first", source_index=4, url=A) == entry


def test_a_title_is_kept_and_filled_in_when_one_is_known():
    ledger = ledger_of(A)
    for title, expected in ((None, None), ("First", "First"), ("Second", "First")):
        ledger = ledger.with_citations([record("[1]", "[1]", url=A, title=title)])
        assert expected == ledger.entries[0].title


def test_merging_fills_in_a_title_too():
    named = CitationLedger().with_citations([record("[1]", "[1]", url=A, title="Known")])

    assert "Known" == ledger_of(A, B).merge(named).entries[0].title
    assert "Known" == named.merge(ledger_of(A)).entries[0].title


# -- merging -----------------------------------------------------------------------------------


def test_merging_keeps_numbers_of_the_other_where_they_are_free():
    common = ledger_of(A)
    left = common.with_citations(cited(B))
    right = common.with_citations(cited(C)).with_citations(cited(D))

    assert {A: 1, B: 2, C: 4, D: 3} == numbers(left.merge(right))


def test_a_number_is_looked_up_by_address_or_record():
    ledger = ledger_of(A, B)

    assert (2, 2, None) == (ledger.number_of(B), ledger.number_of(cited(B)[0]), ledger.number_of(C))


urls = st.lists(st.sampled_from([f"https://{n}.example/" for n in range(8)]), max_size=6)
ledgers = st.lists(urls, max_size=3).map(
    lambda batches: reduce(
        lambda ledger, batch: ledger.merge(ledger_of(*batch)), batches, CitationLedger()
    )
)


def moved(before: CitationLedger, after: CitationLedger) -> list[LedgerEntry]:
    return [e for e in before.entries if after.number_of(e.url or "") != e.number]


@given(ledgers, ledgers)
def test_merging_moves_no_number_and_loses_no_source(left, right):
    merged = left.merge(right)

    assert [] == moved(left, merged)
    assert {e.id for e in merged.entries} == {e.id for e in (*left.entries, *right.entries)}
    taken = {entry.number for entry in left.entries}
    new = [entry for entry in right.entries if left.number_of(entry.url or "") is None]
    assert [e.url for e in merged.entries] == [e.url for e in (*left.entries, *new)]
    assert [] == [
        e for e in new if e.number not in taken and merged.number_of(e.url or "") != e.number
    ]


@given(ledgers, ledgers)
def test_merging_again_changes_nothing(left, right):
    merged = left.merge(right)

    assert merged == merged.merge(right) == merged.merge(left) == merged.merge(merged)


@given(ledgers, urls)
def test_adding_moves_no_number_and_keeps_the_order(ledger, more):
    grown = ledger.with_citations(cited(*more))

    assert [] == moved(ledger, grown)
    assert grown.entries[: len(ledger.entries)] == ledger.entries
    added = [e.url for e in grown.entries[len(ledger.entries) :]]
    assert added == [url for url in dict.fromkeys(more) if ledger.number_of(url) is None]
    assert grown == grown.with_citations(cited(*more))


@given(ledgers, ledgers)
def test_numbers_and_sources_are_one_to_one(left, right):
    entries = left.merge(right).entries

    assert len(entries) == len({e.number for e in entries}) == len({e.id for e in entries})


@given(ledgers)
def test_a_ledger_survives_json_and_pickle(ledger):
    assert ledger == CitationLedger.model_validate_json(ledger.model_dump_json())
    assert ledger == CitationLedger.model_validate(ledger.model_dump(mode="json"))
    assert ledger == pickle.loads(pickle.dumps(ledger))


# -- stored ledgers ----------------------------------------------------------------------------


def test_fields_of_a_later_version_are_ignored():
    stored = {"entries": [{"number": 1, "provider": "p", "url": A, "colour": "red"}], "schema": 9}

    assert 1 == CitationLedger.model_validate(stored).number_of(A)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(1, A), (1, B)], "a number stands in the ledger twice"),
        ([(1, A), (2, A)], "a source stands in the ledger twice"),
        ([(0, A)], r"entries\.0\.number"),
    ],
)
def test_a_stored_ledger_that_contradicts_itself_is_refused(entries, message):
    stored = {"entries": [{"number": n, "provider": "p", "url": url} for n, url in entries]}

    with pytest.raises(InvalidRequestError, match=message):
        CitationLedger.model_validate(stored)
