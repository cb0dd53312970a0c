"""Links that come with the answer, beside its markers."""

from __future__ import annotations

import pytest

from dsh_web.citations import Annotation, Citation, Reference, read_citations

REFERENCES = {
    ("web", 1): Reference("https://one.example", "One"),
    ("web", 7): Reference("https://seven.example", "Seven"),
}
CONTRACT = "perplexity-agent/2026-10"


def read(text: str, *notes: Annotation) -> tuple[Citation, ...]:
    return read_citations(text, REFERENCES, contract=CONTRACT, annotations=notes)


def test_an_annotation_that_covers_a_marker_says_where_it_leads() -> None:
    text = "It rose.[9] Then fell.[7]"
    note = Annotation("https://nine.example", "Nine", text.index("[9]"), text.index("[9]") + 3)

    nine, seven = read(text, note)

    assert ("https://nine.example", "Nine", 9, True) == (
        nine.url,
        nine.title,
        nine.source_index,
        nine.resolved,
    )
    assert "https://seven.example" == seven.url


def test_an_annotation_of_words_is_a_record_where_the_answer_has_no_markers() -> None:
    text = "Copper rose in May. Zinc fell."
    start = text.index("Zinc")
    note = Annotation("https://seven.example", None, start, len(text) - 1)

    (record,) = read(text, note, note)

    assert "Zinc fell" == text[slice(*record.claim_span)]
    assert (len(text) - 1, len(text) - 1) == record.marker_span
    assert ("", 7, "Seven") == (record.raw_marker, record.source_index, record.title)


def test_a_page_that_is_in_no_list_has_no_number() -> None:
    (record,) = read("Zinc fell.", Annotation("https://new.example", "New", 0, 9))

    assert (None, "https://new.example", True) == (record.source_index, record.url, record.resolved)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 0), (-3, 4), (5, 2), (4, 5), (0, 999), (1, 6), (0, 2)]
)
def test_offsets_that_fit_nothing_are_ignored(start: int, end: int) -> None:
    assert () == read("Zinc fell.", Annotation("https://one.example", None, start, end))


def test_words_are_not_cited_twice_where_markers_do_it() -> None:
    text = "Zinc fell.[7]"

    (record,) = read(text, Annotation("https://seven.example", None, 0, 9))

    assert "[7]" == record.raw_marker


@pytest.mark.parametrize(
    ("url", "confidence"), [("https://seven.example", "high"), ("https://other.example", "low")]
)
def test_an_annotation_that_contradicts_the_number_is_less_sure(url: str, confidence: str) -> None:
    text = "Zinc fell.[7]"

    (record,) = read(text, Annotation(url, None, 10, 13))

    assert (url, confidence) == (record.url, record.confidence)
