"""What one marker names: a number, several, or a range, each perhaps with its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from .references import Reference, References

__all__ = ["Member", "members_of"]

Member: TypeAlias = tuple[str, int | None, Reference | None]
"""source_type, source_index (None: too long to be anybody's), and what it leads to."""

_PART = re.compile(r"(?:([a-z_]++):)?([0-9]++)")
_MOST_DIGITS: Final = 18
"""Longer numbers name no source, and Python refuses to read very long ones."""
_LONGEST_RANGE: Final = 100
"""Members. No answer means more, and a short marker must not become any number of records."""
_YEARS: Final = range(1500, 2200)


def members_of(inside: str, references: References, default_type: str) -> Iterator[Member]:
    """Yield what a marker names, in its order.

    Args:
        inside: The marker without its brackets, of the shape that `scan.MARKER` describes.
        references: What (source_type, source_index) leads to.
        default_type: Kind of a number that no kind stands before.

    A range counts only if all of its members exist, and a year is no number without a source.
    """
    if inside.isdigit():  # by far the most common: `[3]`
        yield from _single(default_type, inside, references, is_bare=True)
        return
    kind = ""
    for part in inside.split(","):
        numbers = _PART.findall(part)
        kind = numbers[0][0] or kind
        if len(numbers) == 1:
            digits = numbers[0][1]
            yield from _single(kind or default_type, digits, references, is_bare=not kind)
        elif len(numbers) == 2 and numbers[1][0] in ("", kind):
            yield from _range(kind or default_type, numbers[0][1], numbers[1][1], references)


def _single(kind: str, digits: str, references: References, *, is_bare: bool) -> Iterator[Member]:
    number = _number(digits)
    reference = None if number is None else references.get((kind, number))
    is_year = is_bare and reference is None and len(digits) == 4 and number in _YEARS
    if not is_year:
        yield kind, number, reference


def _range(kind: str, first: str, last: str, references: References) -> Iterator[Member]:
    low, high = _number(first), _number(last)
    if low is None or high is None or not low < high < low + _LONGEST_RANGE:
        return
    members = [(kind, n, references.get((kind, n))) for n in range(low, high + 1)]
    if all(reference is not None for _, _, reference in members):
        yield from members


def _number(digits: str) -> int | None:
    if len(digits) > _MOST_DIGITS:
        digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MOST_DIGITS else None
