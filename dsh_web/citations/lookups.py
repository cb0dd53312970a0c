"""Looking things up in growing positions: never the same stretch of text twice."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Cover", "Next", "Stretch", "first_after"]

Stretch: TypeAlias = tuple[int, int]
"""Half-open `(start, end)` in code points."""


class Next:
    """Where a pattern matches next. Positions must not fall from one question to the next.

    Each question looks on from the last answer, and what is absent is looked for once; so all
    questions together cost one pass.
    """

    def __init__(self, text: str, pattern: re.Pattern[str], end: int | None = None) -> None:
        self._text = text
        self._pattern = pattern
        self._limit = len(text) if end is None else end
        self._match: re.Match[str] | None = None
        self._is_absent = False

    def end_after(self, position: int) -> int | None:
        """Return where the first match that begins at `position` or later ends."""
        if self._is_absent:
            return None
        if self._match is None or self._match.start() < position:
            self._match = self._pattern.search(self._text, position, self._limit)
            self._is_absent = self._match is None
        return None if self._match is None else self._match.end()


def first_after(positions: Sequence[int], position: int) -> int | None:
    """Return the first of the sorted `positions` behind `position`."""
    index = bisect_right(positions, position)
    return positions[index] if index < len(positions) else None


class Cover:
    """Tells whether growing positions lie in one of the stretches, which are sorted."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._stretches = stretches
        self._index = 0
        self._end = 0

    def holds(self, position: int) -> bool:
        """Return whether `position`, not below the one before, lies in a stretch."""
        while self._index < len(self._stretches) and self._stretches[self._index][0] <= position:
            self._end = max(self._end, self._stretches[self._index][1])
            self._index += 1
        return position < self._end
