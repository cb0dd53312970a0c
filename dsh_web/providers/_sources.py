"""Gathering sources from result lists whose entries may be broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ..seam import SourceOrigin, WebImage, WebSearchSource
from ._shape import Reader, is_web_url, web_url

__all__ = ["MakeSource", "SourceList", "read_images"]


MakeSource: TypeAlias = Callable[
    [Mapping[str, Any], str, tuple[int, ...], SourceOrigin], WebSearchSource
]
"""Makes a source of an entry, its usable address, the provider's numbers for it and its origin."""


class SourceList:
    """Sources in the provider's order; one bad entry never loses the others.

    Args:
        reader: Notes the wrong types that are met.
        merge_repeats: Keep one source per url, the first; the provider's numbers of the others
            still lead to it.
        make_source: Reads an entry; default: with Perplexity's names of the fields.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        merge_repeats: bool = False,
        make_source: MakeSource | None = None,
    ) -> None:
        self._reader = reader
        self._merge_repeats = merge_repeats
        self._make_source = make_source or _source
        self._sources: list[WebSearchSource] = []
        self._position_of: dict[str, int] = {}
        self._skipped = 0

    @property
    def found(self) -> tuple[WebSearchSource, ...]:
        """What was gathered so far."""
        return tuple(self._sources)

    def add_entry(
        self, entry: Any, *, ids: tuple[int, ...] = (), origin: SourceOrigin = "result"
    ) -> None:
        """Add one entry of a result list; one without a usable url is skipped and counted."""
        if not isinstance(entry, dict):
            self._reader.wrong = self._reader.wrong or "a result is not an object"
            self._skipped += 1
            return
        url = web_url(entry.get("url"))
        if url is None:
            self._reader.text(entry, "url")  # notes a wrong type
            self._skipped += 1
            return
        if self._merge_repeats and url in self._position_of:
            self._extend_ids(self._position_of[url], ids)
            return
        self._position_of.setdefault(url, len(self._sources))
        self._sources.append(self._make_source(entry, url, ids, origin))

    def add_link(self, url: Any, *, ids: tuple[int, ...] = ()) -> None:
        """Add a bare address; one that is not http(s) is skipped and counted."""
        address = web_url(url)
        if address is None:
            if not isinstance(url, str):
                self._reader.wrong = self._reader.wrong or "a citation is not text"
            self._skipped += 1
            return
        self._sources.append(WebSearchSource(url=address, ids=ids, origin="link"))

    def warnings(self) -> tuple[str, ...]:
        """Return what a caller should know about entries that were left out."""
        if not self._skipped:
            return ()
        entries = "1 source entry" if self._skipped == 1 else f"{self._skipped} source entries"
        return (f"{entries} without a usable http(s) address left out",)

    def _extend_ids(self, position: int, ids: tuple[int, ...]) -> None:
        source = self._sources[position]
        new = tuple(number for number in ids if number not in source.ids)
        if new:
            self._sources[position] = source.model_copy(update={"ids": source.ids + new})


def _source(
    entry: Mapping[str, Any], url: str, ids: tuple[int, ...], origin: SourceOrigin
) -> WebSearchSource:
    # Wrong types in optional fields are dropped without a word: the source itself is fine.
    return WebSearchSource(
        url=url,
        title=title if type(title := entry.get("title")) is str else None,
        snippet=snippet if type(snippet := entry.get("snippet")) is str else None,
        published_at=date if type(date := entry.get("date")) is str else None,
        updated_at=updated if type(updated := entry.get("last_updated")) is str else None,
        ids=ids,
        origin=origin,
    )


def read_images(reader: Reader, records: Iterable[Mapping[str, Any]]) -> tuple[WebImage, ...]:
    """Return the pictures among `records` (Perplexity's image shape) that have an address."""
    return tuple(
        WebImage(
            url=record["image_url"],
            page_url=reader.text(record, "origin_url"),
            title=reader.text(record, "title"),
            width=reader.integer(record, "width"),
            height=reader.integer(record, "height"),
        )
        for record in records
        if is_web_url(record.get("image_url"))
    )
