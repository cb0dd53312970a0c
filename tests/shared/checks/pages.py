"""Keys about a page that was fetched."""

from __future__ import annotations

from typing import Any, Final

from ..outcome import Outcome
from ..tool_text import link_destinations
from .compare import Check, Complaint, at_most, equal, measured, missing_from, present_in


def _contains_if_ok(want: Any, outcome: Outcome) -> Complaint:
    if outcome.error is not None:
        return None
    return missing_from(outcome.measure("markdown"), want)


def _each(want: dict[str, Any], outcome: Outcome) -> Complaint:
    # Here, since it is the comparison that knows all checks, this one included.
    from ..expectations import compare

    complaints = []
    for position, part in enumerate(outcome.need("parts")):
        verdict = compare(want, part)
        complaints += [f"[{position}] {complaint}" for complaint in verdict.complaints]
    return "; ".join(complaints) or None


CHECKS: Final[dict[str, Check]] = {
    "markdown_contains": lambda want, o: missing_from(o.measure("markdown"), want),
    "markdown_contains_if_ok": _contains_if_ok,
    "markdown_excludes": lambda want, o: present_in(o.measure("markdown"), want),
    "markdown_links": equal(lambda o: link_destinations(o.measure("markdown"))),
    "kind": equal(measured("kind")),
    "page_count": equal(measured("page_count")),
    "decoded_bytes_max": at_most(measured("decoded_bytes")),
    "peak_memory_mb_max": at_most(measured("peak_memory_mb")),
    "each": _each,
}
