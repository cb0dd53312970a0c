"""What whole lines of Markdown decide: fences, blocks of math and HTML, and what belongs together.

Lines are told apart by one regular expression that skips ordinary ones, so that prose costs next
to nothing. Indented code is not looked for: answers indent the paragraphs of a list far more often
than they indent code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from .lookups import Next, Stretch

__all__ = ["Blocks", "blocks_of"]

_NEWLINE: Final = r"(?:\r\n?|\n)"
_AT_END: Final = r"(?=[ \t]*+(?:[\r\n]|\Z))"
_KIND: Final = (
    r"(?P<marks>(?:[ \t]*+(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t\r\n]|\Z)))++)?+(?P<indent>[ \t]*+)"
    r"(?:(?P<blank>(?=[\r\n]|\Z))"
    r"|(?P<fence>`{3,}+(?=[^`\r\n]*+(?:[\r\n]|\Z))|~{3,}+)"
    rf"|(?P<display>(?:\$\$|\\\[){_AT_END})"
    r"|(?P<math>\$\$|\\\[)"
    r"|(?P<markup><!--|<(?i:pre|script|style|textarea)(?=[\s>]))"
    r"|(?P<label>\[(?:[a-z_]++:)?[0-9]++\])(?=:[ \t]*+<?[A-Za-z][A-Za-z0-9+.\-]*+://)"
    rf"|(?P<line>(?:\#{{1,6}}(?=[ \t])|\|)[^\r\n]*+|(?:-{{2,}}+|={{2,}}+|\*{{3,}}+|_{{3,}}+){_AT_END})"
    r"|(?(marks)|(?!)))"
)
_FIRST_LINE = re.compile(_KIND)
_LINE = re.compile(_NEWLINE + _KIND)
_CLOSING_FENCE = re.compile(rf"{_NEWLINE}([ \t]*+)(`{{3,}}+|~{{3,}}+){_AT_END}")
_LINE_IN_QUOTE = re.compile(
    rf"{_NEWLINE}(?P<marks>(?:[ \t]{{0,3}}>)*+)(?P<indent>[ \t]*+)"
    rf"(?:(?P<blank>(?=[\r\n]|\Z))|(?P<fence>`{{3,}}+|~{{3,}}+){_AT_END})?+[^\r\n]*+"
)
_CLOSERS: Final = {
    "$$": re.compile(r"\$\$"),
    "\\[": re.compile(r"\\\]"),
    "<!--": re.compile(r"-->"),
    "<pre": re.compile(r"</pre\s*+>", re.IGNORECASE),
    "<script": re.compile(r"</script\s*+>", re.IGNORECASE),
    "<style": re.compile(r"</style\s*+>", re.IGNORECASE),
    "<textarea": re.compile(r"</textarea\s*+>", re.IGNORECASE),
}
_LINE_BREAK = re.compile(r"[\r\n]")
_BLANK_LINE = re.compile(rf"{_NEWLINE}[ \t>]*+(?=[\r\n]|\Z)")


@dataclass(slots=True)
class Blocks:
    """How a text divides."""

    hidden: list[Stretch] = field(default_factory=list)
    """Code, math, markup and the labels of definitions, as far as lines decide it; in order."""
    inline: list[Stretch] = field(default_factory=list)
    """The rest: stretches that a code span, a formula or a link does not reach beyond; in order."""


def blocks_of(text: str, start: int = 0) -> Blocks:
    """Return how `text` divides from `start`."""
    return _BlockReader(text, start).read()


class _BlockReader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._found = Blocks()
        self._from = start
        """Where the block begins that is being read."""
        self._depth = 0
        """Of quotes."""
        self._next = {opener: Next(text, closer) for opener, closer in _CLOSERS.items()}
        self._next_blank = Next(text, _BLANK_LINE)

    def read(self) -> Blocks:
        line = _FIRST_LINE.match(self._text, self._from) or _LINE.search(self._text, self._from)
        while line is not None:
            line = _LINE.search(self._text, self._take(line))
        self._cut(len(self._text))
        return self._found

    def _cut(self, at: int, resume: int | None = None) -> None:
        if at > self._from:
            self._found.inline.append((self._from, at))
        self._from = at if resume is None else resume

    def _hide(self, start: int, end: int) -> int:
        self._cut(start, end)
        self._found.hidden.append((start, end))
        return end

    def _take(self, line: re.Match[str]) -> int:
        """Look at one line that is not mere prose; return where to look on."""
        kind, marks = line.lastgroup, line["marks"] or ""
        depth = marks.count(">")
        is_item = bool(marks.strip(" \t>"))
        if is_item or depth != self._depth:
            self._cut(line.start())
            self._depth = depth
        if kind == "blank":
            self._cut(line.start())
            self._depth = 0
        elif kind == "fence":
            return self._hide(line.start("fence"), self._fence_end(line, depth, is_item))
        elif kind == "label":
            self._found.hidden.append(line.span("label"))
        elif kind == "line":
            self._cut(line.start())
            self._cut(line.end())
        elif kind in ("display", "math", "markup") and not is_item:
            return self._opened(line, kind)
        return line.end()

    def _opened(self, line: re.Match[str], kind: str) -> int:
        """Return where to look on behind math or HTML that a line begins with."""
        start, opener = line.start(kind), line[kind].lower()
        if opener == "$$" and self._text.count("$$", self._from, start) % 2:
            # It closes what this paragraph has opened.
            self._cut(line.end())
            return line.end()
        end = self._next[opener].end_after(line.end())
        if end is None:
            return line.end()
        if kind == "math":
            blank = self._next_blank.end_after(line.end())
            if blank is not None and blank < end:
                return line.end()
        return self._hide(start, end)

    def _fence_end(self, opening: re.Match[str], depth: int, is_item: bool) -> int:
        """Return where fenced code ends: with its closing fence, its quote, its item or the text."""
        fence = opening["fence"]
        if not (depth or is_item):
            widest = _width(opening["indent"]) + 3
            for closing in _CLOSING_FENCE.finditer(self._text, opening.end()):
                if closing[2].startswith(fence) and _width(closing[1]) <= widest:
                    return closing.end()
            return len(self._text)
        column = opening.start("fence") - opening.start("marks") if is_item else 0
        end = _line_end(self._text, opening.end())
        for line in _LINE_IN_QUOTE.finditer(self._text, end):
            if line["fence"] is not None and line["fence"].startswith(fence):
                return line.end()
            is_dedented = line.start("indent") + len(line["indent"]) - line.start("marks") < column
            if line["marks"].count(">") < depth or (is_dedented and line["blank"] is None):
                return end
            end = line.end()
        return len(self._text)


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


def _line_end(text: str, position: int) -> int:
    found = _LINE_BREAK.search(text, position)
    return len(text) if found is None else found.start()
