"""What a marker supports: the sentence, list item or table cell before it, without any marker.

The stretch is contiguous and holds no marker: two markers in one sentence share it between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from .scan import Cover

__all__ = ["claim_spans"]

Stretch: TypeAlias = tuple[int, int]

_BLOCK_START = (
    r"(?:[ \t]*+>)*+[ \t]*+"  # quotes
    r"(?:(?:[-*+\u2022\u2023\u25e6]|[0-9]{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?+)?+"  # list items
    r"(?:\#{1,6}[ \t]++"  # headings
    r"|(?:`{3,}+|~{3,}+)[^\r\n]*+"  # fences
    r"|\|"  # table rows
    r"|(?:-{3,}+|={3,}+|\*{3,}+|_{3,}+)(?=[ \t]*+(?:[\r\n]|\Z)))?+"  # rules
)
_START = re.compile(_BLOCK_START)
_CLOSING = "\"'\u201d\u2019\u00bb)*_\\]\u300d\u300f\uff09"
_EVENT = re.compile(
    rf"(?P<newline>(?:\r\n?|\n)[ \t\r\n]*+)(?P<prefix>{_BLOCK_START})"
    r"|(?P<pipe>(?<!\\)\|)"
    rf"|(?P<stop>[.!?\u2026]++)[{_CLOSING}]*+(?=\s|\[|\Z)"
    rf"|[\u3002\uff01\uff1f\uff61\u0964\u06d4\u061f][{_CLOSING}]*+"
)
_LAST_WORD = re.compile(r"([^\W\d_](?:[^\W\d_]|\.)*+)\Z")
_NEXT_CHARACTER = re.compile(r"\s*+(.)", re.DOTALL)
_LINE_IS_OVER = re.compile(r"[ \t]*+(?:[\r\n]|\Z)")
_LEADING: Final = " \t\r\n,;:.!?\u2026\u3001\u3002\uff0c\uff1b\uff1a\u060c\u061b)\uff09|>"
_TRAILING: Final = " \t\r\n|>([\uff08"

_JOINING_WORDS = (
    "and or & und oder et ou y e o i og och en ja ve \u0438 \u0438\u043b\u0438 \u548c \u4e0e "
    "\u3068 \u304a\u3088\u3073 \u0648 see cf via"
)
_ABBREVIATED_WORDS = """
    e.g i.e etc vs cf dr mr mrs ms prof st no nr fig figs eq al approx inc ltd co corp jr sr u.s u.k
    u.n e.u ph.d z.b d.h u.a bzw ca usw evtl ggf vgl abs art bd p.ex vol vols ed eds pp est dept gov
    gen col sen rep rev hon jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m a.d b.c sra
    pag min max ref refs sec ch chap op incl excl resp z.t mio mrd
