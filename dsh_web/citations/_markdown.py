"""Answers as Markdown: each mark a link, or a footnote.

Whatever is added is read as added: titles and addresses break out of nothing, and reading the
rendered text finds no marker in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ..escaping import closed, destination, encoded, one_line
from .layout import MISSING_NOTE, NOT_CITED, Layout, Missing, Place, ShownSource

__all__ = ["footnoted", "linked"]

_LONGEST_TOOLTIP: Final = 150
"""Code points; the list of sources has the whole title."""
_LONGEST_PLAIN_LINK: Final = 2000
"""Code points; a reader that gives up on longer links shows their text, which is then no marker."""
_LIKE_MARKUP: Final = {ord(c): f"&#{ord(c)};" for c in "[]`|$\"'"}


def linked(layout: Layout, *, list_cited: bool, list_uncited: bool) -> str:
    """Return the answer with links in place of markers: `[[1]](https://... "title")`."""
    writer = _Writer(layout)
    body = writer.body(writer.link)
    body = _with_list(layout, body, writer, list_cited=list_cited, list_uncited=list_uncited)
    return _with_note(layout, body) if list_cited else body


def footnoted(layout: Layout, *, list_uncited: bool) -> str:
    """Return the answer with `[^1]` in place of markers, and a definition for each source."""
    writer = _Writer(layout)
    prefix = _free_prefix(layout)

    def footnote(source: ShownSource) -> str:
        return f"[^{prefix}{source.number}]"

    body = writer.body(footnote, is_footnote=True)
    definitions = [f"{footnote(source)}: {writer.entry(source)}" for source in layout.cited]
    if definitions:
        body = _appended(layout, body, definitions)
    body = _with_list(layout, body, writer, list_cited=False, list_uncited=list_uncited)
    return _with_note(layout, body)


class _Writer:
    """Writes marks for one answer."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        # Where the text defines link targets of its own, `[1]` in brackets could be one of them.
        self._has_definitions = "]:" in layout.content
        self._links: dict[ShownSource, str] = {}

    def body(self, shown: Callable[[ShownSource], str], *, is_footnote: bool = False) -> str:
        """Return the answer with its marks; `shown` writes those that have a source."""
        out: list[str] = []
        for piece in self._layout.pieces():
            if isinstance(piece, Place):
                out += [piece.lead] if piece.lead else []
                out += [
                    self.missing(mark) if isinstance(mark, Missing) else shown(mark)
                    for mark in piece.marks
                ]
            elif piece:
                # `[^1]:` could begin a definition.
                is_definition = is_footnote and piece[0] == ":" and bool(out)
                out.append(f"\\{piece}" if is_definition else piece)
        return "".join(_guarded(out))

    def link(self, source: ShownSource) -> str:
        """Return the link of a source: its number in brackets, its title as tooltip."""
        if source not in self._links:
            self._links[source] = self._link(source)
        return self._links[source]

    def missing(self, mark: Missing) -> str:
        """Return a number without a source, as text that nothing makes a link of."""
        label = encoded(mark.label)
        return f"&#91;{label}&#93;" if self._has_definitions else f"[{label}]"

    def entry(self, source: ShownSource, *, has_number: bool = False) -> str:
        """Return the source for a list: its title as a link."""
        name = encoded(source.name) or "source"
        if source.link is None:
            name = _unlinked(name)
            return f"&#91;{source.number}&#93; {name}" if has_number else name
        target = _target(source.link)
        number = f"{self._bracketed(source, target)} " if has_number else ""
        return f"[{number}{name}]({target})"

    def _link(self, source: ShownSource) -> str:
        if source.link is None:
            return f"&#91;{source.number}&#93;"
        target = _target(source.link)
        tooltip = _tooltip(source.title or "")
        return f"[{self._bracketed(source, target)}]({target}{tooltip})"

    def _bracketed(self, source: ShownSource, target: str) -> str:
        is_plain = not self._has_definitions and len(target) <= _LONGEST_PLAIN_LINK
        return f"[{source.number}]" if is_plain else f"&#91;{source.number}&#93;"


def _target(url: str) -> str:
    target = destination(url).translate(_LIKE_MARKUP)
    return f"<{target}>" if "(" in target or ")" in target else target


def _tooltip(title: str) -> str:
    title = one_line(title)
    if len(title) > _LONGEST_TOOLTIP:
        title = title[: _LONGEST_TOOLTIP - 1].rstrip() + "…"
    return f' "{encoded(title)}"' if title else ""


def _guarded(out: list[str]) -> list[str]:
    """Keep what stands before a mark from changing it: `!` would make it an image."""
    guarded = []
    for index, piece in enumerate(out):
        if index + 1 < len(out) and piece[-1] in "!\\":  # no mark ends like this
            bare = piece.removesuffix("!")
            escapes = len(bare) - len(bare.rstrip("\\"))
            # An escaped `!` is text already; a single backslash would escape the bracket.
            if (escapes % 2 == 0) == (bare != piece):
                piece = f"{bare}\\{piece[len(bare) :]}"
        guarded.append(piece)
    return guarded


def _unlinked(name: str) -> str:
    """Return encoded text so that it neither begins a block nor becomes a link by itself."""
    name = name.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")
    return name if name[0].isalpha() or name[0] == "&" else f"&#{ord(name[0])};{name[1:]}"


_FOOTNOTE = re.compile(r"\[\^([^\[\]\s]{1,1000})\]")


def _free_prefix(layout: Layout) -> str:
    """Return what our labels begin with so that none of them is in the text: nothing, if it can."""
    taken = {label.casefold() for label in _FOOTNOTE.findall(layout.content)}
    numbers = [source.number for source in layout.cited]
    prefix, attempt = "", 1
    while any(f"{prefix}{number}" in taken for number in numbers):
        prefix = "source-" if attempt == 1 else f"source-{attempt}-"
        attempt += 1
    return prefix


def _with_list(
    layout: Layout, body: str, writer: _Writer, *, list_cited: bool, list_uncited: bool
) -> str:
    items = []
    if list_cited:
        items += [f"- {writer.entry(source, has_number=True)}" for source in layout.cited]
    if list_uncited:
        items += [f"- {writer.entry(source)} {NOT_CITED}" for source in layout.uncited]
    return _appended(layout, body, ["**Sources**", "", *items]) if items else body


def _with_note(layout: Layout, body: str) -> str:
    return _appended(layout, body, [MISSING_NOTE]) if layout.has_missing else body


def _appended(layout: Layout, body: str, lines: list[str]) -> str:
    """Return `body` with `lines` after it, outside of any block that it leaves open."""
    body = closed(body.rstrip())
    end = layout.line_end
    return (f"{body}{end}{end}" if body else "") + end.join(lines) + end
