"""Keys about citation records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..outcome import Outcome
from .compare import Check, Complaint, differs

FIELDS: Final = {
    "marker": lambda record: record.raw_marker,
    "type": lambda record: record.source_type,
    "index": lambda record: record.source_index,
    "url": lambda record: record.url,
    "span": lambda record: list(record.marker_span),
}


def _records(outcome: Outcome) -> Any:
    records = outcome.measured.get("citations")
    return outcome.need("result").citations if records is None else records


def _citations(want: list[Mapping[str, Any]], outcome: Outcome) -> Complaint:
    got = [
        {name: FIELDS[name](record) for name in FIELDS}
        for record in _records(outcome)
        if record.resolved
    ]
    # A seam gives a bare marker its surface's default kind: only a written kind is compared.
    shown = [
        {name: value for name, value in record.items() if name != "type" or ":" in record["marker"]}
        for record in got
    ]
    wanted = [
        {name: value for name, value in record.items() if name != "type" or ":" in record["marker"]}
        for record in want
    ]
    keys = [record.keys() for record in wanted]
    kept = [
        {name: record[name] for name in names} for names, record in zip(keys, shown, strict=False)
    ]
    return differs(wanted, kept + shown[len(kept) :])


def _unresolved(want: list[str], outcome: Outcome) -> Complaint:
    return differs(want, [record.raw_marker for record in _records(outcome) if not record.resolved])


def _urls_in_text_order(want: list[str], outcome: Outcome) -> Complaint:
    return differs(want, [record.url for record in _records(outcome) if record.resolved])


CHECKS: Final[dict[str, Check]] = {
    "citations": _citations,
    "unresolved": _unresolved,
    "citation_urls_in_text_order": _urls_in_text_order,
}
