"""Taking out of a page what a converter trips over: tags that stand too deep or end nothing."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["flattened"]

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


def flattened(page: str, max_depth: int) -> str:
    """Return `page` without tags deeper than `max_depth`, and without end tags that end nothing.

    All text stays. A tree that is hundreds deep has no structure that anybody could see.
    """
    open_tags: list[str] = []
    dropped: dict[str, int] = {}

    def kept(tag: re.Match[str]) -> str:
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
                    del open_tags[index:]
                    return tag[0]
            return " "
        family = _ENDED_BY_THEIR_LIKE.get(name)
        if family and open_tags and open_tags[-1] in family:
            open_tags[-1] = name
            return tag[0]
        if len(open_tags) >= max_depth:
            dropped[name] = dropped.get(name, 0) + 1
            return " "
        open_tags.append(name)
        return tag[0]

    return _TAG.sub(kept, page)
