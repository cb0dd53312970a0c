"""Where an answer holds citation markers, told apart from everything that only looks like one.

A marker is found by its shape alone (`[1]`, `[web:1, 3]`, `[2-4]`). What the Markdown around it
makes of it is decided here: nothing inside code, math, links, images, tags or comments is a marker,
nor the label of a definition line. Everything is one pass or a few, so that cost grows with the
length of the text whatever the text is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["MARKER", "Cover", "hidden_stretches", "is_json_object", "reasoning_end"]

MARKER: Final = r"\[(?:[a-z_]++:)?[0-9]++(?:[ \t]*+[,\-\u2013][ \t]*+(?:[a-z_]++:)?[0-9]++)*+\]"
"""The shape of a marker, as a regular expression without groups."""

_SIGNS: Final = ("`", "~~~", "$", "\\", "<", "](", "]:")
"""Without any of these there is nothing that could hide a marker."""
_NEEDS_A_LOOK = re.compile(r"[`$\\<(]")
_LINE_END = re.compile(r"\r\n?|\n")
_CONTAINER = re.compile(r"(?:[ ]{0,3}>[ \t]?+|[ \t]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)*+[ \t]*+")
_FENCE = re.compile(r"(`{3,}+)(?=[^`\r\n]*+(?:[\r\n]|\Z))|(~{3,}+)")
_DEFINITION = re.compile(r"\[[0-9]++\]:[ \t]*+<?[A-Za-z][A-Za-z0-9+.\-]*+://")
_LABEL = re.compile(r"\[[0-9]++\]")
_STARTS_BLOCK = re.compile(r"[ \t]*+(?:[-*+][ \t]|[0-9]{1,9}[.)][ \t]|#{1,6}[ \t]|\|)")
_PIECE = re.compile(
    r"\\[^\r\n]|`++|\$\$?|!?\[|\]|<!--|<(?=[A-Za-z/])|[\r\n]",
)
_TAG = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9+.\-]{1,31}:[^<>\s]*+"
    r"|/?[A-Za-z][A-Za-z0-9\-]*+(?:\s(?:[^<>\"']|\"[^\"<]{0,2000}+\"|'[^'<]{0,2000}+')*+)?/?)>"
)
_CODE_TAG = re.compile(r"<(code|pre|script|style|textarea|kbd|samp)\b", re.IGNORECASE)
_TARGET = re.compile(
    r"\([ \t]*+(?:\r\n?|\n)?[ \t]*+"
    r"(?:<[^<>\r\n]{0,4000}+>|(?:[^\s()<]|\((?:[^\s()]|\([^\s()]{0,1000}+\)){0,1000}+\)){0,4000}+)"
    r"(?:\s++(?:\"[^\"]{0,1000}+\"|'[^']{0,1000}+'|\([^()]{0,1000}+\)))?\s{0,50}+\)"
)
_MATH_CLOSERS = {"\\(": "\\)", "\\[": "\\]"}


def is_json_object(text: str) -> bool:
    """Return whether `text` as a whole is a JSON object: data, not an answer with markers."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


_THINK = re.compile(r"<(/?)think>")


def reasoning_end(text: str) -> int:
    """Return where a leading `<think>` block ends, 0 without one, the end if it stays open."""
    start = len(text) - len(text.lstrip())
    if not text.startswith("<think>", start):
        return 0
    depth = 0
    for tag in _THINK.finditer(text, start):
        depth += -1 if tag.group(1) else 1
        if depth == 0:
            return tag.end()
    return len(text)


