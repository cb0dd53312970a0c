"""What hides brackets within one paragraph: code spans, tags, formulas, links and images.

Code and tags bind tightest, as in CommonMark; then math; then links. Each is one walk over the few
characters that matter, which one regular expression finds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container
from typing import Final, TypeAlias

from .lookups import Cover, Next, Stretch, first_after

__all__ = ["NEEDS_A_LOOK", "hidden_inline", "label_key"]

NEEDS_A_LOOK = re.compile(r"[`$\\<]|\][(\[]")
"""Found in every paragraph in which something can hide a bracket."""

_TOKEN = re.compile(r"\\[^\r\n]|`++|\$\$?+|!?+\[|\]|<(?=[A-Za-z/!])|[\r\n]")
_BACKTICKS = re.compile("`++")
_TAG = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9+.\-]{1,31}:[^<>\s]*+"  # autolinks
    r"|/?[A-Za-z][A-Za-z0-9\-]*+"
    r"(?:\s(?:[^<>\"']++|\"[^\"<]{0,2000}+\"|'[^'<]{0,2000}+')*+)?+/?)>"
)
_HIDING_TAG = re.compile(
    r"<(?:(code|pre|script|style|textarea|kbd|samp|math)\b|(a)\s[^<>]*?\bhref\b)", re.IGNORECASE
)
_TARGET = re.compile(
    r"\([ \t]*+(?:\r\n?|\n)?[ \t]*+"
    r"(?:<[^<>\r\n]{0,4000}+>|(?:[^\s()<]|\((?:[^\s()]|\([^\s()]{0,1000}+\)){0,1000}+\)){0,4000}+)"
    r"(?:\s++(?:\"[^\"]{0,1000}+\"|'[^']{0,1000}+'|\([^()]{0,1000}+\)))?\s{0,50}+\)"
)
_LOOSE_TARGET = re.compile(r"\([ \t]*+<?[A-Za-z][A-Za-z0-9+.\-]{1,31}+://[^()\r\n]{0,4000}+\)")
_IMAGE_TARGET = re.compile(r"\([^()\r\n]{0,4000}+\)")
_LINK_TARGETS: Final = (_TARGET, _LOOSE_TARGET)
_IMAGE_TARGETS: Final = (_TARGET, _IMAGE_TARGET)
_REFERENCE = re.compile(r"\[([^\[\]]{1,999})\]")
_LITERAL_MARKER = re.compile(r"\\\[(?:[a-z_]++:)?[0-9][0-9 ,\-\u2013a-z_:]*+\]")
_MATH_CLOSERS: Final = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}

_Token: TypeAlias = tuple[int, str]


def label_key(label: str) -> str:
    """Return what two spellings of one link label have in common."""
    return " ".join(label.split()).casefold()


def hidden_inline(text: str, start: int, end: int, labels: Container[str]) -> list[Stretch]:
    """Return the stretches of one paragraph in which no bracket is a marker, in order.

    Args:
        text: The answer.
        start: Where the paragraph begins.
        end: Where it ends.
        labels: Keys of the link labels that the answer defines.
    """
    if NEEDS_A_LOOK.search(text, start, end) is None:
        return []
    tokens = [(token.start(), token[0]) for token in _TOKEN.finditer(text, start, end)]
    found: list[Stretch] = []
    if text.find("`", start, end) >= 0 or text.find("<", start, end) >= 0:
        found = _code_and_tags(text, tokens, start, end)
        tokens = _outside(tokens, found)
    if text.find("$", start, end) >= 0 or text.find("\\", start, end) >= 0:
        math = _math(text, tokens)
        tokens = _outside(tokens, math)
        found += math
    return sorted(found + _links(text, tokens, end, labels))


def _outside(tokens: list[_Token], stretches: list[Stretch]) -> list[_Token]:
    if not stretches:
        return tokens
    cover = Cover(stretches)
    return [token for token in tokens if not cover.holds(token[0])]


def _code_and_tags(text: str, tokens: list[_Token], start: int, end: int) -> list[Stretch]:
    found = []
    runs: dict[int, list[int]] = defaultdict(list)
    closers: dict[str, Next] = {}
    for run in _BACKTICKS.finditer(text, start, end):
        runs[run.end() - run.start()].append(run.start())
    position = start
    for at, token in tokens:
        if at < position:
            continue
        closed: int | None = None
        if token[0] == "`":
            closed = first_after(runs[len(token)], at)
            closed = None if closed is None else closed + len(token)
        elif token == "<":
            closed = _markup_end(text, at, end, closers)
        if closed is not None:
            found.append((at, closed))
            position = closed
    return found


def _markup_end(text: str, at: int, end: int, closers: dict[str, Next]) -> int | None:
    """Return where the tag, autolink, comment or hiding element that begins at `at` ends."""

    def closed(name: str, pattern: str, after: int) -> int | None:
        if name not in closers:
            closers[name] = Next(text, re.compile(pattern, re.IGNORECASE), end)
        return closers[name].end_after(after)

    if text.startswith("<!--", at):
        return closed("!", "-->", at + 4)
    tag = _TAG.match(text, at, end)
    if tag is None:
        return None
    hiding = _HIDING_TAG.match(text, at, tag.end())
    if hiding is None:
        return tag.end()
    name = (hiding[1] or hiding[2]).lower()
    return closed(name, rf"</{name}\s*+>", tag.end()) or tag.end()


def _math(text: str, tokens: list[_Token]) -> list[Stretch]:
    found = []
    closers: dict[str, list[int]] = defaultdict(list)
    for at, token in tokens:
        if token in ("\\)", "\\]", "$$"):
            closers[token].append(at)
    position = 0
    for index, (at, token) in enumerate(tokens):
        if at < position:
            continue
        closed: int | None = None
        if token == "$":
            closed = _dollar_end(text, tokens, index)
        elif token in _MATH_CLOSERS:
            literal = _LITERAL_MARKER.match(text, at) if token == "\\[" else None
            if literal is not None:
                closed = literal.end()
            else:
                closer = first_after(closers[_MATH_CLOSERS[token]], at + 1)
                closed = None if closer is None else closer + 2
        if closed is not None:
            found.append((at, closed))
            position = closed
    return found


def _dollar_end(text: str, tokens: list[_Token], index: int) -> int | None:
    """Return where the formula ends that the dollar sign of that token opens; Pandoc's rule."""
    at = tokens[index][0]
    following = text[at + 1 : at + 2]
    if not following or following.isspace():
        return None
    for later in range(index + 1, len(tokens)):
        closer, token = tokens[later]
        if token in "\r\n":
            return None
        if token == "$":
            is_closed = not (text[closer - 1].isspace() or text[closer + 1 : closer + 2].isdigit())
            return closer + 1 if is_closed else None
    return None


def _links(text: str, tokens: list[_Token], end: int, labels: Container[str]) -> list[Stretch]:
    found = []
    opened: list[_Token] = []
    position = 0
    for at, token in tokens:
        if at < position:
            continue
        if token == "]" and opened:
            start, opener = opened.pop()
            target = _target_end(text, at + 1, end, labels, is_image=opener == "![")
            if target is not None:
                found.append((start, target))
                position = target
        elif token in ("[", "!["):
            opened.append((at, token))
        elif token == "\\[":
            found.append((at, at + 2))
    return found


def _target_end(
    text: str, at: int, end: int, labels: Container[str], *, is_image: bool
) -> int | None:
    """Return where the target that follows a bracketed text ends; None if none follows."""
    following = text[at : at + 1]
    if following == "(":
        for pattern in _IMAGE_TARGETS if is_image else _LINK_TARGETS:
            target = pattern.match(text, at, end)
            if target is not None:
                return target.end()
    elif following == "[" and labels:
        reference = _REFERENCE.match(text, at, end)
        if reference is not None and label_key(reference[1]) in labels:
            return reference.end()
    return None
