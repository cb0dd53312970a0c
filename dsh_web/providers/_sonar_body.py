"""What a chat completion of Sonar holds beside its answer: sources and usage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..citations import Reference
from ..seam import Usage
from ._shape import Reader, web_url
from ._sources import SourceList

__all__ = ["CONTRACT", "add_sources", "references_in", "usage_of"]

CONTRACT: Final = "perplexity-sonar/2026-06"


def add_sources(
    reader: Reader, sources: SourceList, data: dict[str, Any], message: dict[str, Any]
) -> None:
    """Add the richest list that the body has; `[n]` in the answer is `citations[n-1]`."""
    citations = reader.items(data, "citations")
    results = reader.items(data, "search_results")
    if results:
        numbers = _numbers(citations)
        for position, entry in enumerate(results, start=1):
            url = web_url(entry.get("url")) if isinstance(entry, dict) else None
            ids = numbers.get(url or "", ()) if citations else (position,)
            sources.add_entry(entry, ids=ids)
    if sources.found:
        return
    for position, url in enumerate(citations, start=1):
        sources.add_link(url, ids=(position,))
    if not citations:
        for position, entry in enumerate(_annotated_pages(reader, message), start=1):
            sources.add_entry(entry, ids=(position,))


def references_in(
    reader: Reader, data: dict[str, Any], message: dict[str, Any]
) -> dict[tuple[str, int], Reference]:
    """Return what the markers of the answer lead to.

    `[n]` is `citations[n-1]`, also where the richer list lacks that page; without such a list it
    is `search_results[n-1]`. Titles come from the richer lists, matched by address.
    """
    results = reader.items(data, "search_results")
    listed = reader.items(data, "citations")
    annotated = list(_annotated_pages(reader, message))
    entries: list[Any] = [{"url": url} for url in listed] or results or annotated
    titles: dict[str, str] = {}
    for entry in (*results, *annotated):
        url, title = _page(entry)
        if url is not None and title is not None:
            titles.setdefault(url, title)
    return {
        ("web", number): Reference(url, title or titles.get(url))
        for number, (url, title) in enumerate(map(_page, entries), start=1)
        if url is not None
    }


def _page(entry: Any) -> tuple[str | None, str | None]:
    """Return the address and the title of an entry, as far as they are usable."""
    if not isinstance(entry, dict):
        return None, None
    title = entry.get("title")
    return web_url(entry.get("url")), title if isinstance(title, str) and title.strip() else None


def _annotated_pages(reader: Reader, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what OpenRouter keeps of a Sonar answer's sources: only OpenAI-style annotations."""
    for note in reader.records(message, "annotations"):
        nested = note.get("url_citation")
        yield nested if isinstance(nested, dict) else note


def _numbers(citations: list[Any]) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, tuple[int, ...]] = {}
    for position, url in enumerate(citations, start=1):
        address = web_url(url)
        if address is not None:
            numbers[address] = (*numbers.get(address, ()), position)
    return numbers


def usage_of(reader: Reader, data: dict[str, Any]) -> Usage | None:
    """Return the usage of a body or frame; a gateway's own cost counts too."""
    usage = reader.record(data, "usage")
    if not usage:
        return None
    cost = usage.get("cost")
    total = reader.number(cost, "total_cost") if isinstance(cost, dict) else None
    if isinstance(cost, (int, float)):  # a gateway's own accounting
        total = reader.number(usage, "cost")
    return Usage(
        input_tokens=reader.integer(usage, "prompt_tokens"),
        output_tokens=reader.integer(usage, "completion_tokens"),
        total_tokens=reader.integer(usage, "total_tokens"),
        reasoning_tokens=reader.integer(usage, "reasoning_tokens"),
        searches=reader.integer(usage, "num_search_queries"),
        cost_usd=total,
    )
