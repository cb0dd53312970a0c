"""Links that come beside an answer: stretches of it, each with a page.

What the vendor's offsets count is not documented, so they are believed only where they fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .lookups import Stretch
from .members import Member
from .references import Reference, References

__all__ = ["Annotation", "annotated_words", "on_markers"]


@dataclass(frozen=True, slots=True)
class Annotation:
    """A stretch of the answer that the provider itself links to a page."""

    url: str
    title: str | None
    start: int
    """Offset in code points of the answer."""
    end: int
    """Exclusive."""
    confidence: Literal["high", "low"] = "high"
    """`low`: the provider itself doubts it."""


def on_markers(
    annotations: Sequence[Annotation], text: str, spans: Sequence[Stretch]
) -> Iterator[tuple[int, Annotation]]:
    """Yield the annotations that stand exactly on a marker, with the marker's index in `spans`."""
    index_of = {span: index for index, span in enumerate(spans)}
    for note in annotations:
        span = _trimmed(text, note.start, note.end)
        if span in index_of:
            yield index_of[span], note


def annotated_words(
    annotations: Sequence[Annotation],
    text: str,
    spans: Sequence[Stretch],
    references: References,
    *,
    is_cited: Callable[[str], bool],
    start: int = 0,
) -> list[tuple[Member, Stretch]]:
    """Return what annotations of whole words lead to, with the words; in the order given.

    Words that hold a marker are left out, and so are pages that a marker leads to anyway.
    """
    key_of = {reference.url: key for key, reference in reversed(list(references.items()))}
    found: dict[tuple[str, Stretch], Member] = {}
    for note in annotations:
        words = _trimmed(text, note.start, note.end)
        if words is None or words[0] < start or not _is_whole(text, *words):
            continue
        if is_cited(note.url) or _holds_any(words, spans):
            continue
        kind, number = key_of.get(note.url, ("web", None))
        known = None if number is None else references.get((kind, number))
        title = note.title or (None if known is None else known.title)
        found[note.url, words] = (kind, number, Reference(note.url, title, note.confidence))
    return [(member, words) for (_, words), member in found.items()]


def _trimmed(text: str, start: int, end: int) -> Stretch | None:
    if not 0 <= start < end <= len(text):
        return None
    inside = text[start:end]
    start += len(inside) - len(inside.lstrip())
    inside = inside.strip()
    return (start, start + len(inside)) if inside else None


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (
        (start > 0 and text[start - 1].isalnum() and text[start].isalnum())
        or (end < len(text) and text[end - 1].isalnum() and text[end].isalnum())
    )


def _holds_any(words: Stretch, spans: Sequence[Stretch]) -> bool:
    start, end = words
    index = bisect_left(spans, (start, start))
    is_inside_one = index > 0 and spans[index - 1][1] > start
    return is_inside_one or (index < len(spans) and spans[index][0] < end)
