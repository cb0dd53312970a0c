"""Keys about the normalized result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..outcome import Outcome
from .compare import (
    Check,
    Complaint,
    differs,
    equal,
    missing_from,
    short,
)

SOURCE_FIELDS: Final = ("url", "title", "snippet", "published_at")
"""Fields that a written-out source is compared in, one that is absent being null."""


def _sources(outcome: Outcome) -> Any:
    return outcome.need("result").sources


def _source_urls(outcome: Outcome) -> list[str]:
    return [source.url for source in _sources(outcome)]


def _written_out(want: list[Mapping[str, Any]], outcome: Outcome) -> Complaint:
    sources = _sources(outcome)
    if len(sources) != len(want):
        return f"expected {len(want)} sources, got {[s.url for s in sources]}"
    complaints = [
        f"[{position}] {complaint}"
        for position, wanted in enumerate(want)
        if (
            complaint := _source_differs(
                {**dict.fromkeys(SOURCE_FIELDS), **wanted}, sources[position]
            )
        )
    ]
    return "; ".join(complaints) or None


_SOURCE_N = re.compile(r"source_(\d+)")
_IN_ORDER = "_contains_in_order"
_CONTAINS = "_contains"


def check_for_source(key: str) -> Check | None:
    """Return the check of `source_<position>`, None for any other key."""
    numbered = _SOURCE_N.fullmatch(key)
    return _source_at(int(numbered.group(1))) if numbered else None


def _source_at(position: int) -> Check:
    def check(want: Mapping[str, Any], outcome: Outcome) -> Complaint:
        sources = _sources(outcome)
        if position >= len(sources):
            return f"there are only {len(sources)} sources"
        return _source_differs(want, sources[position])

    return check


def _source_differs(want: Mapping[str, Any], source: Any) -> Complaint:
    complaints = []
    for name, value in want.items():
        attribute = name.removesuffix(_IN_ORDER).removesuffix(_CONTAINS)
        if attribute not in type(source).model_fields:
            complaints.append(f"unknown source field: {name}")
            continue
        got = getattr(source, attribute)
        if name.endswith(_IN_ORDER):
            pattern = ".*".join(re.escape(part) for part in value)
            is_there = re.search(pattern, got or "", re.DOTALL)
            complaint = None if is_there else f"{value} not in this order in {short(got)}"
        elif name.endswith(_CONTAINS):
            complaint = missing_from(got or "", value)
        else:
            complaint = differs(value, got)
        if complaint:
            complaints.append(f"{name}: {complaint}")
    return "; ".join(complaints) or None


def _source_set(want: list[str], outcome: Outcome) -> Complaint:
    return differs(sorted(set(want)), sorted(set(_source_urls(outcome))))


def _total_tokens(outcome: Outcome) -> int | None:
    usage = outcome.need("result").usage
    return None if usage is None else usage.total_tokens


CHECKS: Final[dict[str, Check]] = {
    "content": equal(lambda o: o.need("result").content),
    "sources": _written_out,
    "sources_urls": equal(_source_urls),
    "source_urls_exact": equal(_source_urls),
    "sources_urls_set": _source_set,
    "sources_count": equal(lambda o: len(_sources(o))),
    "truncated": equal(lambda o: o.need("result").truncated),
    "usage_total_tokens": equal(_total_tokens),
}
