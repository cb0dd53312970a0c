"""Where an answer holds citation markers, told apart from everything that only looks like one.

A marker is found by its shape alone (`[1]`, `[web:1, 3]`, `[2-4]`). What the Markdown around it
makes of it is decided in two steps: `blocks` by whole lines, `inline` within each paragraph. Cost
grows with the length of the text, whatever the text is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from .blocks import Blocks
from .inline import NEEDS_A_LOOK, hidden_inline, label_key
from .lookups import Stretch

__all__ = ["MARKER", "hidden_stretches", "is_json_object", "reasoning_end"]

MARKER: Final = r"\[(?:[a-z_]++:)?[0-9]++(?:[ \t]*+[,\-\u2013][ \t]*+(?:[a-z_]++:)?[0-9]++)*+\]"
"""The shape of a marker, as a regular expression without groups."""

_THINK = re.compile(r"<(/?)think>")


def is_json_object(text: str, start: int = 0) -> bool:
    """Return whether `text` from `start` is a JSON object: data, not an answer with markers."""
    if not text.rstrip().endswith("}"):
        return False
    stripped = text[start:].strip().removeprefix("\ufeff")
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return False
    try:
        # Python refuses to read very long integers; what the numbers are is of no interest.
        json.loads(stripped, parse_int=len)
    except ValueError:
        return False
    except RecursionError:
        return True  # well-formed for as deep as anybody looks
    return True


def reasoning_end(text: str) -> int:
    """Return where a leading `<think>` block ends, 0 without one, the end if it stays open."""
    start = len(text) - len(text.lstrip())
    if not text.startswith("<think>", start):
        return 0
    depth = 0
    for tag in _THINK.finditer(text, start):
        depth += -1 if tag.group(1) else 1
        if depth == 0:
            return tag.end()
    return len(text)


_SIGNS: Final = "`~$\\<"
_SIGNS_AFTER = re.compile(r"\][(:=&%/?#]")
"""Where none of these stands, every marker counts."""
_DEFINED_LABEL = re.compile(
    r"(?:\A|[\r\n])[ \t>]*+\[([^\[\]\r\n^][^\[\]\r\n]{0,998}+)\]:[ \t]*+[^\s]"
)
_ADDRESS = re.compile(r"://[^\s<>)]++")
_ADDRESS_MAY_GO_ON = re.compile(r"\][=&%/?#]")
_ADDRESS_GOES_ON = re.compile(r".*\](?=[=&%]|[/?#]\w)")


def hidden_stretches(
    text: str, start: int = 0, *, only_beside_brackets: bool = False
) -> list[Stretch]:
    """Return the stretches of `text` from `start` in which no bracket is a marker, in order.

    Fenced code (also in lists and quotes), code spans, math, links and images, autolinks, tags
    and comments, brackets within an address, escaped brackets and the labels of definition lines.

    Args:
        text: The answer.
        start: Where to begin.
        only_beside_brackets: Leave out what lies in a paragraph without any bracket: all that
            reading needs, and less work.
    """
    if not any(sign in text for sign in _SIGNS) and _SIGNS_AFTER.search(text) is None:
        return []
    blocks = Blocks(text, start)
    hidden = blocks.hidden
    labels = _labels(text) if "][" in text and "]:" in text else frozenset()
    for prose in blocks.prose:
        for paragraph in _paragraphs_to_look_at(text, *prose):
            for part_start, part_end in blocks.parts(*paragraph):
                if not only_beside_brackets or text.find("[", part_start, part_end) >= 0:
                    hidden += hidden_inline(text, part_start, part_end, labels)
    if _ADDRESS_MAY_GO_ON.search(text, start) is not None:
        for address in _ADDRESS.finditer(text, start):
            inside = _ADDRESS_GOES_ON.match(text, address.start(), address.end())
            if inside is not None:
                hidden.append(inside.span())
    hidden.sort()
    return hidden


def _paragraphs_to_look_at(text: str, start: int, end: int) -> Iterator[Stretch]:
    """Yield whole paragraphs, at least, that hold something that can hide a bracket."""
    while (sign := NEEDS_A_LOOK.search(text, start, end)) is not None:
        first = text.rfind("\n\n", start, sign.start())
        last = text.find("\n\n", sign.end(), end)
        last = end if last < 0 else last
        yield (start if first < 0 else first), last
        start = last


def _labels(text: str) -> frozenset[str]:
    """Return the keys of the link labels that `text` defines; numbers are the provider's."""
    found = (match[1] for match in _DEFINED_LABEL.finditer(text))
    return frozenset(label_key(label) for label in found if not label.isdecimal())
