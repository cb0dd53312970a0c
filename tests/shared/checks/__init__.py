"""One function per expectation key, grouped by what it looks at."""

from __future__ import annotations

from typing import Final

from . import citations, errors, lifecycle, pages, passages, requests, result, stream
from .compare import Check

__all__ = ["CHECKS", "check_for"]

CHECKS: Final[dict[str, Check]] = {
    **citations.CHECKS,
    **errors.CHECKS,
    **result.CHECKS,
    **requests.CHECKS,
    **passages.CHECKS,
    **lifecycle.CHECKS,
    **stream.CHECKS,
    **pages.CHECKS,
}
"""Expectation key to the function that compares it."""


def check_for(key: str) -> Check | None:
    """Return the check of a key, `source_0`, `source_1`, ... included; None if it is unknown."""
    return CHECKS.get(key) or result.check_for_source(key)
