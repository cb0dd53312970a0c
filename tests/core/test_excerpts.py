import json

from hypothesis import given
from hypothesis import strategies as st

from dsh_web import WebFinance, WebSearchResult, WebSearchSource
from dsh_web.render import Excerpt, SearchExcerpts, search_excerpts

URL = "https://a.example/x"


def source(url: str = URL, **fields: object) -> WebSearchSource:
    return WebSearchSource(url=url, **fields)


def excerpts_of(
    *sources: WebSearchSource, max_chars: int | None = None, **fields: object
) -> SearchExcerpts:
    result = WebSearchResult(provider="p", sources=sources, **fields)
    return search_excerpts(result, max_chars)


def size_of(excerpts: SearchExcerpts) -> int:
    return len(excerpts.answer) + sum(
        len(e.url) + len(e.title) + len(e.text) for e in excerpts.sources
    )


def test_the_answer_and_the_sources_come_in_pieces():
    excerpts = excerpts_of(source(title="One", snippet="First.\n\nSecond."), content=" Bees.[1]\n")

    expected = (Excerpt(URL, "One", "First.\n\nSecond."),)
    assert SearchExcerpts("Bees.[1]", expected, is_cut=False) == excerpts


def test_nothing_is_escaped():
    (excerpt,) = excerpts_of(source(title="[x](y)", snippet="`a` <b>\\")).sources

    assert ("[x](y)", "`a` <b>\\") == (excerpt.title, excerpt.text)


def test_a_source_without_a_snippet_is_quoted_by_its_label():
    titled, bare = excerpts_of(source(title="One"), source("https://b.example/2")).sources

    assert ("One", "One") == (titled.title, titled.text)
    assert ("b.example", "b.example") == (bare.title, bare.text)


def test_characters_that_no_request_can_hold_are_replaced():
    (excerpt,) = excerpts_of(source(title="a\ud800b", snippet="x\x00y\ud800z\ta\nb")).sources

    assert ("a b", "x y z\ta\nb") == (excerpt.title, excerpt.text)
    json.dumps(excerpt.text).encode()


def test_an_answer_that_is_shown_elsewhere_takes_no_room():
    result = WebSearchResult(
        provider="p", content="x" * 100, sources=(source(title="T", snippet="y" * 50),)
    )

    excerpts = search_excerpts(result, 80, include_answer=False)

    assert SearchExcerpts("", (Excerpt(URL, "T", "y" * 50),), is_cut=False) == excerpts


def test_market_data_is_the_answer_where_there_is_no_other():
    record = WebFinance(content="| AAPL | 1 |", category="quote", urls=(URL,))

    excerpts = excerpts_of(finance=(record,))

    assert SearchExcerpts("| AAPL | 1 |", (Excerpt(URL, "quote", "quote"),), False) == excerpts


def test_snippets_are_shortened_before_the_answer_and_short_ones_stay_whole():
    excerpts = excerpts_of(
        source(title="One", snippet="a" * 500),
        source("https://b.example/", title="Two", snippet="short"),
        content="An answer.",
        max_chars=150,
    )

    assert "An answer." == excerpts.answer
    assert excerpts.is_cut
    assert ["a" * 60, "short"] == [excerpts.sources[0].text[:60], excerpts.sources[1].text]
    assert excerpts.sources[0].text.endswith("…")
    assert 145 <= size_of(excerpts) <= 150


def test_a_giant_address_takes_only_itself_out():
    excerpts = excerpts_of(
        source("https://giant.example/" + "x" * 300, title="G", snippet="s"),
        source(title="One", snippet="First."),
        max_chars=100,
    )

    assert [URL] == [excerpt.url for excerpt in excerpts.sources]
    assert excerpts.is_cut


def test_without_room_for_a_source_none_is_left():
    excerpts = excerpts_of(source(title="One"), content="Bees.", max_chars=4)

    assert SearchExcerpts("Bee…", (), is_cut=True) == excerpts


texts = st.text(max_size=40)
sources = st.builds(
    WebSearchSource, url=st.text(min_size=1, max_size=30), title=texts, snippet=texts
)


@given(st.lists(sources, max_size=6), st.one_of(st.none(), texts), st.integers(1, 300))
def test_whatever_comes_in_the_cap_holds_and_no_piece_is_blank(found, content, max_chars):
    full = excerpts_of(*found, content=content)
    capped = excerpts_of(*found, content=content, max_chars=max_chars)

    assert size_of(capped) <= max_chars
    assert capped.is_cut == (size_of(full) > max_chars)
    assert len(found) == len(full.sources)
    addresses = [item.url for item in full.sources]
    assert all(item.url in addresses and item.title and item.text for item in capped.sources)
    assert all(item.title and item.text for item in full.sources)
