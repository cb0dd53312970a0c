"""Rules by name, references by number, and the app's export form."""

from __future__ import annotations

import pytest

from dsh_web import InvalidRequestError, WebSearchSource
from dsh_web.citations import (
    CitationContract,
    contract_named,
    normalize_citations,
    references_of,
)


def test_an_unknown_contract_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidRequestError, match="perplexity-sonar/2026-06"):
        contract_named("perplexity-sonar/1999-01")


def test_a_contract_of_your_own_is_used_as_it_is() -> None:
    mine = CitationContract("mine/1", provider="mine", default_type="note")

    (record,) = normalize_citations("x[1]", ["https://x.example"], contract=mine)

    assert ("mine", "note", "https://x.example") == (
        record.provider,
        record.source_type,
        record.url,
    )


def test_sources_are_found_by_their_own_numbers_if_they_have_any() -> None:
    sources = [
        WebSearchSource(url="https://b.example", ids=(7, 9)),
        WebSearchSource(url="https://a.example", title="A", ids=(3,)),
    ]

    records = normalize_citations("x[3] y[9] z[1]", sources)

    assert ["https://a.example", "https://b.example", None] == [record.url for record in records]
    assert ["A", None, None] == [record.title for record in records]


def test_an_entry_without_an_address_still_takes_its_position() -> None:
    records = normalize_citations(
        "x[2] y[1]", [{"url": None, "title": "lost"}, {"url": "https://b.example", "title": "B"}]
    )

    assert [("B", True), (None, False)] == [(r.title, r.resolved) for r in records]


def test_two_sources_that_claim_one_number_are_not_told_apart_for_sure() -> None:
    sources = [
        WebSearchSource(url="https://a.example", ids=(1,)),
        WebSearchSource(url="https://b.example", ids=(1,)),
    ]

    assert "low" == references_of(sources)["web", 1].confidence


def test_something_that_is_no_source_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="int"):
        normalize_citations("x[1]", [1])  # type: ignore[list-item]


EXPORT = """Copper rose.[^1_1] Zinc fell.[^2_3][^2_9]

<span style="display:none">[^1_2]</span>
<div align="center">\u2042</div>

[^1_1]: https://one.example/a

[^2_3]: Third page - https://three.example
[^1_2]: https://two.example
"""


def test_an_export_resolves_by_its_own_definitions() -> None:
    records = normalize_citations(EXPORT, [], contract="perplexity-export/2026-10")

    assert ["[^1_1]", "[^2_3]", "[^2_9]"] == [record.raw_marker for record in records]
    assert ["https://one.example/a", "https://three.example", None] == [r.url for r in records]
    assert [None, "Third page", None] == [record.title for record in records]
    assert [(0, 1), (1, 3), (1, 9)] == [(r.answer_index, r.source_index) for r in records]
    assert ["Copper rose.", "Zinc fell.", "Zinc fell."] == [
        EXPORT[slice(*record.claim_span)] for record in records
    ]


def test_elsewhere_the_same_form_is_a_footnote() -> None:
    assert () == normalize_citations(EXPORT, ["https://x.example"])
