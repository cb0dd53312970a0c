import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dsh_web import WebFinance, WebSearchResult, WebSearchSource
from dsh_web.render import CLOSING, render_search

COMMONMARK = MarkdownIt("commonmark")
ITEM = re.compile(r"- \[.*\]\(https?:|\d+\. \[.*\]\(https?:")


def result_of(*sources: WebSearchSource, **fields: object) -> WebSearchResult:
    return WebSearchResult(provider="p", sources=sources, **fields)


def source(url: str = "https://a.example/x", **fields: object) -> WebSearchSource:
    return WebSearchSource(url=url, **fields)


def text_of(*sources: WebSearchSource, **fields: object) -> str:
    return render_search(result_of(*sources, **fields)).text


def item_of(found: WebSearchSource) -> str:
    return text_of(found).splitlines()[1]


def links(text: str) -> list[str]:
    """Return the destinations of all links and images as CommonMark reads them."""
    tokens = [token for block in COMMONMARK.parse(text) for token in block.children or []]
    links_and_images = [token for token in tokens if token.type in ("link_open", "image")]
    return [token.attrGet("href") or token.attrGet("src") for token in links_and_images]


def read_back(url: str) -> str:
    """Return `url` as CommonMark readers normalise it, without what no address may hold."""
    cleaned = "".join(
        c if c.isprintable() and not c.isspace() and c not in "<>\\" else percent(c) for c in url
    )
    return COMMONMARK.normalizeLink(cleaned)


def percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


# -- the format --------------------------------------------------------------------------------


def test_an_answer_with_sources_is_exactly_this():
    text = text_of(
        source("https://a.example/1", title="One", snippet="First.", published_at="2026-05-01"),
        source("https://b.example/2", snippet="Second."),
        source("https://c.example/3", published_at="2 hours ago"),
        content="Bees dance.[1]",
    )

    expected = (
        "Bees dance.[1]\n"
        "\n"
        "Sources:\n"
        "- [One](https://a.example/1) — First. (2026-05-01)\n"
        "- [b.example](https://b.example/2) — Second.\n"
        "- [c.example](https://c.example/3) (2 hours ago)\n"
        "\n"
        "Cite the sources you use by their URLs, as markdown links."
    )
    assert expected == text


def test_sources_without_an_answer_start_the_text():
    assert text_of(source()).startswith("Sources:\n- [a.example](https://a.example/x)\n")


def test_an_answer_without_sources_stands_alone():
    assert "Only this." == text_of(content="Only this.")


@pytest.mark.parametrize("content", [None, "", "  \n"])
def test_nothing_at_all_says_so(content):
    assert "No results found." == text_of(content=content)


@pytest.mark.parametrize(("count", "words"), [(1, "1 sources"), (2, "2 sources")])
def test_a_cut_list_tells_how_many_are_shown(count, words):
    sources = [source(f"https://a.example/{number}") for number in range(count)]
    lines = text_of(*sources, truncated=True).splitlines()

    assert f"(Showing the first {words}. Refine the query for more.)" == lines[count + 1]


def test_a_whole_list_does_not_claim_to_be_cut():
    assert "Showing" not in text_of(source())


def test_the_last_line_asks_for_citations():
    assert CLOSING == text_of(source()).splitlines()[-1]


# -- what strangers wrote ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line_end", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
@pytest.mark.parametrize("name", ["title", "snippet", "published_at"])
def test_no_line_end_of_a_field_starts_a_line(name, line_end):
    forged = f"x{line_end}- [evil](https://evil.example/)"
    text = text_of(source(**{name: forged}))

    assert (4, 4) == (len(text.splitlines()), len(text.split("\n")))


