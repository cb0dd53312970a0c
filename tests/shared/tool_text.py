"""The text that a model is given, read the way a Markdown reader reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from .outcome import Outcome

if TYPE_CHECKING:
    from dsh_web.render import SearchText

_SOURCE_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)]) \[.*?\]\(<?http")


def tool_text(outcome: Outcome) -> SearchText:
    """Return the tool's text for the outcome's result, under the case's limit."""
    from dsh_web.render import DEFAULT_MAX_CHARS, SearchText, render_search

    if outcome.tool is not None:
        payload = outcome.tool.payload or {}
        return SearchText(outcome.tool.text, is_cut=bool(payload.get("text_truncated")))
    return render_search(outcome.need("result"), max_chars=outcome.text_limit or DEFAULT_MAX_CHARS)


def link_destinations(text: str) -> list[str]:
    """Return the link destinations under CommonMark, in order, autolinks included."""
    reader = MarkdownIt("commonmark")
    # Its check of the scheme belongs to rendering; here a link is a link.
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return [
        str(child.attrs["href"])
        for block in reader.parse(text)
        for child in block.children or ()
        if child.type == "link_open"
    ]


def source_items(text: str) -> int:
    """Return how many lines read as a source item."""
    return sum(bool(_SOURCE_ITEM.match(line)) for line in text.splitlines())
