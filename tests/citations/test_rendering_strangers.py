"""Titles, addresses and answers by strangers add nothing to what is rendered."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsh_web import WebSearchSource
from dsh_web.citations import (
    Citation,
    render_citations,
)

from .rendered import (
    COMMONMARK,
    HTML_STYLES,
    NASTY,
    NASTY_URLS,
    SOURCES,
    STYLES,
    links_in,
    page_of,
    read,
    shown,
)

# -- what strangers wrote ----------------------------------------------------------------------

TEXT = "Tea is a leaf[1], it `x` is <b [1] brewed | with $5 water![2][1]"


def hostile(url: str, title: str) -> tuple[str, tuple[Citation, ...]]:
    sources = [WebSearchSource(url=url, title=title), WebSearchSource(url="https://b.example/2")]
    return TEXT, read(TEXT, sources)


@pytest.mark.parametrize("url", NASTY_URLS)
def test_no_title_or_address_adds_a_link_to_markdown(url):
    for title in NASTY:
        text, records = hostile(url, title)
        rendered = render_citations(text, records, source_list="cited")
        links = links_in(rendered)

        hosts = {link.href.split("/")[2] for link in links}
        assert {"a.example", "b.example"} == hosts
        assert len(records) + 2 == len(links)
        assert () == read(rendered)


@pytest.mark.parametrize("url", NASTY_URLS)
def test_no_title_or_address_adds_anything_to_footnotes(url):
    for title in NASTY:
        text, records = hostile(url, title)
        rendered = render_citations(text, records, style="footnotes")
        links = links_in(rendered.replace("[^1]: ", "").replace("[^2]: ", ""))

        assert ["a.example", "b.example"] == [link.href.split("/")[2] for link in links]
        assert len(text.splitlines()) + 3 == len(rendered.splitlines())
        assert () == read(rendered)


@pytest.mark.parametrize("style", HTML_STYLES)
@pytest.mark.parametrize("url", NASTY_URLS)
def test_no_title_or_address_adds_anything_to_html(style, url):
    for title in NASTY:
        text, records = hostile(url, title)
        page = page_of(render_citations(text, records, style=style))
        plain = page_of(render_citations(*hostile("https://a.example/x", "t"), style=style))

        assert [e.tag for e in plain.elements] == [e.tag for e in page.elements]
        assert [sorted(e.attributes) for e in plain.elements] == [
            sorted(e.attributes) for e in page.elements
        ]
        for link in page.all("a"):
            assert (link.attributes["href"] or "").startswith(
                ("https://a.ex", "https://b.ex", "#cite-")
            )


@pytest.mark.parametrize("title", NASTY)
def test_a_title_reads_as_it_is_written(title):
    words = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    text, records = hostile("https://a.example/x", title)
    html = page_of(render_citations(text, records, style="html"))
    link = links_in(render_citations(text, records))[0]

    assert (words or None) == link.title
    assert words in [bdi.text for bdi in html.all("bdi")] or not words


@pytest.mark.parametrize("style", HTML_STYLES)
@pytest.mark.parametrize("content", [*NASTY, "[x](javascript:alert(1))", "![t](https://evil.example/t.png)", "<iframe src=//evil.example>[1]", "[1](https://a.example/[1])", "[go [1]][r]\n\n[r]: javascript:x"])  # fmt: skip
def test_html_holds_no_tag_of_the_answer(style, content):
    page = page_of(render_citations(content, read(content), style=style))
    tags = {element.tag for element in page.elements}
    attributes = {name for element in page.elements for name in element.attributes}

    assert set() == tags & {"script", "img", "iframe", "b", "style"}
    assert set() == {a for a in attributes if a.startswith("on")} | attributes & {"src", "style"}
    for link in page.all("a"):
        assert (link.attributes["href"] or "").startswith(("http://", "https://", "#"))


def test_a_tooltip_is_short_and_the_list_has_the_whole_title():
    title = "word " * 100
    text, records = hostile("https://a.example/x", title)
    links = links_in(render_citations(text, records, source_list="cited"))

    assert 150 == len(links[0].title or "")
    assert f"[1] {title.strip()}" in [link.text for link in links]


def test_an_open_block_of_the_answer_does_not_swallow_the_list():
    for style in ("markdown", "footnotes"):
        rendered = shown("Tea[1]\n\n```\nopen", style, source_list="cited")
        assert "\nopen\n```\n\n" in rendered


def test_a_comment_that_opens_inside_a_line_is_not_closed_for_it_hides_nothing():
    assert "-->" not in shown("See [a[1] <!--](x) b[2]", source_list="cited")
    assert "\n-->\n" in shown("a[1]\n\n<!-- b", source_list="cited")


@pytest.mark.parametrize("label", ["1", "source-1", "SOURCE-1"])
def test_footnotes_do_not_clash_with_those_of_the_answer(label):
    text = f"Tea[1] is[^{label}] and[^1].\n\n[^{label}]: own words\n"
    rendered = shown(text, "footnotes")

    assert 1 == rendered.count(f"[^{label}]: ")
    prefix = "source-" if label == "1" else "source-2-"
    assert rendered.startswith(f"Tea[^{prefix}1] is[^{label}] and")
    assert f"[^{prefix}1]: [Leaf](https://a.example/1)\n" in rendered


def test_a_mark_before_a_colon_does_not_begin_a_footnote_definition():
    assert shown("[1]: says so", "footnotes").startswith("[^1]\\: says so\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Wow![1]", "Wow\\![["), ("Wow\\![1]", "Wow\\![["), ("Wow\\\\![1]", "Wow\\\\\\![["), ("a \\\\[1]", "a \\\\[[")],
)  # fmt: skip
def test_what_stands_before_a_mark_makes_no_image_of_it(text, expected):
    rendered = shown(text)

    assert rendered.startswith(expected)
    assert ["https://a.example/1"] == [link.href for link in links_in(rendered)]


def test_the_answers_own_link_definitions_do_not_capture_a_mark():
    text = "Tea[1] and [word][1].\n\n[1]: https://model.example/"
    hrefs = [link.href for link in links_in(shown(text))]

    assert ["https://a.example/1", "https://a.example/1"] == hrefs


@pytest.mark.parametrize("url", NASTY_URLS)
def test_a_mark_in_a_table_cell_stays_in_its_cell(url):
    for title in NASTY:
        text = "| claim | year |\n|---|---|\n| Tea is a leaf[1] | `2025`[2] |\n"
        records = read(text, [WebSearchSource(url=url, title=title), SOURCES[1]])
        tokens = COMMONMARK.parse(render_citations(text, records))
        cells = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "td_open"]

        assert 2 == len(cells)
        assert [1, 1] == [
            sum(token.type == "link_open" for token in cell.children or []) for cell in cells
        ]


@pytest.mark.parametrize("style", ["markdown", "footnotes"])
def test_nothing_that_is_added_reads_as_a_formula(style):
    records = read("Tea[1][9].", [WebSearchSource(url="https://a.example/$x$", title="\\[x\\] $y$ \\(z\\)")])  # fmt: skip
    rendered = render_citations("Tea[1][9].", records, style=style, source_list="cited")

    assert [] == re.findall(r"\$|\\[\[(]", rendered)


PIECES = [
    "[1]", "[2]", "[9]", "[1, 2]", "[web:3]", "[file:1]", "[1-2]", " ", "a", ".", "!", ":", "(", ")", "\\", "`",
    "``", "$", "$$", "<", ">", "<b ", "\"", "'", "|", "[", "]", "](", "](x)", "\n", "\r\n", "\n\n", "```\n", "- ",
    "> ", "| a |", "**", "_", "~~", "[x]: https://m.example/", "[1]: https://m.example/", "[^1]", "\\[", "\\]",
    "\\(", "&#91;", "<think>", "<!--", "-->", "漢字。", "שלום", "e\u0301", "\ue000", "1999", "[1999]", "\u2028",
]  # fmt: skip
answers = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
NASTY_SOURCES = [
    WebSearchSource(url=url, title=title)
    for url, title in zip(NASTY_URLS[3:6], [NASTY[3], NASTY[6], NASTY[8]], strict=True)
]


@given(answers, st.sampled_from([SOURCES, NASTY_SOURCES]), st.sampled_from(["none", "cited"]))
@example("[word][1]\n[1]: https://m.example/", SOURCES, "none")
def test_reading_rendered_markdown_again_finds_no_marker(text, sources, source_list):
    records = read(text, sources)

    for style in ("markdown", "footnotes"):
        if style == "footnotes":
            source_list = "cited"
        rendered = render_citations(text, records, style=style, source_list=source_list)
        found = read(rendered, sources)
        assert [] == [one for one in found if one.raw_marker]
        assert rendered == render_citations(rendered, found, style=style, source_list=source_list)


@given(answers, st.sampled_from(STYLES))
def test_any_answer_renders_in_every_style_and_html_is_well_formed(text, style):
    rendered = render_citations(text, read(text), style=style, source_list="cited")

    if style in HTML_STYLES:
        page = page_of(rendered)
        assert len(page.ids()) == len(set(page.ids()))
        targets = [
            (a.attributes["href"] or "")[1:]
            for a in page.all("a")
            if (a.attributes["href"] or "")[0] == "#"
        ]
        assert set() == set(targets) - set(page.ids())


@given(answers)
def test_without_markers_plain_text_and_markdown_stay_as_they_are(text):
    if not read(text):
        assert text == shown(text, "plain") == shown(text) == shown(text, "footnotes")


@given(answers)
def test_plain_text_differs_from_the_answer_only_at_its_markers(text):
    records = read(text)
    expected, position = "", 0
    for span in sorted({one.marker_span for one in records}):
        members = [
            f"[{r.source_index}]" if r.resolved else
            f"[file:{r.source_index}?]" if r.source_type == "file" else f"[{r.source_index}?]"
            for r in records if r.marker_span == span
        ]  # fmt: skip
        expected += text[position : span[0]] + "".join(dict.fromkeys(members))
        position = span[1]

    assert expected + text[position:] == shown(text, "plain", source_list="none")
