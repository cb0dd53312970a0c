"""Stable numbers for sources across several results: turns of a chat, sections of a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from pydantic import ConfigDict, Field, model_validator

from ..errors import InvalidRequestError
from ..models import Frozen, RequestModel
from ..seam import WebSearchResult
from ..seam_citations import Citation

__all__ = ["CitationLedger", "LedgerEntry", "SourceId", "source_id"]

SourceId: TypeAlias = tuple[str | int | None, ...]
"""What one source is told apart from another by; hashable and opaque."""


def source_id(record: Citation) -> SourceId | None:
    """Return the identity of the source of `record`; None if the record leads to none.

    Pages are told apart by their address, compared as text: a fragment or a slash can matter. A
    source without an address is told apart by the provider, its kind, number and answer, and its
    title.
    """
    if not record.resolved:
        return None
    return ("url", record.url) if record.url is not None else (*record.key, record.title)


class LedgerEntry(Frozen):
    """One source with its number."""

    number: int = Field(ge=1)
    provider: str
    """Id of the provider that named the source first."""
    source_type: str = "web"
    source_index: int | None = None
    """The provider's own number where the source was named first; means nothing elsewhere."""
    answer_index: int = 0
    url: str | None = None
    title: str | None = None
    """The first title that any record gave."""

    @property
    def id(self) -> SourceId:
        """The identity of the source; see `source_id`."""
        if self.url is not None:
            return ("url", self.url)
        key = (self.provider, self.source_type, self.source_index, self.answer_index)
        return (*key, self.title)


class CitationLedger(RequestModel):
    """Sources with numbers that never move, in the order in which they were added.

        ledger = CitationLedger().with_result(first).with_result(second)
        ledger.number_of("https://tea.example/leaf")  # the same in both answers

    A ledger is a value: adding to it gives another one, so threads can share it freely; two that
    grew from one in parallel are joined by `merge`. It round-trips through JSON
    (`model_dump(mode="json")`, `model_dump_json()`) and pickles.

    Raises:
        InvalidRequestError: Stored entries give a number to two sources, or two to one.
    """

    # A ledger stored by a later version can still be read.
    model_config = ConfigDict(frozen=True, extra="ignore")

    entries: tuple[LedgerEntry, ...] = ()

    @model_validator(mode="after")
    def _is_one_to_one(self) -> CitationLedger:
        for what, values in (
            ("number", [entry.number for entry in self.entries]),
            ("source", [entry.id for entry in self.entries]),
        ):
            if len(set(values)) < len(values):
                raise InvalidRequestError(
                    f"a {what} stands in the ledger twice: one source, one number"
                )
        return self

    def number_of(self, source: Citation | str) -> int | None:
        """Return the number of a record's source, or of an address; None if it has none."""
        wanted = ("url", source) if isinstance(source, str) else source_id(source)
        return next((entry.number for entry in self.entries if entry.id == wanted), None)

    def with_result(
        self, result: WebSearchResult, *, include_uncited: bool = False
    ) -> CitationLedger:
        """Return a ledger that knows the sources of `result` too.

        Args:
            result: Its cited sources are added in the order of the text. Markers that lead nowhere
                take no number.
            include_uncited: Add the other sources after them, in the provider's order; for results
                without an answer, which cite nothing.
        """
        ledger = self.with_citations(result.citations)
        if not include_uncited:
            return ledger
        return ledger._grown(
            LedgerEntry(number=1, provider=result.provider, url=source.url, title=source.title)
            for source in result.sources
        )

    def with_citations(self, citations: Iterable[Citation]) -> CitationLedger:
        """Return a ledger that knows the sources of `citations` too, added in text order."""
        in_text_order = sorted(citations, key=lambda record: record.marker_span)
        return self._grown(
            LedgerEntry(
                number=1,
                provider=record.provider,
                source_type=record.source_type,
                source_index=record.source_index,
                answer_index=record.answer_index,
                url=record.url,
                title=record.title,
            )
            for record in in_text_order
            if record.resolved
        )

    def merge(self, other: CitationLedger) -> CitationLedger:
        """Return a ledger of both. Merging again changes nothing.

        Numbers of this ledger never move. A source that only `other` knows keeps its number there
        if that is free here, else it gets a new one above all that either uses.
        """
        used = {entry.number for entry in self.entries}
        known = {entry.id for entry in self.entries}
        added = [entry for entry in other.entries if entry.id not in known]
        free = max((*used, *(entry.number for entry in added)), default=0) + 1
        moved = []
        for entry in added:
            if entry.number in used:
                moved.append(entry.model_copy(update={"number": free}))
                free += 1
            else:
                moved.append(entry)
        titles = {entry.id: entry.title for entry in other.entries}
        own = (_titled(entry, titles.get(entry.id)) for entry in self.entries)
        return CitationLedger(entries=(*own, *moved))

    def _grown(self, candidates: Iterable[LedgerEntry]) -> CitationLedger:
        """Return a ledger with the candidates that are new, numbered from the highest number on."""
        entries = {entry.id: entry for entry in self.entries}
        free = max((entry.number for entry in self.entries), default=0) + 1
        for candidate in candidates:
            known = entries.get(candidate.id)
            if known is not None:
                entries[candidate.id] = _titled(known, candidate.title)
            else:
                entries[candidate.id] = candidate.model_copy(update={"number": free})
                free += 1
        return CitationLedger(entries=tuple(entries.values()))


def _titled(entry: LedgerEntry, title: str | None) -> LedgerEntry:
    # The title of a source without an address is part of its identity, so it cannot be news.
    if entry.title is not None or title is None or entry.url is None:
        return entry
    return entry.model_copy(update={"title": title})
