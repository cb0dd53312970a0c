"""Markers that the text itself defines: the export of Perplexity's app, and plain footnotes.

In the export, `[^2_3]`, the first number is the turn of the conversation, the second the source in
that turn. The definitions stand at the end, `[^2_3]: https://...` or `[^2_3]: name`; sources that
no turn cites hang in a hidden `<span>`. A footnote, `[^3]`, has the number alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from .references import Reference

__all__ = ["ExportedMarker", "definitions_of", "exported_markers", "is_exported"]

_NUMBERS = r"\[\^(?:([0-9]{1,9})_)?([0-9]{1,9})\]"
_MARKER = re.compile(_NUMBERS)
_DEFINITION = re.compile(rf"^[ \t]{{0,3}}({_NUMBERS}):[ \t]*+([^\r\n]*+)", re.MULTILINE)
_ADDRESS = re.compile(r"https?://[^\s<>]++")
_UNCITED = re.compile(r"<span[^<>]{0,200}?display\s{0,9}:\s{0,9}none[^<>]{0,200}+>[^<]*+</span>")

ExportedMarker: TypeAlias = tuple[int, int, int, int, Reference | None]
"""start, end, turn (0: it names none), number, and what it leads to."""


def is_exported(text: str) -> bool:
    """Return whether `text` defines such markers with addresses of its own."""
    return any(reference is not None for reference in definitions_of(text).values())


def definitions_of(text: str, start: int = 0) -> dict[tuple[int, int], Reference | None]:
    """Return what (turn, number) leads to; None where the definition has no address."""
    found: dict[tuple[int, int], Reference | None] = {}
    for match in _DEFINITION.finditer(text, start):
        found.setdefault((int(match[2] or 0), int(match[3])), _reference(match[4]))
    return found


def exported_markers(text: str, start: int = 0) -> Iterator[ExportedMarker]:
    """Yield the markers from `start`, in order, each with what the text's definitions say of it."""
    definitions = definitions_of(text, start)
    labels = {match.start(1) for match in _DEFINITION.finditer(text, start)}
    uncited = [match.span() for match in _UNCITED.finditer(text, start)]
    index = 0
    for match in _MARKER.finditer(text, start):
        at = match.start()
        while index < len(uncited) and uncited[index][1] <= at:
            index += 1
        is_hidden = index < len(uncited) and uncited[index][0] <= at
        if at not in labels and not is_hidden:
            turn, number = int(match[1] or 0), int(match[2])
            yield at, match.end(), turn, number, definitions.get((turn, number))


def _reference(definition: str) -> Reference | None:
    address = _ADDRESS.search(definition)
    if address is None:
        return None
    title = definition[: address.start()].strip(" \t-:<[](")
    return Reference(address.group().rstrip(".,;)"), title or None)
