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
_ENDED_BY_THEIR_LIKE: Final = {
    name: family
    for family in (
        ("p",),
        ("dt", "dd"),
        ("td", "th"),
        ("tr",),
        ("option",),
        ("thead", "tbody", "tfoot"),
    )
    for name in family
}
"""Elements whose end tag may be missing: the next of the same family ends them."""


_LISTS: Final = frozenset(("dir", "menu", "ol", "ul"))
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
    open_tags: list[str] = []
    dropped: dict[str, int] = {}
    indenting = 0

    def kept(tag: re.Match[str]) -> str:
        nonlocal indenting
        name = tag[2].lower()
        if name in _FLOATING:
            return tag[0]
        if tag[1]:
            if dropped.get(name):
                dropped[name] -= 1
                return " "
            # An end tag without a start would take others with it.
            for index in range(len(open_tags) - 1, max(-1, len(open_tags) - 9), -1):
                if open_tags[index] == name:
                    indenting -= sum(ended in _INDENTING for ended in open_tags[index:])
                    del open_tags[index:]
                    return tag[0]
            return " "
        if name == "li":
            # Whatever stands open in it, an item ends with the next one of its list.
            for index in range(len(open_tags) - 1, max(-1, len(open_tags) - 9), -1):
                if open_tags[index] in _LISTS:
                    break
                if open_tags[index] == "li":
                    indenting -= sum(ended in _INDENTING for ended in open_tags[index:])
                    del open_tags[index:]
                    break
        family = _ENDED_BY_THEIR_LIKE.get(name)
        if family and open_tags and open_tags[-1] in family:
            indenting += (name in _INDENTING) - (open_tags[-1] in _INDENTING)
            open_tags[-1] = name
            return tag[0]
        is_indenting = name in _INDENTING
        if len(open_tags) >= max_depth or (is_indenting and indenting >= MAX_INDENTING):
            dropped[name] = dropped.get(name, 0) + 1
            return " "
        open_tags.append(name)
        indenting += is_indenting
        return tag[0]

    return _TAG.sub(kept, page)
