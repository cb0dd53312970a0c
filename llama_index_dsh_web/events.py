"""What a search or fetch reports about itself, as events.

Facts about a whole result (cost, request id, warnings) are not metadata of its nodes: they change
from call to call, which would defeat de-duplication. They travel as an event instead, and so does
what is known before there is a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.workflow import Event
from pydantic import BaseModel

from dsh_web import WebError, WebPage, WebSearchResult

__all__ = [
    "WebFetchEvent",
    "WebPageSkippedEvent",
    "WebSearchEvent",
    "WebSearchProgress",
    "WebSearchProgressEvent",
    "dispatcher",
]

dispatcher = get_dispatcher("llama_index_dsh_web")
"""Where this package's events and spans start; handlers of the root dispatcher see them too."""


_REPORTED: Final = {
    "truncated",
    "provider",
    "model",
    "request_id",
    "finish_reason",
    "usage",
    "warnings",
    "related_questions",
    "images",
}


class WebSearchEvent(BaseEvent):
    """One finished search. Every field is JSON-able; none holds a secret.

    Emitted inside the span of the retrieval or of the tool call, before `RetrievalEndEvent`.
    """

    queries: list[str]
    """As sent to the provider."""
    source_count: int
    """Sources in the result, after the bound."""
    truncated: bool
    """True if the bound cut sources."""
    provider: str
    """Id of the provider that answered."""
    model: str | None = None
    request_id: str | None = None
    """The provider's id for the call; None for several queries."""
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    """The known fields of `dsh_web.Usage`; None if the provider reported nothing."""
    warnings: list[str]
    """What did not go quite as asked."""
    related_questions: list[str]
    images: list[dict[str, Any]]
    """The known fields of each `dsh_web.WebImage`."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which handlers know the event."""
        return "WebSearchEvent"

    @classmethod
    def of(cls, queries: Sequence[str], result: WebSearchResult) -> WebSearchEvent:
        """Return the event for `result`."""
        facts = result.model_dump(mode="json", include=_REPORTED, exclude_none=True)
        return cls(queries=list(queries), source_count=len(result.sources), **facts)


class WebFetchEvent(BaseEvent):
    """One page that was read. Every field is JSON-able; nothing of what the page says is in it.

    Emitted inside the span of the tool call.
    """

    url: str
    """Final address, after redirects."""
    status_code: int | None = None
    """None where a provider that read the page does not say."""
    kind: str | None = None
    """What it was: `html`, `text` or `pdf`; None: not known."""
    truncated: bool
    """True if the page was cut to a limit."""
    text_chars: int
    """Length of its Markdown in code points."""
    page_count: int | None = None
    """Pages of a PDF."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which handlers know the event."""
        return "WebFetchEvent"

    @classmethod
    def of(cls, page: WebPage) -> WebFetchEvent:
        """Return the event for `page`."""
        facts = page.model_dump(mode="json", exclude={"text", "title", "excerpts", "published_at"})
        return cls(**facts, text_chars=len(page.text))


class WebPageSkippedEvent(BaseEvent):
    """One page that a reader left out, and why."""

    url: str
    """As it was asked for."""
    error: dict[str, Any]
    """The known fields of the `dsh_web.WebError`, `code` and `message` among them."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which handlers know the event."""
        return "WebPageSkippedEvent"

    @classmethod
    def of(cls, url: str, error: WebError) -> WebPageSkippedEvent:
        """Return the event for a page that failed."""
        return cls(url=url, error=error.to_dict())


class _SearchProgress(BaseModel):
    """What a running search does or has found. Every field is JSON-able; none holds a secret."""

    query: str
    """The query of the search."""
    kind: Literal["progress", "sources"]
    stage: str | None = None
    """What the provider is doing: `searching`, `searched`, `fetching`, `fetched`, `reasoning` or
    `other`; None for `kind="sources"`."""
    queries: list[str] = []
    """What the provider itself searches for."""
    urls: list[str] = []
    """What it reads."""
    note: str | None = None
    """Its own words for it; never part of the answer."""
    sources: list[dict[str, str]] = []
    """For `kind="sources"`: `url` and, where known, `title` of each source not told before."""


class WebSearchProgressEvent(_SearchProgress, BaseEvent):
    """Progress of a search, as an instrumentation event.

    Emitted inside the span of the retrieval or of the tool call, before `WebSearchEvent`.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which handlers know the event."""
        return "WebSearchProgressEvent"


class WebSearchProgress(_SearchProgress, Event):
    """Progress of a tool call, in the event stream of the agent or workflow that makes it."""
