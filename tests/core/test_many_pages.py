"""Two hundred pages of all sizes, encodings and layouts become Markdown without a loss."""

from __future__ import annotations

import argparse
import asyncio
import email.message
import json
import random
import re
import textwrap

import pytest
from markdown_it import MarkdownIt

from dsh_web.pages.charset import decode_page
from dsh_web.pages.markdown import to_markdown

from .html_pages import documentation_pages, made_page

URL = "https://a.example/docs/"


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_made_pages_keep_what_is_seen_and_lose_what_is_not(start: int) -> None:
    for seed in range(start, start + 20):
        page = made_page(seed)
        source = page.source.encode(page.encoding, "xmlcharrefreplace")

        decoded = decode_page(source, label=None, kind="html", max_chars=10_000_000)
        text = to_markdown(decoded.text, base_url=URL).text

        assert set().union(*map(words_of, page.seen)) <= words_of(text), seed
        assert "unseen" not in text, seed
        tokens = MarkdownIt("commonmark").parse(text)
        found = [
            child.attrs["href"]
            for token in tokens
            for child in token.children or ()
            if child.type == "link_open"
        ]
        assert set(page.links) == set(map(str, found)), seed


def test_pages_of_the_standard_library_are_converted() -> None:
    modules = (argparse, asyncio, email.message, json, random, re, textwrap)
    for source in documentation_pages(*modules):
        page = to_markdown(source, base_url=URL)

        assert page.text
        assert not page.is_cut
        assert "<table" not in page.text.lower().replace("\\<", "")
