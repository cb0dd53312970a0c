"""Which number a source is shown by, and what is shown where there is no source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError
from dsh_web.citations import (
    CitationLedger,
    render_citations,
)
from dsh_web.citations.ledger import source_id

from .rendered import (
    HTML_STYLES,
    STYLES,
    links_in,
    page_of,
    read,
    record,
    shown,
)

# -- numbers -----------------------------------------------------------------------------------


def marks(rendered: str) -> list[str]:
    return [sup.text for sup in page_of(rendered).all("sup")]


def test_the_providers_numbers_are_kept():
    assert ["[3]", "[1]"] == marks(shown("b[3] a[1]", "html"))


def test_numbers_can_follow_the_order_of_first_use():
    assert ["[1]", "[2]", "[1]"] == marks(shown("b[3] a[1] c[3]", "html", numbering="first_use"))


def test_two_sources_with_one_number_are_shown_by_two():
    text = "a[1] b[file:1] c[1] d[2]"
    records = [
        record(text, "[1]", at=1),
        record(text, "[file:1]", source_type="file", url="https://f.example/"),
        record(text, "[1]", at=16, url="https://other.example/", answer_index=1),
        record(text, "[2]", 2, url="https://d.example/"),
    ]

    assert ["[1]", "[3]", "[4]", "[2]"] == marks(render_citations(text, records, style="html"))


def test_one_source_with_two_numbers_is_shown_by_the_first():
    text = "a[4] b[2]"
    records = [record(text, "[4]", 4), record(text, "[2]", 2)]

    assert ["[4]", "[4]"] == marks(render_citations(text, records, style="html"))


def test_a_source_without_a_number_gets_a_new_one():
    text = "Tea is a leaf. Water[5]."
    noted = record(text, "", None, at=14, url="https://n.example/")
    rendered = render_citations(text, [record(text, "[5]", 5), noted], style="plain")

    assert rendered.startswith("Tea is a leaf.[6] Water[5].\n")


def test_a_ledger_gives_its_numbers_and_titles():
    text = "a[1]"
    bare = record(text, "[1]")
    ledger = CitationLedger().with_citations(
        [record(text, "[1]", url="https://first.example/"), record(text, "[1]", title="Known")]
    )

    assert '[[2]](https://a.example/x "Known")' in render_citations(text, [bare], numbering=ledger)


def test_a_ledger_that_lacks_a_source_says_what_to_do():
    with pytest.raises(InvalidRequestError, match=r"no number for 'https://a.example/1'.*with_res"):
        shown("a[1]", numbering=CitationLedger())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["web", "file", "numeric"]),
            st.none() | st.integers(0, 4),
            st.none() | st.sampled_from(["https://a.example/", "https://b.example/", "ftp://c"]),
            st.integers(0, 2),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.sampled_from(["provider", "first_use", "ledger"]),
)
def test_sources_and_numbers_are_one_to_one_in_every_numbering(drawn, scheme):
    text = "[1]" * len(drawn)
    records = [
        record(text, "[1]", index, at=3 * position, source_type=kind, url=url, answer_index=answer, resolved=found)
        for position, (kind, index, url, answer, found) in enumerate(drawn)
    ]  # fmt: skip
    numbering = CitationLedger().with_citations(records) if scheme == "ledger" else scheme
    rendered = render_citations(text, records, style="plain", numbering=numbering)  # type: ignore[arg-type]

    shown_marks = rendered.split("\n")[0].removeprefix("[").removesuffix("]").split("][")
    pairs = {(source_id(r), mark) for r, mark in zip(records, shown_marks, strict=False)}
    resolved = {(identity, mark) for identity, mark in pairs if identity is not None}
    assert len({identity for identity, _ in resolved}) == len(resolved)
    assert len({mark for _, mark in resolved}) == len(resolved)
    assert all(mark.endswith("?") for identity, mark in pairs if identity is None)


# -- markers that lead nowhere -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "label"),
    [("[9]", "[9?]"), ("[web:9]", "[9?]"), ("[file:3]", "[file:3?]"), ("[1, 9]", "[1][9?]"), ("[0]", "[0?]")],
)  # fmt: skip
def test_a_number_without_a_source_is_shown_as_such(marker, label):
    assert shown(f"Tea{marker}.", "plain").startswith(f"Tea{label}.\n")
    for style in HTML_STYLES:
        assert f"Tea{label}." in page_of(shown(f"Tea{marker}.", style)).text


@pytest.mark.parametrize("style", ["markdown", "footnotes", *HTML_STYLES])
def test_a_number_without_a_source_is_never_linked(style):
    text = (
        "Tea[9]: x\n\n[8]: y\n\n[8?]: https://evil.example/\n\n[1]: https://evil.example/\n\n[7][1]"
    )
    rendered = shown(text, style, source_list="cited")
    links = (
        [a.text for a in page_of(rendered).all("a")]
        if style in HTML_STYLES
        else [link.text for link in links_in(rendered)]
    )

    assert [] == [text for text in links if "?" in text]
    assert "question mark" in rendered


def test_in_html_text_tells_a_missing_source_not_colour_alone():
    page = page_of(shown("Tea[9].", "html"))
    [mark] = page.all("sup")

    assert "[9?]" == mark.text
    assert "No source has this number" == mark.attributes["title"]
    assert "A question mark stands behind a number" in page.text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//x.example",
        "https://",
        " https://a.example",
        "http:x",
        "https://[::",
    ],
)
@pytest.mark.parametrize("style", STYLES)
def test_only_web_addresses_become_links(url, style):
    text = "Tea[1]."
    rendered = render_citations(
        text, [record(text, "[1]", url=url, title="# www.evil.example me@evil.example")], style=style, source_list="cited"
    )  # fmt: skip

    if style in HTML_STYLES:
        assert [] == page_of(rendered).all("a")
        assert "Tea[1]." in page_of(rendered).text
    elif style != "plain":
        assert [] == links_in(rendered)
        assert () == read(rendered)
