"""Markdown as a converter leaves it, put right: fewer escapes, and links only to pages.

The converter escapes everything in the text of a page that could be markup, which keeps the page
from writing links, headings or code of its own, and makes `2026-06` unreadable. Here the escapes go
where the character can mean nothing, and links that do not lead to a page lose their target.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["cut_markdown", "tidied"]

_SIGN: Final = re.compile(r"[`\\\[\]]")
_CODE: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
"""A span, and a fenced block too: both end with as many backticks as they begin with."""
_BRACKETED: Final = re.compile(r"\\\[([^\[\]\\\n]{0,300})\\\](?![(\[:])")
"""Escaped brackets after which nothing follows that would make a link of them."""
_TARGET: Final = re.compile(
    r"\]\((<[^<>\n]*>|(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*)(?:\s+\"(?:\\.|[^\"\\])*\")?\)",
    re.DOTALL,
)
_LIST_START: Final = re.compile(r"[ \t]*(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]+)*[0-9]{1,9}")
_LONGEST_START: Final = 200
"""Characters before a number that could still be the beginning of its line."""
_HARMLESS: Final = frozenset("-.+=~#>)*")
"""These mean something only where a line or a word begins."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_KEPT_SCHEMES: Final = ("http:", "https:", "mailto:")
_NOT_IN_A_SCHEME: Final = re.compile(r"[\x00-\x20\x7f<>]|%[01][0-9a-fA-F]|%20")


def tidied(markdown: str) -> str:
    """Return the Markdown of a converted page with fewer escapes, and links to pages only."""
    pieces: list[str] = []
    opened: list[int] = []
    kept = position = 0
    while (sign := _SIGN.search(markdown, position)) is not None:
        at = sign.start()
        character = markdown[at]
        if character == "[":
            # A piece of its own, which goes if its link turns out to lead nowhere.
            pieces += (markdown[kept:at], "[")
            opened.append(len(pieces) - 1)
            kept = position = at + 1
            continue
        if character == "]":
            pieces.append(markdown[kept:at])
            kept = position = _end_of_link(markdown, at, pieces, opened)
            continue
        position, replacement = _read(markdown, at)
        if replacement is not None:
            pieces += (markdown[kept:at], replacement)
            kept = position
    pieces.append(markdown[kept:])
    return "".join(pieces)


def cut_markdown(markdown: str, max_chars: int) -> str:
    """Return the beginning of `markdown`, at most `max_chars` long, no word or address in halves.

    Where there is no better place within the second half, the cut is made in a word.
    """
    if len(markdown) <= max_chars:
        return markdown
    head = markdown[: max(0, max_chars)]
    if not markdown[len(head)].isspace():
        boundary = max(head.rfind(" "), head.rfind("\n"))
        head = head[:boundary] if boundary > max_chars // 2 else head
    target = head.rfind("](")
    if target >= 0 and ")" not in head[target:]:
        head = head[: max(0, head.rfind("[", 0, target))]
    return head.rstrip()


def _end_of_link(text: str, at: int, pieces: list[str], opened: list[int]) -> int:
    """Write the end of a link or picture to `pieces`, and return where it ends in `text`.

    The page's own brackets are escaped: this is of the converter's making. A title, which no reader
    of the page sees, goes; and so does the link where it leads to no page.
    """
    target = _TARGET.match(text, at)
    start = opened.pop() if opened else None
    if target is None:
        pieces.append("]")
        return at + 1
    is_picture = start is not None and pieces[start - 1].endswith("!")
    if start is not None and is_picture:
        # A line of its own could begin a list or a heading.
        pieces[start + 1 :] = [" ".join("".join(pieces[start + 1 :]).split())]
    if _leads_to_a_page(target[1]):
        pieces.append(f"]({target[1]})")
    elif start is None:
        pieces.append("]")
    else:
        pieces[start] = ""
        if is_picture:
            pieces[start - 1] = pieces[start - 1][:-1]
    return target.end()


def _read(text: str, at: int) -> tuple[int, str | None]:
    """Return where the code or escape at `at` ends, and what takes its place; None: it stays."""
    if text[at] == "`":
        code = _CODE.match(text, at)
        return (at + 1 if code is None else code.end()), None
    escaped = text[at + 1 : at + 2]
    if escaped == "[":
        bracketed = _BRACKETED.match(text, at)
        if bracketed is not None:
            return bracketed.end(), f"[{bracketed[1]}]"
    elif escaped in _HARMLESS and escaped and _is_inside_a_line(text, at):
        return at + 2, escaped
    return at + 2, None


def _is_inside_a_line(text: str, at: int) -> bool:
    """Return whether what stands at `at` can begin neither a list nor a heading or a quote."""
    before = text[at - 1 : at]
    if not before or before == "\\" or (before.isspace() and before != " "):
        return False
    if before == " ":
        return text[at - 2 : at - 1].isalnum()
    if not before.isdigit():
        return True
    start = text.rfind("\n", max(0, at - _LONGEST_START), at) + 1
    if not start and at > _LONGEST_START:
        return True
    return _LIST_START.fullmatch(text, start, at) is None


def _leads_to_a_page(target: str) -> bool:
    # As a browser would read it: white space and controls do not count.
    address = _NOT_IN_A_SCHEME.sub("", target)
    scheme = _SCHEME.match(address)
    if not address:
        return False
    return scheme is None or scheme[0].lower() in _KEPT_SCHEMES
