"""Which number each source is shown by: two sources never share one, one source never has two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from ..errors import InvalidRequestError
from ..seam_citations import Citation
from .ledger import CitationLedger, SourceId, source_id

__all__ = ["Numbering", "numbered_sources"]

Numbering: TypeAlias = Literal["provider", "first_use"] | CitationLedger
"""`provider`: the provider's own numbers, as far as they are unambiguous; `first_use`: 1, 2, 3 in
the order of the text; a ledger: its numbers."""


def numbered_sources(records: Sequence[Citation], numbering: Numbering) -> dict[SourceId, int]:
    """Return the number of each source that the records lead to.

    Args:
        records: In text order.
        numbering: How to number. The first source to claim a provider's number has it; the others
            (of another kind, or from another of several joined answers) and those without a number
            get new ones above all that are claimed.

    Raises:
        InvalidRequestError: The numbering is unknown, or the ledger lacks a source.
    """
    first: dict[SourceId, Citation] = {}
    for record in records:
        identity = source_id(record)
        if identity is not None:
            first.setdefault(identity, record)
    if isinstance(numbering, CitationLedger):
        return _by_ledger(first, numbering)
    if numbering == "first_use":
        return {identity: number for number, identity in enumerate(first, start=1)}
    if numbering == "provider":
        return _by_provider(first)
    known = ", ".join(map(repr, get_args(get_args(Numbering)[0])))
    raise InvalidRequestError(f"{numbering!r} is no numbering: use {known} or a CitationLedger")


def _by_provider(first: dict[SourceId, Citation]) -> dict[SourceId, int]:
    owners: dict[int, SourceId] = {}
    for identity, record in first.items():
        if record.source_index is not None:
            owners.setdefault(record.source_index, identity)
    numbers = {identity: number for number, identity in owners.items()}
    free = max(owners, default=0) + 1
    for identity in first:
        if identity not in numbers:
            numbers[identity] = free
            free += 1
    return numbers


def _by_ledger(first: dict[SourceId, Citation], ledger: CitationLedger) -> dict[SourceId, int]:
    known = {entry.id: entry.number for entry in ledger.entries}
    for identity, record in first.items():
        if identity not in known:
            raise InvalidRequestError(
                f"the ledger has no number for {record.url or record.raw_marker!r}: add the "
                "result first, ledger = ledger.with_result(result)"
            )
    return {identity: known[identity] for identity in first}
