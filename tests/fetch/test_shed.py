"""What a long page loses before its text is cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web.pages.shed import shed_unseen, without_broken_end

from ..io.raw_server import RawServer, answering
from .conftest import Fetch, Web, page

ARTICLE = "<article><h1>Tides</h1><p>High water is at noon.</p></article>"


@pytest.mark.parametrize(
    ("page", "left"),
    [
        ("a<script>b</script>c", "ac"),
        ('a<SCRIPT src="x"\n>if (a < b) "<style>"</Script\n>c', "ac"),
        ("a<style>b{}</style>c<svg><path d=''/></svg>d", "acd"),
        ("a<noscript><p>on!</p></noscript>b<template><b></template>c", "abc"),
        ("a<!-- b --->c<!---->d<!--x--!>e", "acde"),
        ("a<script>x<!--</script>b-->c", "ab-->c"),
        ("a<scripted>b</scripted>", "a<scripted>b</scripted>"),
        ("a<script>b", "a"),
        ("a<title>the <style> tag</title>b<style>c</style>d", "a<title>the <style> tag</title>bd"),
        ("a<!-->b<!-- c -->d", "abd"),
        ("a<!-- b", "a<!-- b"),
        ("a<style>b<script>c</script>d", "a"),
        ("a<svg>b", "a<svg>b"),
        (f"<img src='data:image/png;base64,{'A' * 300}'>", "<img src='data:image/png;base64,'>"),
        ("<img src='data:image/png;base64,AAAA'>", "<img src='data:image/png;base64,AAAA'>"),
        ("<p>\n\n    a\n      b     c</p>", "<p>\na\nb c</p>"),
        (ARTICLE, ARTICLE),
        ("", ""),
    ],
)
def test_what_no_reader_sees_goes_and_the_rest_stays(page, left):
    assert left == shed_unseen(page)


@given(
    st.lists(
        st.sampled_from(
            ["<script>x</script>", "</script>", "<!--", "-->", "<svg/>", "</svg>", "a", " "]
        )
    )
)
def test_it_never_grows_and_keeps_what_stands_outside(parts):
    text = "".join(parts)

    assert len(shed_unseen(text)) <= len(text)
    assert shed_unseen(text + ARTICLE + "<p>.").endswith("<p>.")


@pytest.mark.parametrize("name", ["script", "style", "template", "noscript"])
def test_only_an_element_that_never_ends_takes_the_end_of_the_page(name):
    whole = f"\u0130 a<{name}>b</{name}>c<!-- <{name}> -->d"

    assert whole == without_broken_end(whole)
    assert whole == without_broken_end(f"{whole}<{name}>e")


@pytest.mark.parametrize(
    "piece",
    [
        "<script>",
        "<!--",
        "<svg ",
        "</script",
        "data:x;base64,",
        "   ",
        "<!-- -->",
        "<script></script ",
        "</script   ",
    ],
)
def test_a_page_made_to_be_slow_is_not(piece):
    # A guard against time that grows with the square: hours, not a fraction of a second.
    assert len(shed_unseen(piece * 200_000)) <= 200_000 * len(piece)
    assert len(shed_unseen("<script>" + piece * 200_000)) <= 8 + 200_000 * len(piece)


@pytest.mark.parametrize(
    "filler", ["<script>var a = 1;</script>", "<!-- nothing -->", "<style>p{}</style>\n   \n"]
)
def test_the_article_of_a_page_full_of_scripts_is_in_the_result(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]], filler: str
) -> None:
    body = f"<html>{filler * 20_000}{ARTICLE}</html>".encode()
    web, _ = web_with(answering(page(body)))
    result = fetch(web.runtime(), "http://ok.example/")

    assert ARTICLE in result.body.content
    assert not result.truncated


def test_a_page_that_fits_is_left_as_it_is(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]]
) -> None:
    body = f"<html><script>var a</script>{ARTICLE}</html>"
    web, _ = web_with(answering(page(body.encode())))

    assert fetch(web.runtime(), "http://ok.example/").body.content == body


def test_one_that_is_still_too_long_is_cut(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]]
) -> None:
    web, _ = web_with(answering(page(b"<script>x</script>" + b"<p>word</p>" * 20)))
    result = fetch(web.runtime(max_body_chars=50), "http://ok.example/")

    assert result.body.content == ("<p>word</p>" * 20)[:50]
    assert result.truncated


def test_text_that_only_looks_like_html_is_never_touched(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]]
) -> None:
    web, _ = web_with(answering(page(b"<script>x</script>" * 10, content_type="text/plain")))
    result = fetch(web.runtime(max_body_chars=50), "http://ok.example/")

    assert (result.body.content, result.truncated) == (("<script>x</script>" * 10)[:50], True)
