"""What hides brackets within one paragraph: code spans, tags, formulas, links and images.

Code and tags bind tightest, as in CommonMark; then math; then links. Each is one walk over the few
characters that matter, which one regular expression finds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from .lookups import Cover, Next, Stretch, first_after

__all__ = ["LITERAL_MARKER", "NEEDS_A_LOOK", "hidden_inline", "label_key"]

NEEDS_A_LOOK = re.compile(r"[`$\\<\]](?:(?<!\])|(?=[(\[]))")
"""Found in every paragraph in which something can hide a bracket."""

_SIGN = re.compile(
    # Beginning with one set of characters, the search skips all others at once.
    r"[\\`$!\[\]<\r\n](?:(?<=\\)[^\r\n]|(?<=`)`++|(?<=\$)\$|(?<=!)\[)?+"
)
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
LITERAL_MARKER: Final = r"\\\[(?:[a-z_]++:)?[0-9][0-9 ,\-\u2013a-z_:]*+\]"
"""`\\[1]` is an escaped bracket, not the beginning of a formula."""
_LITERAL_MARKER = re.compile(LITERAL_MARKER)
_MATH_CLOSERS: Final = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}

_Sign: TypeAlias = tuple[int, str]


def label_key(label: str) -> str:
    """Return what two spellings of one link label have in common."""
    return " ".join(label.split()).casefold()


def hidden_inline(text: str, start: int, end: int, labels: AbstractSet[str]) -> list[Stretch]:
    """Return the stretches of one paragraph in which no bracket is a marker, in order.

    Args:
        text: The answer.
        start: Where the paragraph begins.
        end: Where it ends.
        labels: Keys of the link labels that the answer defines.
    """
    if NEEDS_A_LOOK.search(text, start, end) is None:
        return []
    signs = [(sign.start(), sign[0]) for sign in _SIGN.finditer(text, start, end)]
    found: list[Stretch] = []
    if text.find("`", start, end) >= 0 or text.find("<", start, end) >= 0:
        found = _code_and_tags(text, signs, start, end)
        signs = _outside(signs, found)
    if text.find("$", start, end) >= 0 or text.find("\\", start, end) >= 0:
        math = _math(text, signs)
        signs = _outside(signs, math)
        found += math
    return sorted(found + _links(text, signs, end, labels))


def _outside(signs: list[_Sign], stretches: list[Stretch]) -> list[_Sign]:
    if not stretches:
        return signs
    cover = Cover(stretches)
    return [sign for sign in signs if not cover.holds(sign[0])]


def _code_and_tags(text: str, signs: list[_Sign], start: int, end: int) -> list[Stretch]:
    found = []
    runs: dict[int, list[int]] = defaultdict(list)
    closers: dict[str, Next] = {}
    for run in _BACKTICKS.finditer(text, start, end):
        runs[run.end() - run.start()].append(run.start())
    position = start
    for at, sign in signs:
        if at < position:
            continue
        closed: int | None = None
        if sign[0] == "`":
            closed = first_after(runs[len(sign)], at)
            closed = None if closed is None else closed + len(sign)
        elif sign == "<":
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


def _math(text: str, signs: list[_Sign]) -> list[Stretch]:
    found = []
    closers: dict[str, list[int]] = defaultdict(list)
    for at, sign in signs:
        if sign in ("\\)", "\\]", "$$"):
            closers[sign].append(at)
    position = 0
    for index, (at, sign) in enumerate(signs):
        if at < position:
            continue
        closed: int | None = None
        if sign == "$":
            closed = _dollar_end(text, signs, index)
        elif sign in _MATH_CLOSERS:
            literal = _LITERAL_MARKER.match(text, at) if sign == "\\[" else None
            if literal is not None:
                closed = literal.end()
            else:
                closer = first_after(closers[_MATH_CLOSERS[sign]], at + 1)
                closed = None if closer is None else closer + 2
        if closed is not None:
            found.append((at, closed))
            position = closed
    return found


def _dollar_end(text: str, signs: list[_Sign], index: int) -> int | None:
    """Return where the formula ends that the dollar sign of that sign opens; Pandoc's rule."""
    at = signs[index][0]
    following = text[at + 1 : at + 2]
    if not following or following.isspace():
        return None
    for later in range(index + 1, len(signs)):
        closer, sign = signs[later]
        if sign in "\r\n":
            return None
        if sign == "$":
            is_closed = not (text[closer - 1].isspace() or text[closer + 1 : closer + 2].isdigit())
            return closer + 1 if is_closed else None
    return None


def _links(text: str, signs: list[_Sign], end: int, labels: AbstractSet[str]) -> list[Stretch]:
    found = []
    opened: list[_Sign] = []
    inactive = 0
    """So many of them hold a link already: links do not nest, images may hold some."""
    position = 0
    for at, sign in signs:
        if at < position:
            continue
        if sign == "]" and opened:
            start, opener = opened.pop()
            is_image = opener == "!["
            target = None
            if is_image or len(opened) >= inactive:
                target = _target_end(text, at + 1, end, labels, is_image=is_image)
            inactive = min(inactive, len(opened))
            if target is not None:
                found.append((start, target))
                position = target
                if not is_image:
                    inactive = len(opened)
        elif sign in ("[", "!["):
            opened.append((at, sign))
        elif sign == "\\[":
            found.append((at, at + 2))
    return found


def _target_end(
    text: str, at: int, end: int, labels: AbstractSet[str], *, is_image: bool
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
