"""What whole lines of Markdown decide: fences, blocks of math and HTML, and what belongs together.

Lines are told apart by one regular expression that skips ordinary ones, so that prose costs next
to nothing. Indented code is not looked for: answers indent the paragraphs of a list far more often
than they indent code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .inline import LITERAL_MARKER
from .lookups import Next, Stretch

__all__ = ["Blocks"]

_NEWLINE: Final = r"(?:\r\n?|\n)"
_AT_END: Final = r"(?=[ \t]*+(?:[\r\n]|\Z))"
_MARKS: Final = r"(?:[ \t]*+(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t\r\n]|\Z)))"
_OPENER: Final = (
    rf"(?P<marks>{_MARKS}*+)(?P<indent>[ \t]*+)"
    r"(?:(?P<fence>`{3,}+(?=[^`\r\n]*+(?:[\r\n]|\Z))|~{3,}+)"
    rf"|(?P<display>(?:\$\$|\\\[){_AT_END})"
    rf"|(?P<math>\$\$|(?!{LITERAL_MARKER})\\\[)"
    r"|(?P<markup><!--|<(?i:pre|script|style|textarea)(?=[\s>]))"
    r"|(?P<label>\[(?:[a-z_]++:)?[0-9]++\])(?=:[ \t]*+<?[A-Za-z][A-Za-z0-9+.\-]*+://))"
)
_FIRST_OPENER = re.compile(_OPENER)
_NEXT_OPENER = {True: re.compile(_NEWLINE + _OPENER), False: re.compile("\n" + _OPENER)}
"""By whether the text holds carriage returns: one literal to look for is ten times as fast."""
_CUT: Final = (
    rf"(?P<marks>{_MARKS}++)?+[ \t]*+"
    r"(?:(?P<blank>(?=[\r\n]|\Z))"
    r"|(?P<line>(?:\#{1,6}(?=[ \t])|\|)[^\r\n]*+"
    rf"|(?:-{{2,}}+|={{2,}}+|\*{{3,}}+|_{{3,}}+){_AT_END})"
    r"|(?(marks)|(?!)))"
)
_FIRST_CUT = re.compile(_CUT)
_NEXT_CUT = {True: re.compile(_NEWLINE + _CUT), False: re.compile("\n" + _CUT)}
_CLOSING_FENCE = re.compile(rf"{_NEWLINE}([ \t]*+)(`{{3,}}+|~{{3,}}+){_AT_END}")
_LINE_IN_FENCE = re.compile(
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


class Blocks:
    """How a text divides from `start`.

    Attributes:
        hidden: Code, math, markup and labels of definitions, as far as lines decide it; in order.
        prose: What lies between the code, math and markup; in order.
    """

    def __init__(self, text: str, start: int = 0) -> None:
        self.hidden: list[Stretch] = []
        self.prose: list[Stretch] = []
        self._text = text
        self._from = self._paragraph = start
        self._next = {opener: Next(text, closer) for opener, closer in _CLOSERS.items()}
        self._next_blank = Next(text, _BLANK_LINE)
        self._has_returns = "\r" in text
        next_opener = _NEXT_OPENER[self._has_returns].search
        line = _FIRST_OPENER.match(text, start) or next_opener(text, start)
        while line is not None:
            line = next_opener(text, self._take(line))
        self._cut(len(text), len(text))

    def parts(self, start: int, end: int) -> Iterator[Stretch]:
        """Yield the parts of some prose that code spans, formulas and links do not reach beyond.

        Blank lines, list items, headings, table rows and changes of a quote's depth divide it.
        """
        depth = 0
        next_cut = _NEXT_CUT[self._has_returns].search
        cut = _FIRST_CUT.match(self._text, start, end) or next_cut(self._text, start, end)
        while cut is not None:
            marks = cut["marks"] or ""
            if cut.lastgroup in ("line", "blank"):
                yield start, cut.start()
                yield cut.span()
                start = cut.end()
            elif marks.strip(" \t>") or marks.count(">") != depth:
                yield start, cut.start()
                start = cut.start()
            depth = marks.count(">")
            cut = next_cut(self._text, cut.end(), end)
        yield start, end

    def _cut(self, at: int, resume: int) -> None:
        if at > self._from:
            self.prose.append((self._from, at))
        self._from = self._paragraph = resume

    def _hide(self, start: int, end: int) -> int:
        self._cut(start, end)
        self.hidden.append((start, end))
        return end

    def _take(self, line: re.Match[str]) -> int:
        """Look at one line that may open something; return where to look on."""
        kind, marks = line.lastgroup, line["marks"]
        is_item = bool(marks.strip(" \t>"))
        if kind == "fence":
            return self._hide(line.start("fence"), self._fence_end(line, marks.count(">"), is_item))
        if kind == "label":
            self.hidden.append(line.span("label"))
        elif kind is not None and not is_item:
            return self._opened(line, kind)
        return line.end()

    def _opened(self, line: re.Match[str], kind: str) -> int:
        """Return where to look on behind math or HTML that a line begins with."""
        start, opener = line.start(kind), line[kind].lower()
        if opener == "$$" and self._is_open(start, line.end()):
            self._paragraph = line.end()
            return line.end()
        end = self._next[opener].end_after(line.end())
        if end is None:
            return line.end()
        if kind == "math":
            blank = self._next_blank.end_after(line.end())
            if blank is not None and blank < end:
                return line.end()
        return self._hide(start, end)

    def _is_open(self, start: int, end: int) -> bool:
        """Return whether its paragraph has opened a formula before the `$$` between the two."""
        for blank in _BLANK_LINE.finditer(self._text, self._paragraph, end):
            self._paragraph = blank.end()
        return self._text.count("$$", self._paragraph, start) % 2 == 1

    def _fence_end(self, opening: re.Match[str], depth: int, is_item: bool) -> int:
        """Return where a fence ends: with its closing line, its quote, its item or the text."""
        fence = opening["fence"]
        if not (depth or is_item):
            widest = _width(opening["indent"]) + 3
            for closing in _CLOSING_FENCE.finditer(self._text, opening.end()):
                if closing[2].startswith(fence) and _width(closing[1]) <= widest:
                    return closing.end()
            return len(self._text)
        column = opening.start("fence") - opening.start("marks") if is_item else 0
        end = _line_end(self._text, opening.end())
        for line in _LINE_IN_FENCE.finditer(self._text, end):
            marks, start = line["marks"], line.start("marks")
            if marks.count(">") > depth:
                # Quoted deeper than the fence is: the rest of the marks is code, if anything is.
                is_closing = is_blank = False
                width = _position_of(">", marks, depth)
            else:
                is_closing = line["fence"] is not None and line["fence"].startswith(fence)
                is_blank = line["blank"] is not None
                width = line.end("indent") - start
            if is_closing:
                # Also where it stands too far left to belong to the item or the quote.
                return line.end()
            if marks.count(">") < depth or (width < column and not is_blank):
                return end
            end = line.end()
        return len(self._text)


def _position_of(character: str, text: str, count: int) -> int:
    """Return where `character` stands in `text` after `count` others of it."""
    position = -1
    for _ in range(count + 1):
        position = text.index(character, position + 1)
    return position


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


def _line_end(text: str, position: int) -> int:
    found = _LINE_BREAK.search(text, position)
    return len(text) if found is None else found.start()
