"""Answers as HTML that is safe to show and that screen readers can follow.

A mark is a real link whose name says which source it is; what a sighted reader sees stays in
brackets, so that `2025[1]` is never heard as a number of five digits. Nothing is told by colour
alone. Whatever the answer or the web wrote is escaped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from ..escaping import html_text, one_line, printable_url
from .layout import MISSING_NOTE, NOT_CITED, Layout, Missing, Place, ShownSource

__all__ = ["REL", "HtmlMarks", "as_html", "href", "html_of_text", "named"]

REL: Final = "noopener noreferrer nofollow"


_MOST_DETAILS: Final = 300
"""Marks of one answer that carry the details of their source; the list has them all."""


class HtmlMarks:
    """Writes the marks of one answer in the order of the page, and then the list of sources.

    Args:
        layout: The answer.
        id_prefix: What every `id` begins with.
        has_list: Whether a list follows, whose entries lead back to the marks.
        details: Returns what a pointer or the focus on a mark brings up, as HTML; None: nothing.
            It describes the mark to screen readers too, and stays hidden without a style.
    """

    def __init__(
        self,
        layout: Layout,
        id_prefix: str,
        *,
        has_list: bool,
        details: Callable[[ShownSource], str] | None = None,
    ) -> None:
        self._layout = layout
        self._prefix = id_prefix
        self._has_list = has_list
        self._details = details
        self._detailed = 0
        self._shown: defaultdict[ShownSource, int] = defaultdict(int)
        """How many marks of each source were written."""

    def place(self, place: Place, *, is_in_link: bool = False) -> str:
        """Return the marks of a place; links cannot stand in links, so there they are text."""
        return "".join(
            self._missing(mark)
            if isinstance(mark, Missing)
            else self._mark(mark, is_in_link=is_in_link)
            for mark in place.marks
        )

    def _missing(self, mark: Missing) -> str:
        label = html_text(one_line(mark.label))
        return f'<sup class="citation-missing" title="No source has this number">[{label}]</sup>'

    def _mark(self, source: ShownSource, *, is_in_link: bool) -> str:
        if source.link is None or is_in_link:
            return f'<sup class="citation">[{source.number}]</sup>'
        identity = ""
        if self._has_list:
            self._shown[source] += 1
            identity = f' id="{self._mark_id(source, self._shown[source])}"'
        name = html_text(f"Source {source.number}: {one_line(source.name)}")
        described, tip = self._tip(source)
        return (
            f'<sup class="citation"><a{identity} href="{href(source.link)}" rel="{REL}" '
            f'aria-label="{name}"{described}>[{source.number}]</a>{tip}</sup>'
        )

    def _tip(self, source: ShownSource) -> tuple[str, str]:
        if self._details is None or self._detailed >= _MOST_DETAILS:
            return "", ""
        self._detailed += 1
        identity = f"{self._prefix}tip-{self._detailed}"
        tip = f'<span class="citation-tip" role="tooltip" id="{identity}" hidden>'
        return f' aria-describedby="{identity}"', f"{tip}{self._details(source)}</span>"

    def _mark_id(self, source: ShownSource, count: int) -> str:
        return f"{self._prefix}mark-{source.number}-{count}"

    def source_list(self, *, list_cited: bool, list_uncited: bool) -> str:
        """Return the sources, each with links back to its marks; to be called last."""
        cited = self._layout.cited if list_cited else ()
        uncited = self._layout.uncited if list_uncited else ()
        parts = []
        if cited:
            parts += ["<ol>", *map(self._numbered_item, cited), "</ol>"]
        if uncited:
            items = (f"<li>{named(source)} {NOT_CITED}</li>" for source in uncited)
            parts += ["<ul>", *items, "</ul>"]
        if list_cited and self._layout.has_missing:
            parts.append(f"<p>{MISSING_NOTE}</p>")
        if not parts:
            return ""
        lines = ['<section class="citation-sources" aria-label="Sources">', *parts, "</section>"]
        return "\n".join(lines)

    def _numbered_item(self, source: ShownSource) -> str:
        back = "".join(f" {link}" for link in self.backlinks(source))
        identity = self.source_id(source)
        return f'<li id="{identity}" value="{source.number}">{named(source)}{back}</li>'

    def source_id(self, source: ShownSource) -> str:
        """Return the `id` of the entry of a cited source."""
        return f"{self._prefix}source-{source.number}"

    def backlinks(self, source: ShownSource) -> list[str]:
        """Return a link to each mark of `source`; to be called after the answer was written."""
        return [
            f'<a href="#{self._mark_id(source, number)}" role="doc-backlink" '
            f'aria-label="Back to mark {number} of source {source.number}">↩</a>'
            for number in range(1, self._shown[source] + 1)
        ]


def named(source: ShownSource) -> str:
    """Return the name of `source`, as a link if it may be one."""
    # Titles run in any direction, whatever the page around them does.
    name = f"<bdi>{html_text(one_line(source.name)) or 'source'}</bdi>"
    return name if source.link is None else f'<a href="{href(source.link)}" rel="{REL}">{name}</a>'


def href(url: str) -> str:
    """Return `url` for the attribute of a link."""
    return html_text(printable_url(url))


def as_html(body: str, source_list: str) -> str:
    """Return the whole: the answer, and what stands below it."""
    parts = ['<div class="cited-answer">', body, source_list, "</div>"]
    return "\n".join(part for part in parts if part) + "\n"


_LINE_END = re.compile(r"\r\n?|\n")
_PARAGRAPH_END = re.compile(r"(?:\r\n?|\n)(?:[ \t]*+(?:\r\n?|\n))++")


def html_of_text(layout: Layout, marks: HtmlMarks) -> str:
    """Return the answer as text in paragraphs, with its line breaks; its Markdown is not read."""
    text = "".join(
        marks.place(piece) if isinstance(piece, Place) else html_text(piece)
        for piece in layout.pieces()
    )
    paragraphs = (part.strip() for part in _PARAGRAPH_END.split(text))
    return "\n".join(
        f'<p dir="auto">{_LINE_END.sub("<br>", part)}</p>' for part in paragraphs if part
    )