@pytest.mark.parametrize(
    "title",
    ["a](https://evil.example/) [b", "[x](https://evil.example/)", "`a", "<https://evil.example/>",
     "a\\", "![x](https://evil.example/)", "<a href='https://evil.example/'>", "]", "["],
)  # fmt: skip
def test_a_title_cannot_leave_its_link(title):
    text = text_of(source(title=title, snippet="` snippet"))

    assert ["https://a.example/x"] == links(text)


@pytest.mark.parametrize(
    "snippet",
    ["[x](https://evil.example/)", "![x](https://evil.example/)", "<https://evil.example/>",
     "<a href='https://evil.example/'>x</a>", "[x][1]", "\\[x](https://evil.example/)",
     "[x]\\(https://evil.example/)", "`[x](https://evil.example/)", "x\\"],
)  # fmt: skip
def test_a_snippet_cannot_open_a_link(snippet):
    text = text_of(source(snippet=snippet), source("https://b.example/y"))

    assert ["https://a.example/x", "https://b.example/y"] == links(text)


def test_an_entity_in_a_title_stays_text():
    assert 1 == len(links(text_of(source(title="a&#93;(b&lpar;"))))


@pytest.mark.parametrize(
    "url",
    ["https://a.example/a_(b)", "https://a.example/(", "https://a.example/)", "https://a.example/)(",
     "https://a.example/((((x))))", "https://a.example/?a=1&amp;b=2", "https://a.example/?a=1&copy=2",
     "https://a.example/?a=1&copy;", "https://a.example/a b", "https://a.example/a\nb",
     "https://a.example/<b>", "https://a.example/a\\b", "https://a.example/`x`", "https://a.example/[x]",
     "https://a.example/日本", "https://a.example/%20%zz", "https://a.example/*_~", 'https://a.example/"x"',
     "https://a.example/ 'title'", "https://a.example/\u2028x", "https://a.example/\x00x"],
)  # fmt: skip
def test_a_link_destination_reads_back_as_the_url(url):
    assert [read_back(url)] == links(text_of(source(url, title="T", snippet="` and `")))


def test_a_url_that_needs_nothing_is_shown_as_it_is():
    url = "https://a.example/a_(b)?x=1&y=%20#z"

    assert f"- [T]({url})" == item_of(source(url, title="T"))


hostile = st.text(
    st.sampled_from("ab *_~[]()<>`\\!&;#\n\r\t\v\x00\x1b\x85\u2028\u2029\u200b日é\"'$|-.:/%+=1")
    | st.characters(exclude_categories=["Cs"]),
    max_size=24,
)
fragments = st.lists(
    hostile
    | st.sampled_from(
        [
            "](",
            "[x](https://evil.example/)",
            "<https://evil.example/>",
            "&amp;",
            "&#10;",
            "\n- ",
            "```",
        ]
    ),
    max_size=4,
).map("".join)
urls = fragments.map(lambda rest: f"https://a.example/{rest}")
sources = st.builds(
    WebSearchSource,
    url=urls,
    title=st.none() | fragments,
    snippet=st.none() | fragments,
    published_at=st.none() | fragments,
)


@given(found=st.lists(sources, min_size=1, max_size=4))
@example(found=[source(title="\\", snippet="\\"), source(snippet="`"), source(title="`")])
def test_the_links_of_the_text_are_exactly_the_sources(found):
    assert [read_back(each.url) for each in found] == links(text_of(*found))


@given(found=st.lists(sources, min_size=1, max_size=4))
def test_there_is_one_item_line_per_source(found):
    lines = re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text_of(*found))

    assert len(found) == sum(bool(ITEM.match(line)) for line in lines)


@given(found=st.lists(sources, min_size=1, max_size=4), is_cut=st.booleans())
def test_the_text_has_a_line_per_source_and_three_around_them(found, is_cut):
    lines = text_of(*found, truncated=is_cut).splitlines()

    assert len(found) + 3 + is_cut == len(lines)


# -- the size limit ----------------------------------------------------------------------------


