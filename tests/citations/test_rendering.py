"""How answers are shown: the same records as links, footnotes, numbers and HTML."""

from __future__ import annotations

import sys

import pytest

from dsh_web import InvalidRequestError, WebSearchResult
from dsh_web.citations import (
    render_citations,
    render_result,
)

from .rendered import (
    HTML_STYLES,
    SOURCES,
    STYLES,
    page_of,
    read,
    record,
    shown,
)

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
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    monkeypatch.delitem(sys.modules, "dsh_web.citations._html_markdown", raising=False)

    with pytest.raises(InvalidRequestError, match=r'pip install "dsh-web\[html\]"'):
        shown("a[1]", "html_markdown")
    assert "[1]" in shown("a[1]", "html")
