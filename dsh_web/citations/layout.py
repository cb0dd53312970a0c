"""What is shown where: records checked against their text, grouped by place, and numbered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..errors import InvalidRequestError
from ..escaping import closed, is_web_address
from ..seam import WebSearchSource
from ..seam_citations import Citation
from .ledger import CitationLedger, SourceId, source_id
from .numbering import Numbering, numbered_sources
from .numbers import missing_label
from .scan import hidden_stretches

__all__ = [
    "MISSING_NOTE",
    "NOT_CITED",
    "Layout",
    "Missing",
    "Place",
    "ShownSource",
    "laid_out",
]

MISSING_NOTE: Final = "A question mark stands behind a number for which the answer has no source."
NOT_CITED: Final = "(not cited)"


@dataclass(frozen=True, slots=True)
class ShownSource:
    """One source as readers see it."""

    number: int | None
    """None: the answer does not cite it."""
    url: str | None
    title: str | None
    name: str
    """Never blank: the title, else the host, else what the provider calls it."""

    @property
    def link(self) -> str | None:
        """The address if it may become a link: only http and https may."""
        return self.url if self.url is not None and is_web_address(self.url) else None


@dataclass(frozen=True, slots=True)
class Missing:
    """A number in the answer that no source has."""

    label: str
    """`7?`, with the kind where the marker names another than the web: `file:7?`."""


Mark: TypeAlias = ShownSource | Missing


@dataclass(frozen=True, slots=True)
class Place:
    """Where marks stand in the text: instead of `content[start:end]`, which may be empty."""

    start: int
    end: int
    marks: tuple[Mark, ...]
    lead: str = ""
    """What Markdown needs before marks that would otherwise break a code fence or a table row: the
    end of a fence that is left open, and a blank line."""


@dataclass(frozen=True, slots=True)
class Layout:
    """An answer, ready to be written in any style."""

    content: str
    places: tuple[Place, ...]
    """In text order, without overlap."""
    cited: tuple[ShownSource, ...]
    """By number."""
    uncited: tuple[ShownSource, ...]
    """In the order given."""

    @property
    def has_missing(self) -> bool:
        """True if some number has no source."""
        return any(isinstance(mark, Missing) for place in self.places for mark in place.marks)

    @property
    def line_end(self) -> str:
        """The line end of the answer, for what is added to it."""
        return "\r\n" if "\r\n" in self.content else "\n"

    def pieces(self) -> Iterator[str | Place]:
        """Yield the text between the places, and the places, in turn."""
        position = 0
        for place in self.places:
            yield self.content[position : place.start]
            yield place
            position = place.end
        yield self.content[position:]


def laid_out(
    content: str | None,
    citations: Iterable[Citation],
    numbering: Numbering,
    sources: Iterable[WebSearchSource] = (),
) -> Layout:
    """Return what is shown where.

    Args:
        content: The answer that the records were read from.
        citations: In any order.
        numbering: See `numbered_sources`.
        sources: All sources of the answer; those that no record leads to are `uncited`.

    Raises:
        InvalidRequestError: A record does not fit the text, two overlap, the numbering is unknown,
            or the ledger lacks a source.
    """
    text = content or ""
    records = sorted(_checked(text, citations), key=lambda record: record.marker_span)
    numbers = numbered_sources(records, numbering)
    shown = _shown_sources(records, numbers, numbering)
    urls = {source.url for source in shown.values()}
    uncited = {
        source.url: ShownSource(None, source.url, source.title, source.label)
        for source in reversed(tuple(sources))
        if source.url not in urls
    }
    return Layout(
        text,
        tuple(_places(text, records, shown)),
        tuple(sorted(shown.values(), key=lambda source: source.number or 0)),
        tuple(reversed(uncited.values())),
    )


def _checked(text: str, citations: Iterable[Citation]) -> Iterator[Citation]:
    for position, record in enumerate(citations):
        if not isinstance(record, Citation):
            raise InvalidRequestError(
                f"citation {position} is a {type(record).__name__}: give Citation records "
                "(Citation.model_validate reads a stored one)"
            )
        start, end = record.marker_span
        if end > len(text) or text[start:end] != record.raw_marker:
            raise InvalidRequestError(
                f"citation {position} ({record.raw_marker!r} at {start}:{end}) does not fit the "
                f"content, which has {text[start:end][:40]!r} there: give the text that the "
                "records were read from, unchanged"
            )
        yield record


def _shown_sources(
    records: list[Citation], numbers: dict[SourceId, int], numbering: Numbering
) -> dict[SourceId, ShownSource]:
    titles: dict[SourceId, str] = {}
    if isinstance(numbering, CitationLedger):
        titles |= {entry.id: entry.title for entry in numbering.entries if entry.title}
    shown: dict[SourceId, ShownSource] = {}
    named = [(identity, record) for record in records if (identity := source_id(record))]
    for identity, record in named:
        if record.title and not record.title.isspace():
            titles.setdefault(identity, record.title)
    for identity, record in named:
        if identity not in shown:
            title = titles.get(identity)
            shown[identity] = ShownSource(
                numbers[identity], record.url, title, _name(record, title)
            )
    return shown


def _name(record: Citation, title: str | None) -> str:
    if record.url is not None:
        return WebSearchSource(url=record.url, title=title).label
    number = "" if record.source_index is None else f" {record.source_index}"
    return title or f"{record.source_type}{number}"


def _places(
    text: str, records: list[Citation], shown: dict[SourceId, ShownSource]
) -> Iterator[Place]:
    groups: dict[tuple[int, int], dict[Mark, None]] = {}
    spot = _Spots(text)
    for record in records:
        start, end = record.marker_span
        if start == end:
            start = end = spot.near(end)
        identity = source_id(record)
        mark = Missing(missing_label(record)) if identity is None else shown[identity]
        # The same source twice at one place is one mark.
        groups.setdefault((start, end), {})[mark] = None
    position = 0
    for (start, end), marks in sorted(groups.items(), key=lambda group: group[0]):
        if start < position:
            raise InvalidRequestError(
                f"citations overlap at {start}: one marker is one stretch of the content, and only "
                "the members of one group share it"
            )
        position = end
        yield Place(start, end, tuple(marks), _lead(text, end) if start == end else "")


_FENCE_END = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*")
_TABLE_ROW = re.compile(r"[ \t>]*\|.*\|[ \t]*")


def _lead(text: str, at: int) -> str:
    """Return what has to stand before marks at the end of a line that can take none."""
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line, rest = text[line_start:at], text[at:]
    following = rest.lstrip(" \t")
    if following and following[0] not in "\r\n":
        return ""
    blank = "\r\n\r\n" if "\r\n" in text else "\n\n"
    if not rest.strip():
        closing = closed(text[:at])[at:]
        if closing:
            return closing + blank
    is_last_row = _TABLE_ROW.fullmatch(line) and not rest.lstrip(" \t\r\n").startswith("|")
    return blank if is_last_row or _FENCE_END.fullmatch(line) else ""


class _Spots:
    """Where a mark can stand that has no marker of its own in the text; asked in text order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._hidden: Sequence[tuple[int, int]] | None = None
        self._index = 0
        self._end = 0

    def near(self, at: int) -> int:
        """Return the first position from `at` outside of code and links, and between characters."""
        if self._hidden is None:
            self._hidden = hidden_stretches(self._text)
        while self._index < len(self._hidden) and self._hidden[self._index][0] < max(at, self._end):
            self._end = max(self._end, self._hidden[self._index][1])
            self._index += 1
        at = max(at, self._end)
        text = self._text
        while 0 < at < len(text) and (
            unicodedata.category(text[at])[0] == "M" or "\u200d" in text[at - 1 : at + 1]
        ):
            at += 1
        return at - 1 if text[at - 1 : at + 1] == "\r\n" else at
