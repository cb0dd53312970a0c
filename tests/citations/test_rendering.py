"""How answers are shown: the same records as links, footnotes, numbers and HTML."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError, WebSearchResult, WebSearchSource
from dsh_web.citations import (
    Citation,
    CitationLedger,
    normalize_citations,
    render_citations,
    render_result,
)
from dsh_web.citations.ledger import source_id

from .rendered import NASTY, NASTY_URLS, links_in, page_of, record

SOURCES = [
    WebSearchSource(url="https://a.example/1", title="Leaf"),
    WebSearchSource(url="https://b.example/2"),
    WebSearchSource(url="https://c.example/3", title="Water"),
]
STYLES = ["markdown", "footnotes", "plain", "html", "html_markdown"]
HTML_STYLES = ["html", "html_markdown"]


def read(text: str, sources: object = SOURCES) -> tuple[Citation, ...]:
    return normalize_citations(text, sources)  # type: ignore[arg-type]


def shown(text: str, style: str = "markdown", **options: object) -> str:
    return render_citations(text, read(text), style=style, **options)  # type: ignore[arg-type]


# -- each style --------------------------------------------------------------------------------


def test_markdown_links_each_marker_and_keeps_the_rest():
    expected = (
        'A leaf[[1]](https://a.example/1 "Leaf"), brewed '
        '[[2]](https://b.example/2)[[3]](https://c.example/3 "Water").'
    )

    assert expected == shown("A leaf[1], brewed [2, 3].")


def test_markdown_lists_the_sources_on_request():
    expected = (
        'A leaf[[1]](https://a.example/1 "Leaf").\n\n**Sources**\n\n'
        "- [[1] Leaf](https://a.example/1)\n"
        "- [b.example](https://b.example/2) (not cited)\n"
        "- [Water](https://c.example/3) (not cited)\n"
    )

    assert expected == shown("A leaf[1].\n", source_list="all", sources=SOURCES)


def test_footnotes_are_defined_at_the_end():
    expected = (
        "A leaf[^1][^3].\n\n[^1]: [Leaf](https://a.example/1)\n[^3]: [Water](https://c.example/3)\n"
    )

    assert expected == shown("A leaf[1][3].", "footnotes")


def test_plain_text_has_numbers_and_a_list_without_markup():
    expected = (
        "A leaf[1][2].\n\nSources:\n1. Leaf\n   https://a.example/1\n"
        "2. b.example\n   https://b.example/2\n"
    )

    assert expected == shown("A leaf[1, 2].", "plain")


def test_html_is_exactly_this():
    expected = (
        '<div class="cited-answer">\n'
        '<p dir="auto">A &lt;leaf&gt;<sup class="citation"><a id="t-mark-1-1" '
        'href="https://a.example/1" rel="noopener noreferrer nofollow" '
        'aria-label="Source 1: Leaf">[1]</a></sup><br>next</p>\n'
        '<p dir="auto">end</p>\n'
        '<section class="citation-sources" aria-label="Sources">\n'
        "<ol>\n"
        '<li id="t-source-1" value="1"><a href="https://a.example/1" '
        'rel="noopener noreferrer nofollow"><bdi>Leaf</bdi></a> <a href="#t-mark-1-1" '
        'role="doc-backlink" aria-label="Back to mark 1 of source 1">↩</a></li>\n'
        "</ol>\n"
        "</section>\n"
        "</div>\n"
    )

    assert expected == shown("A <leaf>[1]\nnext\n\nend", "html", id_prefix="t-")


def test_html_with_markdown_formats_the_answer_around_the_marks():
    page = page_of(
        shown("# Tea[1]\n\n- **dry.**[2]\n\n| a | b |\n|-|-|\n| x[3] | `[1]` |\n", "html_markdown")
    )

    assert ["Tea[1]"] == [heading.text for heading in page.all("h1")]
    assert ["dry."] == [strong.text for strong in page.all("strong")]
    assert ["x[3]", "[1]"] == [cell.text for cell in page.all("td")]
    assert ["[1]"] == [code.text for code in page.all("code")]
    assert ["[1]", "[2]", "[3]"] == [sup.text for sup in page.all("sup")]


def test_rendering_changes_no_record():
    text = "A leaf[1][9]."
    records = read(text)
    before = [record.model_dump_json() for record in records]

    for style in STYLES:
        render_citations(text, records, style=style)

    assert before == [record.model_dump_json() for record in records]


def test_a_result_renders_as_its_parts_do():
    text = "A leaf[1]."
    result = WebSearchResult(
        content=text, citations=read(text), sources=tuple(SOURCES), provider="p"
    )

    for style in STYLES:
        expected = render_citations(
            text, read(text), style=style, sources=SOURCES, source_list="all"
        )
        assert expected == render_result(result, style=style, source_list="all")


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_without_citations_gets_no_list(style):
    rendered = shown("Just words.", style)

    assert "Sources" not in rendered
    assert "Just words." in rendered


@pytest.mark.parametrize("content", [None, ""])
def test_no_answer_renders_as_its_sources_alone(content):
    rendered = render_citations(content, (), style="plain", sources=SOURCES[:1], source_list="all")

    assert "Sources:\n- Leaf (not cited)\n  https://a.example/1\n" == rendered
    assert "" == render_citations(content, ())


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


# -- what strangers wrote ----------------------------------------------------------------------

TEXT = "Tea is a leaf[1], it `x` is <b [1] brewed | with $5 water![2][1]"


def hostile(url: str, title: str) -> tuple[str, tuple[Citation, ...]]:
    sources = [WebSearchSource(url=url, title=title), WebSearchSource(url="https://b.example/2")]
    return TEXT, read(TEXT, sources)


@pytest.mark.parametrize("url", NASTY_URLS)
@pytest.mark.parametrize("title", NASTY)
def test_no_title_or_address_adds_a_link_to_markdown(url, title):
    text, records = hostile(url, title)
    rendered = render_citations(text, records, source_list="cited")
    links = links_in(rendered)

    hosts = {link.href.split("/")[2] for link in links}
    assert {"a.example", "b.example"} == hosts
    assert len(records) + 2 == len(links)
    assert () == read(rendered)


@pytest.mark.parametrize("url", NASTY_URLS)
@pytest.mark.parametrize("title", NASTY)
def test_no_title_or_address_adds_anything_to_footnotes(url, title):
    text, records = hostile(url, title)
    rendered = render_citations(text, records, style="footnotes")
    links = links_in(rendered.replace("[^1]: ", "").replace("[^2]: ", ""))

    assert ["a.example", "b.example"] == [link.href.split("/")[2] for link in links]
    assert len(text.splitlines()) + 3 == len(rendered.splitlines())
    assert () == read(rendered)


@pytest.mark.parametrize("style", HTML_STYLES)
@pytest.mark.parametrize("url", NASTY_URLS)
@pytest.mark.parametrize("title", NASTY)
def test_no_title_or_address_adds_anything_to_html(style, url, title):
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


# -- scripts and line ends ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["茶は葉です[1]。水[2]。", "الشاي ورقة[1]، ماء [2].", "the\u0301[1] कि[2]", "a[1]\r\nb[2]\rc\n", "👩\u200d👩\u200d👧[1] 😀[2]"],
)  # fmt: skip
@pytest.mark.parametrize("style", ["markdown", "plain"])
def test_every_script_and_line_end_is_kept(text, style):
    rendered = shown(text, style, source_list="none")
    marks = {
        "plain": ("[1]", "[2]"),
        "markdown": ('[[1]](https://a.example/1 "Leaf")', "[[2]](https://b.example/2)"),
    }[style]

    assert text.replace("[1]", marks[0]).replace("[2]", marks[1]) == rendered


def test_what_is_added_has_the_line_ends_of_the_answer():
    rendered = shown("a[1]\r\nb", "plain")

    assert rendered.count("\n") == rendered.count("\r\n") == 6


def test_html_isolates_directions():
    page = page_of(render_citations("ورقة[1]\n\nleaf", read("ورقة[1]\n\nleaf"), style="html"))

    assert ["auto", "auto"] == [p.attributes["dir"] for p in page.all("p")]
    assert ["Leaf"] == [bdi.text for bdi in page.all("bdi")]


# -- for screen readers ------------------------------------------------------------------------


@pytest.mark.parametrize("style", HTML_STYLES)
def test_every_mark_is_a_link_with_a_name_and_readable_text(style):
    page = page_of(shown("A[1] b[2][1].", style))
    links = [a for a in page.all("a") if "id" in a.attributes]

    assert ["Source 1: Leaf", "Source 2: b.example", "Source 1: Leaf"] == [
        a.attributes["aria-label"] for a in links
    ]
    assert ["[1]", "[2]", "[1]"] == [a.text for a in links]
    assert {"noopener noreferrer nofollow"} == {a.attributes["rel"] for a in links}


@pytest.mark.parametrize("style", HTML_STYLES)
def test_the_list_leads_back_to_every_mark(style):
    page = page_of(shown("A[1] b[2][1].", style))
    back = [a.attributes["href"] for a in page.all("a") if a.attributes.get("role")]

    assert ["#cite-mark-1-1", "#cite-mark-1-2", "#cite-mark-2-1"] == back
    assert {"cite-mark-1-1", "cite-mark-1-2", "cite-mark-2-1"} < set(page.ids())


def test_the_list_shows_the_numbers_that_the_text_shows():
    page = page_of(shown("A[3] b[1].", "html"))

    assert ["1", "3"] == [li.attributes["value"] for li in page.all("li")]


def test_two_answers_on_a_page_share_no_id():
    one, two = (page_of(shown("A[1]", "html", id_prefix=prefix)) for prefix in ("a-", "b-"))

    assert set() == set(one.ids()) & set(two.ids())


def test_without_a_list_there_are_no_ids_and_no_links_to_them():
    assert [] == page_of(shown("A[1]", "html", source_list="none")).ids()


# -- where marks stand -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("Tea is a leaf.", 14, "Tea is a leaf.[1]"),
        ("Use `tea leaf` now", 8, "Use `tea leaf`[1] now"),
        ("See [the docs](https://d.example/) now", 8, "See [the docs](https://d.example/)[1] now"),
        ("cafe\u0301 now", 4, "cafe\u0301[1] now"),
        ("👩\u200d👩 now", 1, "👩\u200d👩[1] now"),
        ("leaf\r\nnow", 5, "leaf[1]\r\nnow"),
        ("", 0, "[1]"),
    ],
)
def test_a_record_without_a_marker_is_shown_where_its_claim_ends(text, at, expected):
    noted = record(text, "", at=at)

    assert expected == render_citations(text, [noted], style="plain", source_list="none")


def test_many_records_without_markers_are_shown_in_order():
    text = "one two `three` four"
    noted = [
        record(text, "", n, at=at, url=f"https://{n}.example/")
        for n, at in ((4, 20), (1, 3), (3, 12), (2, 10))
    ]

    assert "one[1] two `three`[2][3] four[4]" == render_citations(
        text, noted, style="plain", source_list="none"
    )


def test_records_may_come_in_any_order():
    text = "a[1] b[2, 3] c[9]"
    records = read(text)

    assert render_citations(text, records) == render_citations(text, records[::-1]).replace(
        shown("[3, 2]"), shown("[2, 3]")
    )


def test_a_source_that_is_cited_twice_at_one_place_is_shown_once():
    assert "a[1] b" == shown("a[1, 1, 1] b", "plain", source_list="none")


@pytest.mark.parametrize("style", HTML_STYLES)
def test_a_mark_inside_a_link_is_text_for_links_do_not_nest(style):
    text = "[see 1](https://d.example/)"
    inside = record(text, "1", at=5)
    page = page_of(render_citations(text, [inside], style=style, source_list="none"))

    assert [a.text for a in page.all("a")] in (["see [1]"], ["[1]"])


def test_markers_in_code_and_addresses_stay_as_written_whatever_the_records_say():
    text = "```py [1]\nx[2]\n```\n[t](https://d.example/?a[1] 'x [2]') `y[1]`"
    places = [(m, at) for m in ("[1]", "[2]") for at in range(len(text)) if text.startswith(m, at)]
    records = [
        record(text, m, int(m[1]), at=at, url=f"https://{m[1]}.example/") for m, at in places
    ]
    html = render_citations(text, records, style="html_markdown", source_list="none")

    assert html == render_citations(text, (), style="html_markdown")


# -- faults ------------------------------------------------------------------------------------


def test_a_record_of_another_text_is_named():
    with pytest.raises(
        InvalidRequestError, match=r"citation 1 \('\[2\]' at 4:7\) does not fit.*'x, ' there"
    ):
        render_citations("a[1]x, b", [record("a[1]", "[1]"), record("a[1][2]", "[2]")])


def test_a_record_beyond_the_end_is_named():
    with pytest.raises(InvalidRequestError, match=r"citation 0 .* does not fit"):
        render_citations(None, read("a[1]"))


def test_records_that_overlap_are_refused():
    with pytest.raises(InvalidRequestError, match="citations overlap at 1"):
        render_citations("[[1]]", [record("[[1]]", "[[1]]"), record("[[1]]", "[1]", at=1)])


def test_something_else_than_a_record_is_refused():
    with pytest.raises(InvalidRequestError, match=r"citation 0 is a dict.*model_validate"):
        render_citations("a[1]", [read("a[1]")[0].model_dump()])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "latex"}, "'latex' is no style: use one of markdown, footnotes"),
        ({"numbering": "roman"}, "'roman' is no numbering: use 'provider', 'first_use' or a Cit"),
        ({"source_list": "some"}, "'some' is no source_list"),
        ({"style": "footnotes", "source_list": "none"}, "footnotes need their definitions"),
        ({"style": "html", "id_prefix": 'x" onload="'}, "is no id_prefix"),
        ({"style": "html", "id_prefix": ""}, "is no id_prefix"),
    ],
)
def test_an_unknown_option_is_refused_with_what_is_known(options, message):
    with pytest.raises(InvalidRequestError, match=message):
        shown("a[1]", **options)


def test_without_the_parser_the_error_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "markdown_it", None)
    monkeypatch.delitem(sys.modules, "dsh_web.citations._html_markdown", raising=False)

    with pytest.raises(InvalidRequestError, match=r'pip install "dsh-web\[html\]"'):
        shown("a[1]", "html_markdown")
    assert "[1]" in shown("a[1]", "html")
