"""Taking out of a page what a converter trips over: tags that stand too deep or end nothing."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["flattened", "is_heavily_indented"]

# Every repetition is bounded: a page of a million beginnings must not take for ever.
_TAG = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,50})"
    r"(?:[^<>\"']{1,5000}|\"[^\"<>]{0,5000}\"|'[^'<>]{0,5000}'){0,300}+>"
)
_FLOATING: Final = frozenset(
    (
        # Without an end tag.
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr"),
        # With content that is no text of the page; a lost tag would make it some.
        *("noscript", "script", "style", "template", "textarea", "title"),
    )
)
"""Elements that do not count as depth and always keep their tags."""
_REACH: Final = 8
"""Elements from the innermost one in which the start of an end tag is looked for."""
_LISTS: Final = frozenset(("dir", "menu", "ol", "ul"))
_TABLES: Final = frozenset(("table",))
_ENDED_BY_THEIR_LIKE: Final = {
    name: family
    for family in (
        ("p",),
        ("li",),
        ("dt", "dd"),
        ("td", "th"),
        ("tr",),
        ("option",),
        ("thead", "tbody", "tfoot"),
    )
    for name in family
}
"""Elements whose end tag may be missing: the next of the same family ends them."""
_HOLDERS: Final = {
    "p": frozenset(("article", "blockquote", "div", "section", "td", "th")) | _LISTS | {"li"},
    "li": _LISTS,
    "dt": frozenset(("dl",)),
    "dd": frozenset(("dl",)),
    "option": frozenset(("select",)),
    **dict.fromkeys(("td", "th", "tr", "thead", "tbody", "tfoot"), _TABLES),
}
"""What such an element stands in; those outside of it go on."""
_INDENTING: Final = _LISTS | {"blockquote", "dd"}
"""Elements that put something before every line in them."""
MAX_INDENTING: Final = 30
"""More of them inside each other make lines mostly prefix, and a huge page of a small one."""
_INDENTING_TAG = re.compile(rf"<(/?)(?:{'|'.join(_INDENTING)})(?=[\s/>])", re.IGNORECASE)


def is_heavily_indented(page: str) -> bool:
    """Return whether the lines of `page` would be more prefix than text."""
    depth = 0
    for tag in _INDENTING_TAG.finditer(page):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > MAX_INDENTING:
            return True
    return False


def flattened(page: str, max_depth: int) -> str:
    """Return `page` without tags deeper than `max_depth`, and without end tags that end nothing.

    All text stays. A tree that is hundreds deep has no structure that anybody could see.
    """
    return _TAG.sub(_Flattener(max_depth).kept, page)


class _Flattener:
    """Follows which elements are open, and says which tags to keep."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._open: list[str] = []
        self._indenting = 0
        self._dropped: dict[str, int] = {}

    def kept(self, tag: re.Match[str]) -> str:
        """Return the tag, or what takes its place."""
        name = tag[2].lower()
        if name in _FLOATING:
            return tag[0]
        is_kept = self._ends(name) if tag[1] else self._begins(name)
        return tag[0] if is_kept else " "

    def _ends(self, name: str) -> bool:
        if self._dropped.get(name):
            self._dropped[name] -= 1
            return False
        # An end tag without a start would take others with it.
        return self._close(name)

    def _begins(self, name: str) -> bool:
        for like in _ENDED_BY_THEIR_LIKE.get(name, ()):
            self._close(like, within=_HOLDERS[name])
        is_indenting = name in _INDENTING
        if len(self._open) >= self._max_depth or (
            is_indenting and self._indenting >= MAX_INDENTING
        ):
            self._dropped[name] = self._dropped.get(name, 0) + 1
            return False
        self._open.append(name)
        self._indenting += is_indenting
        return True

    def _close(self, name: str, *, within: frozenset[str] = frozenset()) -> bool:
        """End the innermost `name` with all that stands open in it; return whether there is one.

        It is not looked for far out, which could take the square of the page's length, nor
        beyond an element of `within`.
        """
        for index in range(len(self._open) - 1, max(-1, len(self._open) - 1 - _REACH), -1):
            if self._open[index] in within:
                return False
            if self._open[index] == name:
                self._indenting -= sum(ended in _INDENTING for ended in self._open[index:])
                del self._open[index:]
                return True
        return False
