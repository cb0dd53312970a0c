"""Making a long HTML page shorter by what no reader sees, before any of its text is cut.

Most of a modern page is scripts, styles, drawings and pictures written into it. Cut at a hundred
thousand characters as it is, such a page would often end before its article begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["shed_unseen"]

_UNSEEN = ("script", "style", "svg", "noscript", "template")
_TEXT_ONLY = ("title", "textarea")
"""What looks like a tag in these is text, and stays."""
_START = re.compile(
    rf"<(?:({'|'.join((*_UNSEEN, *_TEXT_ONLY))})(?=[\s/>])|!--(?:-?>)?)", re.IGNORECASE
)
_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in (*_UNSEEN, *_TEXT_ONLY)
}
_COMMENT_END = re.compile(r"--!?>")
_INLINED = re.compile(r"(data:[\w/+.-]{0,60};base64,)[A-Za-z0-9+/=%]{200,}")
_BLANK = re.compile(r"\s{3,}")


def shed_unseen(page: str) -> str:
    """Return `page` without scripts, styles, drawings, templates, comments and inlined files.

    Takes time in proportion to the length of the page, whatever it holds.
    """
    text = "".join(_seen(page))
    # Indentation alone makes up a tenth of many pages; one break keeps the lines apart.
    return _BLANK.sub(_shorter, _INLINED.sub(r"\1", text))


def _seen(page: str) -> Iterator[str]:
    endless: set[str] = set()
    kept = position = 0
    while (start := _START.search(page, position)) is not None:
        name = (start[1] or "").lower()
        if start[0].endswith(">"):  # `<!-->`, which is all of a comment
            yield page[kept : start.start()]
            kept = position = start.end()
            continue
        end = -1 if name in endless else _end(page, name, start.end())
        if end < 0:
            # Not looked for again: a page of a million beginnings would take for ever.
            endless.add(name)
            position = start.end()
            continue
        if name in _TEXT_ONLY:
            position = end
            continue
        yield page[kept : start.start()]
        kept = position = end
    yield page[kept:]


def _end(page: str, name: str, position: int) -> int:
    """Return where the element or, without a name, the comment is over; -1: nowhere."""
    found = _ENDS.get(name, _COMMENT_END).search(page, position)
    if found is None:
        return -1
    return page.find(">", found.end()) + 1 or -1 if name else found.end()


def _shorter(blank: re.Match[str]) -> str:
    return "\n" if "\n" in blank[0] else " "
