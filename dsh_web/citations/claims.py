"""What a marker supports: the sentence, list item or table cell before it, without any marker.

The stretch is contiguous and holds no marker: two markers in one sentence share it between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .lookups import Cover, Stretch

__all__ = ["claim_spans"]

_BLOCK_START = (
    r"(?:[ \t]*+>)*+[ \t]*+"  # quotes
    r"(?:(?:[-*+\u2022\u2023\u25e6]|[0-9]{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?+)?+"  # list items
    r"(\#{1,6}[ \t]++"  # headings
    r"|(?:`{3,}+|~{3,}+)[^\r\n]*+"  # fences
    r"|\|"  # table rows
    r"|(?:-{3,}+|={3,}+|\*{3,}+|_{3,}+)(?=[ \t]*+(?:[\r\n]|\Z)))?+"  # rules
)
_START = re.compile(_BLOCK_START)
_NEWLINE = re.compile(r"(?:\r\n?|\n)[ \t\r\n]*+")
_FULL_STOPS: Final = (
    "\u3002\uff01\uff1f\uff61"  # Chinese, Japanese
    "\u0964\u06d4\u061f"  # Hindi, Urdu, Arabic
    "\u1362\u0589\u104b\u17d4"  # Amharic, Armenian, Burmese, Khmer
)
"""These end a sentence whatever follows; the others need a space behind them."""
_COMMAS: Final = "\u3001\uff0c\uff1b\uff1a\u060c\u061b"
_CLOSING: Final = "\"'\u201d\u2019\u00bb)*_\\]\u300d\u300f\uff09"
_EVENT = re.compile(rf"[\r\n|.!?\u2026{_FULL_STOPS}]")
_PLAIN = re.compile(
    # What the marker before this one leaves behind,
    rf"(?:[.,;:!?\u2026{_COMMAS}{_FULL_STOPS}]*+[{_CLOSING}]*+(?=\s)|[,{_COMMAS}{_FULL_STOPS}]++)?+"
    # perhaps a new line or list item,
    r"[ \t]*+(?:[\r\n]\s*+(?:[-*+\u2022][ \t]++|[0-9]{1,9}[.)][ \t]++)?+)?+"
    # and words without any end of a sentence, a line or a cell.
    rf"([*_\"'\u201c\u2018\u00ab\u201e(]*+[^\W_])[^\r\n|.!?\u2026{_FULL_STOPS}]*+"
)
_STOP = re.compile(rf"(?:([.!?\u2026]++)|[{_FULL_STOPS}])[{_CLOSING}]*+(?(1)(?=\s|\[|\Z))")
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
    e.g i.e vs cf dr mr mrs ms prof st al approx inc ltd co corp jr sr u.s u.k u.n e.u ph.d z.b d.h
    u.a bzw ca evtl ggf vgl p.ex eds ed est dept gov gen col sen rep rev hon jan feb mar apr jun
    jul aug sep sept oct nov dec a.d b.c sra min max ref refs incl excl resp z.t mio mrd
"""
_WORDS_BEFORE_NUMBERS = "no nr fig figs eq vol vols art abs bd p pp pag sec ch chap op s"
_WORDS_AT_ENDS_TOO = "etc usw a.m p.m"
_JOINING = frozenset(_JOINING_WORDS.split())
_LONGEST_JOINING = max(map(len, _JOINING))
_ABBREVIATIONS = frozenset(_ABBREVIATED_WORDS.split())
_BEFORE_NUMBERS = frozenset(_WORDS_BEFORE_NUMBERS.split())
_AT_ENDS_TOO = frozenset(_WORDS_AT_ENDS_TOO.split())


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
    return _ClaimReader(text, start, hidden).read(groups)


