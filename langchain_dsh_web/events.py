"""The custom event that tells listeners what a search cost and what went not quite as asked.

Documents hold passages and nothing that changes from call to call, so usage, warnings and request
ids need another way out: handlers receive them in `on_custom_event`, `astream_events` yields them.
"""

from __future__ import annotations

from typing import Any, Final

from langchain_core.callbacks import (
    AsyncCallbackManager,
    CallbackManager,
    adispatch_custom_event,
    dispatch_custom_event,
)

from dsh_web import WebSearchResult

__all__ = ["SEARCH_EVENT", "adispatch_search_event", "dispatch_search_event"]

SEARCH_EVENT: Final = "dsh_web.search"
"""Name of the event; one for each successful search."""

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


def dispatch_search_event(result: WebSearchResult, callbacks: CallbackManager) -> None:
    """Tell the handlers of `callbacks`, a run's `get_child()`, about `result`.

    The data is a JSON-able dict: the result's own facts, without those that are unknown, and
    `source_count`. Neither the query nor anything a page said is in it.
    """
    # The bare function would look for an ambient run, which a retriever does not set.
    if callbacks.handlers:
        dispatch_custom_event(SEARCH_EVENT, _summary(result), config={"callbacks": callbacks})


async def adispatch_search_event(result: WebSearchResult, callbacks: AsyncCallbackManager) -> None:
    """Tell the handlers of `callbacks` about `result`; see `dispatch_search_event`."""
    if callbacks.handlers:
        await adispatch_custom_event(
            SEARCH_EVENT, _summary(result), config={"callbacks": callbacks}
        )


def _summary(result: WebSearchResult) -> dict[str, Any]:
    facts = result.model_dump(mode="json", include=_REPORTED, exclude_none=True)
    return facts | {"source_count": len(result.sources)}
