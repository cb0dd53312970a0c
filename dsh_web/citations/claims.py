"""What a marker supports: the sentence, list item or table cell before it, without any marker.

The stretch is contiguous and holds no marker: two markers in one sentence share it between them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from .lookups import Cover, Stretch
from .sentence_words import (
    ABBREVIATIONS,
    AFTER_ORDINALS,
    AT_ENDS_TOO,
    BEFORE_NUMBERS,
    BEFORE_ORDINALS,
    JOINING,
    LONGEST_ABBREVIATION,
    LONGEST_JOINING,
)

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
    rf"(?:[.,;:!?\u2026{_COMMAS}{_FULL_STOPS}]*+[{_CLOSING}]*+(?=\s)"
    rf"|[,{_COMMAS}{_FULL_STOPS}]++)?+"
    # perhaps a new line or list item,
    r"[ \t]*+(?:[\r\n]\s*+(?:[-*+\u2022][ \t]++|[0-9]{1,9}[.)][ \t]++)?+)?+"
    # and words without any end of a sentence, a line or a cell.
    rf"([*_\"'\u201c\u2018\u00ab\u201e(]*+[^\W_])[^\r\n|.!?\u2026{_FULL_STOPS}]*+"
)
_STOP = re.compile(rf"(?:([.!?\u2026]++)|[{_FULL_STOPS}])[{_CLOSING}]*+(?(1)(?=\s|\[|\Z))")
_LAST_WORD = re.compile(r"([^\W\d_](?:[^\W\d_]|\.)*+)\Z")
_NEXT_WORD = re.compile(r"\s*+([^\W\d_]*+)")
_ORDINAL = re.compile(r"(?:([^\W\d_]{1,9})[ \t]|(?<!\S))[0-9]{1,2}\Z")
_DELIMITER_ROW = re.compile(r"^[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)++$", re.MULTILINE)
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*+(?=[\r\n]|\Z)")
_LINE_IS_OVER = re.compile(r"[ \t]*+(?:[\r\n]|\Z)")
_LEADING: Final = (
    " \t\r\n\u2013\u2014,;:.!?\u2026\u3001\u3002\uff0c\uff1b\uff1a\u060c\u061b)\uff09|>"
)
_TRAILING: Final = " \t\r\n|>([\uff08"


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
        self._tables = list(_bare_tables(text, start)) if "|" in text else []
        """Tables whose rows begin with no pipe."""
        self._from = start
        """Where the claim of the next marker begins at the earliest."""
        self._shared: int | None = None
        """Index of the claim that a marker right here would share."""
        self._sentence: Stretch | None = None
        """The last sentence of this block that is over, if no marker stands behind it yet."""
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
                if last - first > LONGEST_JOINING or text[first:last].lower() not in JOINING:
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
        if prefix.strip(" \t>") or self._is_in_table(opening.end()):
            return True
        if above < 0:
            return self._is_special and (not self._is_quote or ">" not in prefix)
        line = _START.match(self._text, above + 1)
        assert line is not None  # every part of it is optional
        is_blank = line.end() >= newline
        return is_blank or line[1] is not None or (">" in prefix) != (">" in line[0])

    def _is_in_table(self, position: int) -> bool:
        index = bisect_right(self._tables, (position, len(self._text))) - 1
        return index >= 0 and position < self._tables[index][1]

    def _begin_block(self, opening: re.Match[str]) -> None:
        prefix, position = opening[0], opening.end()
        self._is_quote = ">" in prefix
        self._is_row = opening[1] == "|" or self._is_in_table(position)
        self._is_line = self._is_row or opening[1] is not None
        """True if the block ends with its line: a heading, a table row."""
        self._is_special = self._is_quote or self._is_line
        self._row_start = self._last_pipe = position
        self._begin_sentence(position)
        self._sentence = None

    def _begin_sentence(self, position: int) -> None:
        self._from = position
        self._shared = None

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
            or self._is_in_table(opening.end())
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
        if self._is_no_end(at, end, stop[1]) if stop[1] else self._goes_on(end):
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
            self._shared is not None and self._text[slice(*stretch)].lower() in JOINING
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
        after = _NEXT_WORD.match(self._text, end)
        follower = "" if after is None else after[1]
        if follower[:1].islower():
            return True
        if stop != "." or following in "\r\n":
            return False
        if self._text[at - LONGEST_ABBREVIATION - 1 : at].isalpha():
            return False  # longer than any abbreviation
        if self._text[at - 1 : at].isdigit():
            ordinal = _ORDINAL.search(self._text, max(self._from, at - 12), at)
            if ordinal is None:
                return False
            return (ordinal[1] or "").lower() in BEFORE_ORDINALS or follower.lower() in (
                AFTER_ORDINALS
            )
        word = _LAST_WORD.search(self._text, max(self._from, at - 12), at)
        if word is None:
            return False
        found = word[1].lower()
        if found in BEFORE_NUMBERS:
            return after is not None and self._text[after.end() : after.end() + 1].isdigit()
        if found in AT_ENDS_TOO:
            return not follower[:1].isupper()
        return len(found) == 1 or found in ABBREVIATIONS

    def _goes_on(self, end: int) -> bool:
        """Return whether a Japanese sentence only quotes the one that ends at `end`."""
        return self._text[end - 1] in "\u300d\u300f" and self._text.startswith("\u3068", end)

    def _trimmed(self, start: int, end: int) -> Stretch | None:
        """Return the stretch without what only surrounds words; None if no word is in it."""
        text = self._text[start:end]
        kept = text.lstrip(_LEADING)
        start += len(text) - len(kept)
        kept = kept.rstrip(_TRAILING)
        if not (kept[:1].isalnum() or any(map(str.isalnum, kept))):
            return None
        return start, start + len(kept)


def _bare_tables(text: str, start: int) -> Iterator[Stretch]:
    """Yield the tables of which only the delimiter row tells that they are some."""
    end = start
    for delimiter in _DELIMITER_ROW.finditer(text, start):
        if delimiter.start() < end:
            continue
        blank = _BLANK_LINE.search(text, delimiter.end())
        end = len(text) if blank is None else blank.end()
        heading = text.rfind("\n", start, max(start, delimiter.start() - 1)) + 1
        yield max(start, heading), end


def _has_blank_line(newline: str) -> bool:
    return newline.count("\n") > 1 or newline.replace("\r\n", "\n").count("\r") > 1