def test_a_text_that_fits_is_not_cut():
    result = result_of(source(snippet="Text."))
    whole = render_search(result, max_chars=None).text

    assert (whole, False) == (
        (limited := render_search(result, max_chars=len(whole))).text,
        limited.is_cut,
    )


def test_a_text_that_does_not_fit_says_that_it_was_cut():
    assert render_search(result_of(source(snippet="x" * 500)), max_chars=200).is_cut


def test_snippets_go_first():
    result = result_of(source(title="Title", snippet="x" * 500), content="Answer.")
    text = render_search(result, max_chars=200).text

    assert text.startswith("Answer.\n\nSources:\n- [Title](https://a.example/x) — xxx")


def test_a_long_snippet_does_not_take_the_room_of_a_short_one():
    result = result_of(source(snippet="x" * 500), source(snippet="Short."))

    assert " — Short.\n" in render_search(result, max_chars=250).text


def test_titles_give_way_to_host_names_before_the_answer_is_cut():
    result = result_of(source(title="T" * 100), content="Answer.")
    text = render_search(result, max_chars=150).text

    assert text.startswith("Answer.\n\nSources:\n- [a.example](https://a.example/x)")


def test_an_answer_is_cut_before_a_url_is_lost():
    result = result_of(source(), content="A" * 500)
    text = render_search(result, max_chars=200).text

    assert ("…" in text, ["https://a.example/x"]) == (True, links(text))


def test_when_not_every_source_fits_the_first_are_shown_and_counted():
    result = result_of(*[source(f"https://a.example/{number}") for number in range(9)])
    text = render_search(result, max_chars=230).text

    shown = len(links(text))
    assert 0 < shown < 9
    assert f"(Showing the first {shown} source" in text


@given(
    found=st.lists(sources, max_size=4),
    answer=st.none() | fragments,
    is_cut=st.booleans(),
    max_chars=st.integers(1, 600),
)
def test_the_text_is_never_longer_than_its_limit(found, answer, is_cut, max_chars):
    result = result_of(*found, content=answer, truncated=is_cut)
    text = render_search(result, max_chars=max_chars).text

    assert len(text) <= max(max_chars, len("No results found."))


@given(found=st.lists(sources, min_size=1, max_size=4), max_chars=st.integers(1, 600))
def test_a_url_is_shown_whole_or_not_at_all(found, max_chars):
    text = render_search(result_of(*found), max_chars=max_chars).text
    shown = links(text)

    remaining = iter([read_back(each.url) for each in found])
    assert all(url in remaining for url in shown)  # whole, and in their order


@given(
    snippets=st.lists(fragments, min_size=1, max_size=4),
    max_chars=st.integers(300, 600),
)
def test_every_source_stays_while_there_is_room_for_its_bare_line(snippets, max_chars):
    found = [source(snippet=snippet) for snippet in snippets]
    text = render_search(result_of(*found), max_chars=max_chars).text

    assert len(found) == len(links(text))


# -- answers that end inside something ---------------------------------------------------------


@pytest.mark.parametrize("content", ["Code:\n```python\nprint(1)", "~~~\nx", "<!-- note", "<pre>x"])
def test_an_answer_that_was_cut_inside_a_block_does_not_swallow_the_sources(content):
    assert ["https://a.example/x"] == links(text_of(source(), content=content))


def test_market_data_is_shown_where_there_is_nothing_else():
    record = WebFinance(category="quote", content="EXM 3.00", urls=("https://f.example/exm",))
    text = render_search(WebSearchResult(provider="p", finance=(record,))).text

    assert "EXM 3.00" == text.splitlines()[0]
    assert ["https://f.example/exm"] == links(text)


def test_a_limit_that_leaves_no_room_for_any_source_is_said_in_words():
    result = result_of(source("https://a.example/" + "x" * 200, title="One"))

    shown = render_search(result, 100)

    assert "The search found sources, but the output limit leaves no room for any." == shown.text
    assert shown.is_cut
