"""The form in which Perplexity's app exports an answer: `[^2_3]` with definitions of its own.

The first number is the turn of the conversation, the second the source in that turn. The
definitions stand at the end, `[^2_3]: https://...` or `[^2_3]: name`; sources that no turn cites
hang in a hidden `<span>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .references import Reference

__all__ = ["ExportedMarker", "exported_markers", "is_exported"]

_MARKER = re.compile(r"\[\^([0-9]{1,9})_([0-9]{1,9})\](:?)")
_DEFINITION = re.compile(
    r"^[ \t]{0,3}\[\^([0-9]{1,9})_([0-9]{1,9})\]:[ \t]*+([^\r\n]*+)", re.MULTILINE
)
_ADDRESS = re.compile(r"https?://[^\s<>]++")
_UNCITED = re.compile(r"<span[^<>]{0,200}?display\s{0,9}:\s{0,9}none[^<>]{0,200}+>[^<]*+</span>")

ExportedMarker = tuple[int, int, int, int, Reference | None]
"""start, end, turn, number, and what it leads to."""
LEAST_TURN: Final = 1


def is_exported(text: str) -> bool:
    """Return whether `text` is such an export: it defines at least one of its markers."""
    return _DEFINITION.search(text) is not None


def exported_markers(text: str, start: int = 0) -> Iterator[ExportedMarker]:
    """Yield the markers from `start`, in order, each with what the text's definitions say of it."""
    definitions: dict[tuple[int, int], Reference | None] = {}
    labels = set()
    for match in _DEFINITION.finditer(text, start):
        labels.add(match.start(1) - 2)
        definitions.setdefault((int(match[1]), int(match[2])), _reference(match[3]))
    uncited = [match.span() for match in _UNCITED.finditer(text, start)]
    index = 0
    for match in _MARKER.finditer(text, start):
        at = match.start()
        while index < len(uncited) and uncited[index][1] <= at:
            index += 1
        is_hidden = index < len(uncited) and uncited[index][0] <= at
        if at in labels or is_hidden or int(match[1]) < LEAST_TURN:
            continue
        turn, number = int(match[1]), int(match[2])
        end = match.end() - len(match[3])
        yield at, end, turn, number, definitions.get((turn, number))


def _reference(definition: str) -> Reference | None:
    address = _ADDRESS.search(definition)
    if address is None:
        return None
    title = definition[: address.start()].strip(" \t-:<[](")
    return Reference(address.group().rstrip(".,;)"), title or None)
