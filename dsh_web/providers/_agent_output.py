"""What the items of an Agent run's `output` hold: answer, sources, pictures, usage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ..citations import Annotation, Reference, references_of
from ..seam import Usage, WebFinance
from ._shape import Reader, is_web_url, web_url
from ._sources import SourceList

__all__ = [
    "CONTRACT",
    "WEB_ITEMS",
    "add_sources",
    "annotations_of",
    "answer_text",
    "finance_of",
    "image_records",
    "references_in",
    "tool_calls_of",
    "usage_of",
]

CONTRACT: Final = "perplexity-agent/2026-10"

_RESULT_LISTS = ("search_results", "people_search_results")
_SEARCH_TOOLS = ("search_web", "search_people", "finance_search")
WEB_ITEMS: Final = (
    *_RESULT_LISTS,
    "fetch_url_results",
    "finance_results",
    "image_search_results",
)
"""The item types that show that the run has reached the web."""


def add_sources(reader: Reader, sources: SourceList, item: dict[str, Any]) -> None:
    """Add the sources of one item; other items have none."""
    if item.get("type") in _RESULT_LISTS:
        for entry in reader.items(item, "results"):
            number = entry.get("id") if isinstance(entry, dict) else None
            # `type`, not isinstance: True is no number here.
            sources.add_entry(entry, ids=(number,) if type(number) is int else ())
    elif item.get("type") == "fetch_url_results":
        for entry in reader.items(item, "contents"):
            sources.add_entry(entry, origin="page")


def answer_text(reader: Reader, items: list[dict[str, Any]]) -> str | None:
    """Return all text parts of all messages, joined; None when there is none."""
    return "".join(part["text"] for part in _text_parts(reader, items)) or None


def _text_parts(reader: Reader, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        if item.get("type") == "message":
            for part in reader.records(item, "content"):
                if part.get("type") == "output_text" and reader.text(part, "text"):
                    yield part


def annotations_of(reader: Reader, items: list[dict[str, Any]]) -> list[Annotation]:
    """Return the links that came with the answer, their offsets those of the joined text."""
    found = []
    offset = 0
    for part in _text_parts(reader, items):
        for note in reader.records(part, "annotations"):
            url = web_url(note.get("url"))
            start, end = reader.integer(note, "start_index"), reader.integer(note, "end_index")
            if url is None or start is None or end is None:
                continue
            if 0 <= start and end <= len(part["text"]):  # else it would point into another part
                title = reader.text(note, "title")
                found.append(Annotation(url, title, offset + start, offset + end))
        offset += len(part["text"])
    return found


def references_in(
    reader: Reader, items: list[dict[str, Any]], sources: SourceList
) -> dict[tuple[str, int], Reference]:
    """Return what the markers of the answer lead to.

    A number is the `id` of a result, over all result items together; results are not in the order
    of their ids, so positions mean nothing. What a run that only fetched pages writes, `[web:0]`,
    is documented nowhere and taken as an index into its pages, with low confidence.
    """
    numbered = [source for source in sources.found if source.ids]
    references = references_of(numbered, contract=CONTRACT)
    pages = [
        entry
        for item in items
        if item.get("type") == "fetch_url_results"
        for entry in reader.items(item, "contents")
    ]
    has_results = any(
        item.get("type") in _RESULT_LISTS and reader.items(item, "results") for item in items
    )
    for number, entry in enumerate(pages[:1] if has_results else pages):
        url = web_url(entry.get("url")) if isinstance(entry, dict) else None
        if url is not None:
            title = reader.text(entry, "title")
            named = title if title and title.strip() else None
            references.setdefault(("web", number), Reference(url, named, "low"))
    return references


def usage_of(reader: Reader, data: dict[str, Any]) -> Usage | None:
    """Return the usage of a response object."""
    usage = reader.record(data, "usage")
    if not usage:
        return None
    calls = tool_calls_of(reader, data)
    known = [calls[name] for name in _SEARCH_TOOLS if name in calls]
    return Usage(
        input_tokens=reader.integer(usage, "input_tokens"),
        output_tokens=reader.integer(usage, "output_tokens"),
        total_tokens=reader.integer(usage, "total_tokens"),
        reasoning_tokens=reader.integer(
            reader.record(usage, "output_tokens_details"), "reasoning_tokens"
        ),
        searches=sum(known) if known else None,
        cost_usd=reader.number(reader.record(usage, "cost"), "total_cost"),
    )


def tool_calls_of(reader: Reader, data: dict[str, Any]) -> dict[str, int]:
    """Return how often each tool was called, by the names of the bill."""
    details = reader.record(reader.record(data, "usage"), "tool_calls_details")
    return {
        name: count
        for name, detail in details.items()
        if isinstance(detail, dict) and (count := reader.integer(detail, "invocation")) is not None
    }


def image_records(reader: Reader, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the entries of all image searches."""
    for item in items:
        if item.get("type") == "image_search_results":
            yield from reader.records(item, "results")


def finance_of(reader: Reader, items: list[dict[str, Any]]) -> tuple[WebFinance, ...]:
    """Return the market data of all finance look-ups that have any content."""
    return tuple(
        WebFinance(
            category=reader.text(record, "category"),
            content=content,
            tickers=reader.texts(record, "tickers"),
            urls=tuple(url for url in reader.texts(record, "sources") if is_web_url(url)),
        )
        for item in items
        if item.get("type") == "finance_results"
        for record in reader.records(item, "results")
        if (content := _content_text(reader, record))
    )


def _content_text(reader: Reader, record: dict[str, Any]) -> str | None:
    """Return the content; JSON that was not wrapped into text is written out as it would be."""
    content = record.get("content")
    if content and isinstance(content, (dict, list)):
        return json.dumps(content, ensure_ascii=False)
    text = reader.text(record, "content")
    return text if text and text.strip() else None