"""
_JOINING = frozenset(_JOINING_WORDS.split())
_ABBREVIATIONS = frozenset(_ABBREVIATED_WORDS.split())


def claim_spans(
    text: str, groups: Sequence[Stretch], hidden: Sequence[Stretch], start: int = 0
) -> list[Stretch]:
    """Return the claim of each marker group.

    Args:
        text: The answer.
        groups: Where the markers stand, in order, without overlap.
        hidden: Stretches whose punctuation ends no sentence (code, math), in order.
        start: Where the answer begins in `text`.
    """
    reader = _ClaimReader(text, start)
    events = iter(_EVENT.finditer(text, start))
    event = next(events, None)
    cover = Cover(hidden)
    for group in groups:
        while event is not None and event.start() < group[0]:
            if event["newline"] is not None or not cover.holds(event.start()):
                reader.take(event)
            event = next(events, None)
        while event is not None and event.start() < group[1]:
            event = next(events, None)
        reader.take_group(*group)
    while event is not None and reader.is_waiting:
        if event["newline"] is not None or not cover.holds(event.start()):
            reader.take(event)
        event = next(events, None)
    return reader.finish()


class _ClaimReader:
    """Walks over line ends, sentence ends and markers, and remembers what may be a claim."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._claims: list[Stretch] = []
        self._waiting: list[int] = []
        """Claims of markers with nothing before them: they support what follows."""
        self._waiting_from = start
        opening = _START.match(text, start)
        assert opening is not None  # every part of it is optional
        self._begin_block(opening.end(), opening.group())

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def _begin_block(self, position: int, prefix: str) -> None:
        self._is_heading = "#" in prefix
        self._is_quote = ">" in prefix
        self._is_row = prefix.endswith("|")
        self._row_start = self._last_pipe = position
        self._begin_sentence(position)
        self._sentence: Stretch | None = None

    def _begin_sentence(self, position: int) -> None:
        self._from = position
        self._shared: int | None = None
        """Index of the claim that a marker right here would share."""

    def take(self, event: re.Match[str]) -> None:
        at, end = event.span()
        if event["newline"] is not None:
            prefix = event["prefix"]
            is_break = (
                self._is_heading
                or self._is_row
                or _blank_lines(event["newline"])
                or bool(prefix.strip(" \t>"))
                or (">" in prefix) != self._is_quote
            )
            if is_break:
                self._settle(at)
                self._begin_block(end, prefix)
            return
        if event["pipe"] is not None:
            if self._is_row:
                self._settle(at)
                self._last_pipe = at
                self._begin_sentence(end)
                self._sentence = None
            return
        if event["stop"] is not None and self._is_no_end(at, end, event["stop"]):
            return
        stretch = self._trimmed(self._from, end)
        self._settle(end)
        if stretch is not None:
            self._sentence, self._last = stretch, None
        else:
            self._last = self._shared
        self._begin_sentence(end)
        self._shared = self._last

    _last: int | None = None

    def take_group(self, start: int, end: int) -> None:
        """Find the claim of the marker group from `start` to `end`."""
        index = len(self._claims)
        stretch = self._trimmed(self._from, start)
        if stretch is not None and not (
            self._shared is not None and self._text[slice(*stretch)].lower() in _JOINING
        ):
            self._settle(start)
            self._claims.append(stretch)
        elif self._shared is not None:
            self._claims.append(self._claims[self._shared])
            if self._shared in self._waiting:
                self._waiting.append(index)
                self._waiting_from = end
        elif self._sentence is not None:
            self._claims.append(self._sentence)
        elif self._is_row and self._is_row_over(end):
            row = self._trimmed(self._row_start, self._last_pipe)
            self._claims.append(row or (start, start))
        else:
            self._claims.append((start, start))
            self._waiting.append(index)
            self._waiting_from = end
        self._from = end
        self._shared = index

    def finish(self) -> list[Stretch]:
        """Return the claims, in the order of the groups."""
        self._settle(len(self._text))
        return self._claims

    def _settle(self, end: int) -> None:
        """Give waiting markers what stands between them and `end`."""
        if not self._waiting:
            return
        stretch = self._trimmed(self._waiting_from, end)
        if stretch is not None:
            for index in self._waiting:
                self._claims[index] = stretch
        self._waiting.clear()

    def _is_row_over(self, end: int) -> bool:
        return _LINE_IS_OVER.match(self._text, end) is not None

    def _is_no_end(self, at: int, end: int, stop: str) -> bool:
        following = self._text[end : end + 1]
        if not following or following == "[":
            return False
        after = _NEXT_CHARACTER.match(self._text, end)
        if after is not None and after.group(1).islower():
            return True
        if stop != "." or following in "\r\n":
            return False
        word = _LAST_WORD.search(self._text, max(self._from, at - 12), at)
        if word is None:
            return False
        found = word.group(1)
        return len(found) == 1 or found.lower() in _ABBREVIATIONS

    def _trimmed(self, start: int, end: int) -> Stretch | None:
        """Return the stretch without what only surrounds words; None if no word is in it."""
        text = self._text[start:end]
        kept = text.lstrip(_LEADING)
        start += len(text) - len(kept)
        kept = kept.rstrip(_TRAILING)
        if not any(map(str.isalnum, kept)):
            return None
        return start, start + len(kept)


def _blank_lines(newline: str) -> bool:
    return newline.count("\n") > 1 or newline.replace("\r\n", "\n").count("\r") > 1
