"""Text by strangers stays text, and addresses stay addresses."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dsh_web.escaping import encoded, html_text, is_web_address, one_line

COMMONMARK = MarkdownIt("commonmark")
texts = st.text(st.sampled_from("ab \\`*_[](){}<>#|$~!&;:\"'\n\r\u2028\u0000&#39;x漢ש\u0301\ud800"))


@given(texts)
def test_encoded_text_reads_as_itself_inside_a_link_and_beside_it(text):
    [_, block, _] = COMMONMARK.parse(f"a [x{encoded(text)}](https://a.example/) x{encoded(text)}")
    children = block.children or []
    read = "".join(token.content for token in children)
    words = one_line(text)

    assert f"a x{words} x{words}" == read
    assert ["text", "link_open", "text", "link_close", "text"] == [t.type for t in children]


@given(texts)
def test_encoded_text_reads_as_itself_in_a_link_title(text):
    [_, block, _] = COMMONMARK.parse(f'[x](https://a.example/ "{encoded(text)}")')
    [link, *_] = block.children or []

    assert (one_line(text) or "") == (link.attrGet("title") or "")


@given(texts)
def test_html_text_reads_as_itself_without_what_no_page_may_hold(text):
    escaped = html_text(text)

    assert not set("<>\"'") & set(escaped)
    expected = "".join("\ufffd" if c in "\u0000\ud800" else c for c in text)
    assert expected.encode() == html.unescape(escaped).encode()


@pytest.mark.parametrize(
    "url",
    ["http://a.example", "HTTPS://A.EXAMPLE/x?y#z", "https://例え.example/", "https://[::1]:80/"],
)
def test_http_and_https_with_a_host_are_web_addresses(url):
    assert is_web_address(url)


@pytest.mark.parametrize(
    "url",
    [
        "", "a.example", "//a.example", "https:", "https://", "https:///x", "https://?x", "http:a.example",
        "javascript:alert(1)", "java\nscript:alert(1)", "\x01https://a.example", " https://a.example",
        "data:text/html,https://a.example", "file:///x", "ftp://a.example", "https://[::", "httpx://a.example",
    ],
)  # fmt: skip
def test_nothing_else_is(url):
    assert not is_web_address(url)
