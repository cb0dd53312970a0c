"""What a page calls itself."""

from __future__ import annotations

import html
import re
from typing import Final

__all__ = ["title_of"]

_HEAD: Final = 100_000
"""Characters in which a page names its title, if it does."""
# Every repetition is bounded: a page of a million beginnings must not take for ever.
_NAMES: Final = (
    re.compile(r"<title(?:\s[^<>]{0,500})?>(.{0,2000}?)(?:</title|\Z)", re.IGNORECASE | re.DOTALL),
    re.compile(
        r"<meta\s[^<>]{0,200}?\bproperty=[\"']og:title[\"'][^<>]{0,200}?"
        r"\bcontent=[\"']([^\"'<>]{1,500})",
        re.IGNORECASE,
    ),
)
_FIRST_HEADING: Final = re.compile(r"^# ([^\n]{1,500})$", re.MULTILINE)


def title_of(page: str, markdown: str) -> str | None:
    """Return the title: what the page's head says, else what it is shared as, else its heading.

    Args:
        page: The source.
        markdown: What the page became.
    """
    head = _without_comments(page[:_HEAD])
    for pattern in _NAMES:
        for found in pattern.finditer(head):
            title = " ".join(html.unescape(found[1]).split())
            if title:
                return title
    heading = _FIRST_HEADING.search(markdown)
    return heading[1].strip() if heading else None


def _without_comments(page: str) -> str:
    pieces, position = [], 0
    while (start := page.find("<!--", position)) >= 0:
        pieces.append(page[position:start])
        end = page.find("-->", start + 2)  # `<!-->` is all of a comment
        if end < 0:
            return "".join(pieces)
        position = end + 3
    return "".join([*pieces, page[position:]])
