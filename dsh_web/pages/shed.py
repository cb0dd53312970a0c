"""What no reader sees of an HTML page, as text: found in one walk, at any length.

Most of a modern page is scripts, styles, drawings and pictures written into it. Cut at a hundred
thousand characters as it is, such a page would often end before its article begins; and a page that
breaks off in a script would show the rest of it as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["shed_unseen", "without_broken_end"]

_TO_THE_END = ("script", "style", "template", "noscript")
"""Without an end tag, these hold all that follows."""
_UNSEEN = (*_TO_THE_END, "svg")
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


def without_broken_end(page: str) -> str:
    """Return `page` without an element that it breaks off in and that no reader would see."""
    for start, end, is_seen in _stretches(page):
        if not is_seen and end is None:
            return page[:start]
    return page


def _seen(page: str) -> Iterator[str]:
    kept = 0
    for start, end, is_seen in _stretches(page):
        if is_seen:
            continue
        yield page[kept:start]
        if end is None:
            return
        kept = end
    yield page[kept:]


def _stretches(page: str) -> Iterator[tuple[int, int | None, bool]]:
    """Yield start and end of comments and of elements that hold no markup, and if they are seen.

    The end of what holds all that follows is None.
    """
    endless: set[str] = set()
    position = 0
    while (start := _START.search(page, position)) is not None:
        name = (start[1] or "").lower()
        if start[0].endswith(">"):  # `<!-->`, which is all of a comment
            position = start.end()
            yield start.start(), position, False
            continue
        end = -1 if name in endless else _end(page, name, start.end())
        if end >= 0:
            position = end
            yield start.start(), end, name in _TEXT_ONLY
        elif name in _TO_THE_END:
            yield start.start(), None, False
            return
        else:
            # Not looked for again: a page of a million beginnings would take for ever.
            endless.add(name)
            position = start.end()


def _end(page: str, name: str, position: int) -> int:
    """Return where the element or, without a name, the comment is over; -1: nowhere."""
    found = _ENDS.get(name, _COMMENT_END).search(page, position)
    if found is None:
        return -1
    return page.find(">", found.end()) + 1 or -1 if name else found.end()


def _shorter(blank: re.Match[str]) -> str:
    return "\n" if "\n" in blank[0] else " "
