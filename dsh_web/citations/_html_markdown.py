"""The Markdown of an answer as HTML, with its marks; needs markdown-it-py (extra `html`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from ..escaping import is_web_address
from ._html import REL, HtmlMarks
from .layout import Layout, Place

__all__ = ["html_of_markdown"]

_SENTINEL: Final = "\ue000"
"""A character for private use, which no text means anything by."""
_BLOCKS: Final = frozenset(
    {"heading_open", "list_item_open", "paragraph_open", "td_open", "th_open"}
)
_DEEPEST: Final = 100
"""Nested quotes and lists; what is deeper is left out by the parser."""


def html_of_markdown(layout: Layout, marks: HtmlMarks) -> str:
    """Return the answer's Markdown as HTML.

    Tags in it are shown as text, links lead to http and https only, and pictures become links:
    a picture's address is a way to tell a stranger's server that the answer was read.
    """
    slots = _Slots(layout)
    reader = _Reader(slots)
    tokens = reader.parse(slots.text)
    for token in tokens:
        if token.type in _BLOCKS:
            token.attrSet("dir", "auto")
        token.content = slots.restored(token.content)
        token.info = slots.restored(token.info)
        if token.children:
            _finish(token.children, slots, marks)
    return str(reader.renderer.render(tokens, reader.options, {})).rstrip()


def _finish(tokens: Sequence[Token], slots: _Slots, marks: HtmlMarks) -> None:
    links = 0
    for token in tokens:
        if token.type == "link_open":
            links += 1
            token.attrSet("rel", REL)
            if "title" in token.attrs:
                token.attrSet("title", slots.restored(str(token.attrs["title"])))
        elif token.type == "link_close":
            links -= 1
        elif token.type == "citation":
            # The renderer writes such a token as it is.
            token.type = "html_inline"
            token.content = marks.place(slots.places[token.meta["slot"]], is_in_link=links > 0)
        else:
            token.content = slots.restored(token.content)


class _Slots:
    """The answer with a slot for each place, which no text can imitate."""

    def __init__(self, layout: Layout) -> None:
        runs = re.findall(f"{_SENTINEL}+", layout.content)
        fence = _SENTINEL * (max(map(len, runs), default=0) + 1)
        # In brackets, as most markers are: what surrounds them decides what is emphasised.
        self.pattern = re.compile(rf"\[{fence}([0-9]+){fence}\]")
        self._content = layout.content
        self.places: list[Place] = []
        out = []
        for piece in layout.pieces():
            if isinstance(piece, Place):
                out.append(f"{piece.lead}[{fence}{len(self.places)}{fence}]")
                self.places.append(piece)
            else:
                out.append(piece)
        self.text = "".join(out)

    def restored(self, text: str) -> str:
        """Return `text` as the answer has it: with the markers as written."""

        def written(match: re.Match[str]) -> str:
            place = self.places[int(match.group(1))]
            return self._content[place.start : place.end]

        return self.pattern.sub(written, text) if _SENTINEL in text else text


class _Reader(MarkdownIt):
    """CommonMark with tables, for text by strangers."""

    def __init__(self, slots: _Slots) -> None:
        super().__init__("commonmark", {"html": False, "xhtmlOut": False, "maxNesting": _DEEPEST})
        self._slots = slots
        self.enable(["table", "strikethrough"])
        # Answers indent the paragraphs of a list far more often than they indent code.
        self.disable(["code", "image"])
        self.inline.ruler.before("escape", "citation", self._citation)

    def _citation(self, state: StateInline, silent: bool) -> bool:
        match = self._slots.pattern.match(state.src, state.pos)
        if match is None:
            return False
        if not silent:
            state.push("citation", "", 0).meta = {"slot": int(match.group(1))}
        state.pos = match.end()
        return True

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the parser's name
        return is_web_address(url)

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the parser's name
        return super().normalizeLink(self._slots.restored(url))
