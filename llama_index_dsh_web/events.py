"""What a search reports about itself, as an instrumentation event.

Facts about a whole result (cost, request id, warnings) are not metadata of its nodes: they change
from call to call, which would defeat de-duplication. They travel as an event instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent

from dsh_web import WebSearchResult

__all__ = ["WebSearchEvent", "dispatcher"]

dispatcher = get_dispatcher("llama_index_dsh_web")
"""Where this package's events and spans start; handlers of the root dispatcher see them too."""


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
        facts = result.model_dump(
            mode="json", exclude={"content", "sources", "raw"}, exclude_none=True
        )
        return cls(queries=list(queries), source_count=len(result.sources), **facts)
