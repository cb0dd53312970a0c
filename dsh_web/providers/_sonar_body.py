"""What a chat completion holds: answer, sources, usage."""

from __future__ import annotations

from typing import Any

from ..seam import Usage
from ._shape import Reader
from ._sources import SourceList

__all__ = ["add_sources", "content_of", "first_choice", "usage_of"]


def first_choice(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """Return the choice with the index 0 (or none), or an empty one; the others are rivals."""
    for choice in reader.records(data, "choices"):
        if choice.get("index") in (None, 0):
            return choice
    return {}


def content_of(reader: Reader, message: dict[str, Any]) -> str | None:
    """Return the answer; gateways may send it as a list of typed parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        parts += [part for part in content if isinstance(part, str)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return reader.text(message, "content") or None


def add_sources(
    reader: Reader, sources: SourceList, data: dict[str, Any], message: dict[str, Any]
) -> None:
    """Add the richest list that the body has; `[n]` in the answer is `citations[n-1]`."""
    citations = reader.items(data, "citations")
    results = reader.items(data, "search_results")
    if results:
        numbers = _numbers(citations)
        for position, entry in enumerate(results, start=1):
            url = entry.get("url") if isinstance(entry, dict) else None
            ids = numbers.get(url, ()) if citations and isinstance(url, str) else (position,)
            sources.add_entry(entry, ids=ids)
    if sources.found:
        return
    for position, url in enumerate(citations, start=1):
        sources.add_link(url, ids=(position,))
    if not citations:
        # OpenRouter keeps the sources of a Sonar answer only in OpenAI-style annotations.
        for position, note in enumerate(reader.records(message, "annotations"), start=1):
            nested = note.get("url_citation")
            sources.add_entry(nested if isinstance(nested, dict) else note, ids=(position,))


def _numbers(citations: list[Any]) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, tuple[int, ...]] = {}
    for position, url in enumerate(citations, start=1):
        if isinstance(url, str):
            numbers[url] = (*numbers.get(url, ()), position)
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
