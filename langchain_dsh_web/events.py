"""The custom events of a search or fetch: how it goes, and what it cost in the end.

Documents hold passages and nothing that changes from call to call, so usage, warnings and request
ids need another way out; and what happens before there is a result has no other way at all.
Handlers receive the events in `on_custom_event`, `astream_events` yields them. This module says
what is in them; `listeners` knows who hears them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from dsh_web import (
    Progress,
    SourcesFound,
    StreamEvent,
    TextDelta,
    WebPage,
    WebSearchResult,
    WebSearchSource,
)

__all__ = ["MIN_TEXT_CHARS", "CustomEvent", "News", "fetch_event", "search_event"]

CustomEvent: TypeAlias = tuple[str, dict[str, Any]]
"""A name and JSON-able data."""

SEARCH_EVENT: Final = "dsh_web.search"
"""One for each successful search, after everything else."""
FETCH_EVENT: Final = "dsh_web.fetch"
"""One for each page that was read."""
PROGRESS_EVENT: Final = "dsh_web.progress"
"""What the provider is doing, and sources as soon as they are known."""
TEXT_EVENT: Final = "dsh_web.delta"
"""The next stretch of the answer."""

MIN_TEXT_CHARS: Final = 64
"""Providers send single words; an event for each would cost more than it shows."""

_REPORTED: Final = {
    "provider",
    "model",
    "request_id",
    "finish_reason",
    "usage",
    "truncated",
    "warnings",
    "related_questions",
}


def search_event(result: WebSearchResult) -> CustomEvent:
    """Return the event that closes a successful search.

    The data are the result's own facts, without those that are unknown, and `source_count`.
    Neither the query nor anything a page said is in it.
    """
    facts = result.model_dump(mode="json", include=_REPORTED, exclude_none=True)
    return SEARCH_EVENT, facts | {"source_count": len(result.sources)}


def fetch_event(page: WebPage) -> CustomEvent:
    """Return the event that closes a successful fetch: all facts but what the page says."""
    facts = page.model_dump(mode="json", exclude={"text", "title"}, exclude_none=True)
    return FETCH_EVENT, facts | {"text_chars": len(page.text)}


class News:
    """The events of a running search, made from those of its stream.

    Args:
        include_text: Also pass on the answer, in stretches of `MIN_TEXT_CHARS` or more; a shorter
            one comes before any other event and at the end. All of them joined are the answer.
    """

    def __init__(self, *, include_text: bool) -> None:
        self._include_text = include_text
        self._pieces: list[str] = []

    def of(self, event: StreamEvent) -> Iterator[CustomEvent]:
        """Yield what listeners are told when `event` has happened."""
        if isinstance(event, TextDelta):
            if self._include_text:
                self._pieces.append(event.text)
                yield from self._text(MIN_TEXT_CHARS)
            return
        yield from self._text(1)
        if isinstance(event, Progress):
            yield PROGRESS_EVENT, event.model_dump(mode="json", exclude_none=True)
        elif isinstance(event, SourcesFound):
            sources = [_named(source) for source in event.sources]
            yield PROGRESS_EVENT, {"kind": event.kind, "sources": sources}

    def _text(self, min_chars: int) -> Iterator[CustomEvent]:
        if sum(map(len, self._pieces)) >= min_chars:
            yield TEXT_EVENT, {"text": "".join(self._pieces)}
            self._pieces.clear()


def _named(source: WebSearchSource) -> dict[str, str]:
    return {"url": source.url} | ({"title": source.title} if source.title else {})
