"""When Parallel reads pages anew instead of from its own copy: the `fetch_policy` of its APIs.

Wire: docs.parallel.ai/search/advanced-search-settings (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._vendor import is_positive_int

__all__ = ["fetch_policy_fault"]

LEAST_AGE: Final = 600
"""Seconds; the API takes no `max_age_seconds` below it."""
FETCH_POLICY: Final = ("max_age_seconds", "timeout_seconds", "disable_cache_fallback")


def fetch_policy_fault(policy: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a `fetch_policy`, which says when pages are read anew."""
    unknown = [name for name in policy if name not in FETCH_POLICY]
    if unknown:
        return f"fetch_policy takes {', '.join(FETCH_POLICY)}, not {unknown[0]!r}"
    age = policy.get("max_age_seconds")
    if age is not None and (not is_positive_int(age) or age < LEAST_AGE):
        return f"fetch_policy: max_age_seconds must be {LEAST_AGE} or more, not {age!r}"
    return None
