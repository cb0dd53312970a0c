"""Keys about what a stream told before its result."""

from __future__ import annotations

from typing import Any, Final

from ..outcome import Outcome
from .compare import Check, Complaint, equal, measured, short


def _begins_with(want: str, outcome: Outcome) -> Complaint:
    got = outcome.measure("deltas")
    return None if got.startswith(want) else f"expected {want!r} first, got {short(got)}"


def _search_context_size(outcome: Outcome) -> Any:
    raw = outcome.need("result").raw or {}
    return (raw.get("usage") or {}).get("search_context_size")


CHECKS: Final[dict[str, Check]] = {
    "deltas_joined": equal(measured("deltas")),
    "deltas_joined_prefix": _begins_with,
    "search_context_size": equal(_search_context_size),
}