def hidden_stretches(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Return the stretches of `text` from `start` in which no bracket is a marker, in order.

    Fenced code (also in lists and quotes), code spans, math, links and images, autolinks, tags
    and comments, escaped brackets and the labels of definition lines. Indented code is not among
    them: answers indent the paragraphs of a list far more often.
    """
    if not any(sign in text for sign in _SIGNS):
        return []
    hidden: list[tuple[int, int]] = []
    for run_start, run_end, breaks in _runs(text, start, hidden):
        if _NEEDS_A_LOOK.search(text, run_start, run_end):
            hidden.extend(_hidden_inline(text, run_start, run_end, breaks))
    hidden.sort()
    return hidden


def _runs(
    text: str, start: int, hidden: list[tuple[int, int]]
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the stretches between blank lines and fences, with the starts of their blocks.

    What whole lines decide, fences and definitions, is added to `hidden` on the way.
    """
    run_start, breaks = start, [start]
    fence = ""
    fence_start = quotes = indent = 0
    for line_start, line_end in _lines(text, start):
        container = _CONTAINER.match(text, line_start, line_end)
        assert container is not None  # every part of it is optional
        content = container.end()
        is_blank = content >= line_end or text[content] in "\r\n"
        prefix = text[line_start:content]
        if fence:
            left = not is_blank and (
                prefix.count(">") < quotes or (indent and content - line_start < indent)
            )
            closing = _FENCE.match(text, content, line_end)
            if not left:
                if closing and _closes(text, closing, line_end, fence):
                    hidden.append((fence_start, line_end))
                    fence, run_start, breaks = "", line_end, [line_end]
                continue
            hidden.append((fence_start, line_start))
            fence, run_start, breaks = "", line_start, [line_start]
        opening = _FENCE.match(text, content, line_end)
        if opening:
            if line_start > run_start:
                yield run_start, line_start, breaks
            fence = opening.group()
            fence_start, quotes = content, prefix.count(">")
            is_in_list = any(mark in prefix for mark in "-*+.)")
            indent = content - line_start if is_in_list else 0
            continue
        if is_blank:
            if line_start > run_start:
                yield run_start, line_start, breaks
            run_start, breaks = line_end, [line_end]
            continue
        if _DEFINITION.match(text, content, line_end):
            label = _LABEL.match(text, content, line_end)
            assert label is not None  # the definition begins with it
            hidden.append(label.span())
        if _STARTS_BLOCK.match(text, line_start, line_end) or ">" in prefix:
            breaks.append(line_start)
    if fence:
        hidden.append((fence_start, len(text)))
    elif len(text) > run_start:
        yield run_start, len(text), breaks


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    for end in _LINE_END.finditer(text, start):
        yield start, end.end()
        start = end.end()
    if start < len(text):
        yield start, len(text)


def _closes(text: str, closing: re.Match[str], line_end: int, fence: str) -> bool:
    return closing.group().startswith(fence) and not text[closing.end() : line_end].strip()


def _hidden_inline(text: str, start: int, end: int, breaks: list[int]) -> Iterator[tuple[int, int]]:
    """Yield what is hidden between `start` and `end`, which hold no blank line and no fence."""
    pieces = [(piece.start(), piece.group()) for piece in _PIECE.finditer(text, start, end)]
    closers = _Closers(text, pieces, breaks, end)
    open_brackets: list[int] = []
    position = start
    for at, piece in pieces:
        if at < position:
            continue
        position = at + len(piece)
        hidden_end = closers.end_of(at, piece)
        if piece == "]" and open_brackets:
            opened = open_brackets.pop()
            target = _TARGET.match(text, position, end)
            if target is not None:
                at, hidden_end = opened, target.end()
        elif piece.endswith("[") and piece[0] != "\\":
            open_brackets.append(at)
        if hidden_end is not None:
            yield at, hidden_end
            position = hidden_end


class _Closers:
    """What ends a stretch that was opened: looked up, never searched for again and again."""

    def __init__(
        self, text: str, pieces: list[tuple[int, str]], breaks: list[int], end: int
    ) -> None:
        self._text = text
        self._breaks = breaks
        self._end = end
        self._positions: dict[str, list[int]] = defaultdict(list)
        self._line_ends: list[int] = []
        self._dollars: list[int] = []
        self._runs: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._absent: set[str] = set()
        for at, piece in pieces:
            if piece in ("\\)", "\\]", "$$"):
                self._positions[piece].append(at)
            elif piece == "$" and self._can_close(at):
                self._dollars.append(at)
            elif piece in "\r\n":
                self._line_ends.append(at)
        if pieces and "`" in text:
            for run in _BACKTICKS.finditer(text, pieces[0][0], end):
                block = bisect_right(breaks, run.start())
                self._runs[block, run.end() - run.start()].append(run.start())

    def end_of(self, at: int, piece: str) -> int | None:
        """Return where what `piece` opens at `at` ends; None if it opens nothing."""
        first = piece[0]
        if first == "`":
            block = bisect_right(self._breaks, at)
            closer = _next(self._runs[block, len(piece)], at)
            return None if closer is None else closer + len(piece)
        if first == "$":
            return self._dollar_end(at) if piece == "$" else self._pair_end("$$", at + 2)
        if first == "\\":
            closed = self._pair_end(_MATH_CLOSERS.get(piece, ""), at + 2)
            # A lone `\\[` is a literal bracket, and so is what it would open.
            return at + 2 if closed is None and piece == "\\[" else closed
        return self._markup_end(at, piece) if first == "<" else None

    def _pair_end(self, closer: str, after: int) -> int | None:
        found = _next(self._positions[closer], after - 1) if closer else None
        return None if found is None else found + 2

    def _can_close(self, at: int) -> bool:
        before = self._text[at - 1 : at]
        after = self._text[at + 1 : at + 2]
        return bool(before) and not before.isspace() and not after.isdecimal()

    def _dollar_end(self, at: int) -> int | None:
        following = self._text[at + 1 : at + 2]
        if not following or following.isspace():
            return None
        closer = _next(self._dollars, at + 1)
        line_end = _next(self._line_ends, at)
        if closer is None or (line_end is not None and line_end < closer):
            return None
        return closer + 1

    def _markup_end(self, at: int, piece: str) -> int | None:
        if piece == "<!--":
            return self._found("-->", at + 4)
        tag = _TAG.match(self._text, at, self._end)
        if tag is None:
            return None
        code = _CODE_TAG.match(self._text, at)
        if code is None:
            return tag.end()
        return self._found(f"</{code.group(1).lower()}>", tag.end()) or tag.end()

    def _found(self, closer: str, after: int) -> int | None:
        """Return the end of the next `closer`, looking for an absent one only once."""
        if closer in self._absent:
            return None
        found = self._text.find(closer, after, self._end)
        if found < 0:
            self._absent.add(closer)
            return None
        return found + len(closer)


_BACKTICKS = re.compile("`++")


def _next(positions: list[int], after: int) -> int | None:
    """Return the first of the sorted `positions` that lies behind `after`."""
    index = bisect_right(positions, after)
    return positions[index] if index < len(positions) else None


class Cover:
    """Tells whether growing positions lie in one of the stretches."""

    def __init__(self, stretches: Sequence[tuple[int, int]]) -> None:
        self._stretches = stretches
        self._index = 0
        self._end = 0

    def holds(self, position: int) -> bool:
        """Return whether `position`, not below the one before, lies in a stretch."""
        while self._index < len(self._stretches) and self._stretches[self._index][0] <= position:
            self._end = max(self._end, self._stretches[self._index][1])
            self._index += 1
        return position < self._end