class _ClaimReader:
    """Walks over line ends, sentence ends and markers, and remembers what may be a claim."""

    def __init__(self, text: str, start: int, hidden: Sequence[Stretch]) -> None:
        self._text = text
        self._cover = Cover(hidden)
        self._taken = start
        """Up to here the text was looked at."""
        self._claims: list[Stretch] = []
        self._waiting: list[int] = []
        """Claims of markers with nothing before them: they support what follows."""
        self._waiting_from = start
        self._has_returns = "\r" in text
        opening = _START.match(text, start)
        assert opening is not None  # every part of it is optional
        self._begin_block(opening)

    def read(self, groups: Sequence[Stretch]) -> list[Stretch]:
        """Return the claims, in the order of the groups."""
        text, claims, plain = self._text, self._claims, _PLAIN.fullmatch
        position = self._from
        for start, end in groups:
            if not (self._waiting or self._is_special) and (words := plain(text, position, start)):
                # Words that hold no end of anything: most claims are such.
                first, last = words.start(1), start
                while text[last - 1] in _TRAILING:
                    last -= 1
                if last - first > _LONGEST_JOINING or text[first:last].lower() not in _JOINING:
                    self._from = self._taken = position = end
                    self._shared = len(claims)
                    claims.append((first, last))
                    continue
            if not self._waiting:
                position = self._skip_blocks(position, start)
            for event in _EVENT.finditer(text, position, start):
                self._take(event.start())
            self._take_group(start, end)
            position = end
        if self._waiting:
            for event in _EVENT.finditer(text, position):
                self._take(event.start())
                if not self._waiting:
                    break
            self._settle(len(text))
        return claims

    def _skip_blocks(self, start: int, end: int) -> int:
        """Go to the last block that begins between `start` and `end`; return where to look on."""
        text, newline = self._text, self._last_newline(start, end)
        while newline >= 0:
            opening = _START.match(text, newline + 1)
            assert opening is not None  # every part of it is optional
            above = self._last_newline(start, newline)
            if self._is_break(opening, above, newline):
                self._begin_block(opening)
                return opening.end()
            newline = above
        return start

    def _last_newline(self, start: int, end: int) -> int:
        newline = self._text.rfind("\n", start, end)
        if self._has_returns:
            newline = max(newline, self._text.rfind("\r", start, end))
        return newline

    def _is_break(self, opening: re.Match[str], above: int, newline: int) -> bool:
        """Return whether the line that `opening` begins is no continuation of the one above it."""
        prefix = opening[0]
        if prefix.strip(" \t>"):
            return True
        if above < 0:
            return self._is_special and (not self._is_quote or ">" not in prefix)
        line = _START.match(self._text, above + 1)
        assert line is not None  # every part of it is optional
        is_blank = line.end() >= newline
        return is_blank or line[1] is not None or (">" in prefix) != (">" in line[0])

    def _begin_block(self, opening: re.Match[str]) -> None:
        prefix, position = opening[0], opening.end()
        self._is_quote = ">" in prefix
        self._is_line = opening[1] is not None
        """True if the block ends with its line: a heading, a table row."""
        self._is_row = opening[1] == "|"
        self._is_special = self._is_quote or self._is_line
        self._row_start = self._last_pipe = position
        self._begin_sentence(position)
        self._sentence: Stretch | None = None

    def _begin_sentence(self, position: int) -> None:
        self._from = position
        self._shared: int | None = None
        """Index of the claim that a marker right here would share."""

    def _take(self, at: int) -> None:
        """Look at a line end, a pipe or a full stop; positions only grow."""
        if at < self._taken:
            return
        character = self._text[at]
        if character in "\r\n":
            self._take_line_end(at)
        elif self._cover.holds(at):
            return  # what stands in code or math ends nothing
        elif character != "|":
            self._take_stop(at)
        elif self._is_row and self._text[at - 1 : at] != "\\":
            self._settle(at)
            self._last_pipe = at
            self._begin_sentence(at + 1)
            self._sentence = None

    def _take_line_end(self, at: int) -> None:
        newline = _NEWLINE.match(self._text, at)
        assert newline is not None  # a line end stands here
        opening = _START.match(self._text, newline.end())
        assert opening is not None  # every part of it is optional
        self._taken = opening.end()
        prefix = opening[0]
        if (
            self._is_line
            or prefix.strip(" \t>")
            or (">" in prefix) != self._is_quote
            or _has_blank_line(newline[0])
        ):
            self._settle(at)
            self._begin_block(opening)

    def _take_stop(self, at: int) -> None:
        stop = _STOP.match(self._text, at)
        if stop is None:
            return
        end = self._taken = stop.end()
        if stop[1] is not None and self._is_no_end(at, end, stop[1]):
            return
        stretch = self._trimmed(self._from, end) if self._from < at else None
        if self._waiting:
            self._settle(end)
        shared = self._shared
        self._begin_sentence(end)
        if stretch is None:
            # `rose[1]. [2]`: the second marker has nothing of its own either.
            self._shared = shared
        else:
            self._sentence = stretch

    def _take_group(self, start: int, end: int) -> None:
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
            if self._waiting and self._waiting[-1] == self._shared:
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
        self._from = self._row_start = end
        self._shared = index

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
        if self._text[at - 6 : at].isalpha():
            return False  # longer than any abbreviation
        word = _LAST_WORD.search(self._text, max(self._from, at - 12), at)
        if word is None:
            return False
        found, follower = word[1].lower(), "" if after is None else after[1]
        if found in _BEFORE_NUMBERS:
            return follower.isdigit()
        if found in _AT_ENDS_TOO:
            return not follower.isupper()
        return len(found) == 1 or found in _ABBREVIATIONS

    def _trimmed(self, start: int, end: int) -> Stretch | None:
        """Return the stretch without what only surrounds words; None if no word is in it."""
        text = self._text[start:end]
        kept = text.lstrip(_LEADING)
        start += len(text) - len(kept)
        kept = kept.rstrip(_TRAILING)
        if not (kept[:1].isalnum() or any(map(str.isalnum, kept))):
            return None
        return start, start + len(kept)


def _has_blank_line(newline: str) -> bool:
    return newline.count("\n") > 1 or newline.replace("\r\n", "\n").count("\r") > 1
