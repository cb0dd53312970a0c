"""Markdown as a converter leaves it, put right: fewer escapes, and links only to pages.

The converter escapes everything in the text of a page that could be markup, which keeps the page
from writing links, headings or code of its own, and makes `2026-06` unreadable. Here the escapes go
where the character can mean nothing, and links that do not lead to a page lose their target.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["tidied"]

_PIECE: Final = re.compile(
    # Code is left as it is: a fenced block, then a span.
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ \t>]*(?P=fence)[ \t]*$"
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    # At the beginning of a line these would begin a list.
    r"|^[ \t]*(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]+)*[0-9]{1,9}\\[.)]"
    # Inside a line these characters are harmless.
    r"|(?:(?<=\w)|(?<=\w[ ])|(?<=[^\s\w\\]))\\(?P<harmless>[-.+=~#>)*])"
    # Brackets link nothing unless one of these follows.
    r"|\\\[(?P<inside>[^\[\]\\\n]{0,300})\\\](?![(\[:])"
    r"|\\."
    # What is left of brackets and parentheses is a link of the converter's own making.
    r"|\]\((?P<target><[^<>\n]*>|(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*)"
    r"(?:\s+\"(?:\\.|[^\"\\])*\")?\)",
    re.MULTILINE | re.DOTALL,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_KEPT_SCHEMES: Final = ("http:", "https:", "mailto:")
_NOT_IN_A_SCHEME = re.compile(r"[\x00-\x20\x7f<>]|%[01][0-9a-fA-F]|%20")


def tidied(markdown: str) -> str:
    """Return the Markdown of a converted page with fewer escapes, and links to pages only."""
    return _PIECE.sub(_piece, markdown)


def _piece(found: re.Match[str]) -> str:
    if found["harmless"] is not None:
        return found["harmless"]
    if found["inside"] is not None:
        return f"[{found['inside']}]"
    target = found["target"]
    if target is None:
        return found[0]
    # As a browser would read it: white space and controls do not count.
    address = _NOT_IN_A_SCHEME.sub("", target)
    scheme = _SCHEME.match(address)
    is_kept = scheme is None or scheme[0].lower() in _KEPT_SCHEMES
    return found[0] if is_kept else "]"
