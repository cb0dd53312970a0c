"""Telling who is interested what a search does while it runs.

Two kinds of listener: handlers of the instrumentation module, and the event stream of the workflow
step (an agent's tool call, for one) in which the search runs. Where there is neither, a search is
run as if this module did not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_index.core.instrumentation import (  # type: ignore[attr-defined]
    Dispatcher,
    NullEventHandler,
)
from llama_index.core.workflow import Context, WorkflowRuntimeError

from dsh_web import (
    AsyncSearchStream,
    Progress,
    SearchStream,
    SourcesFound,
    StreamEvent,
    WebSearchResult,
    WebSearchSource,
)

from .events import WebSearchProgress, WebSearchProgressEvent, dispatcher

__all__ = ["Listeners", "current_step", "result_of"]


class Listeners:
    """Who is told about one search; false if nobody is.

    Args:
        step: The workflow step whose event stream is told too; see `current_step`.
    """

    def __init__(self, step: Context | None = None) -> None:
        self._step = step
        self._is_instrumented = any(_hearing_handlers())

    def __bool__(self) -> bool:
        return self._step is not None or self._is_instrumented

    def follow(self, query: str, search: SearchStream) -> WebSearchResult:
        """Run `search` to its end, tell of what happens on the way, and return its result."""
        with search:
            for event in search:
                self._tell(query, event)
        return result_of(search)

    async def afollow(self, query: str, search: AsyncSearchStream) -> WebSearchResult:
        """Run `search` to its end; see `follow`."""
        async with search:
            async for event in search:
                self._tell(query, event)
        return result_of(search)

    def _tell(self, query: str, event: StreamEvent) -> None:
        facts = _facts(event)
        if facts is None:
            return
        if self._is_instrumented:
            dispatcher.event(WebSearchProgressEvent(query=query, **facts))
        if self._step is not None:
            self._step.write_event_to_stream(WebSearchProgress(query=query, **facts))


def current_step() -> Context | None:
    """Return the context of the workflow step that is running, if one is.

    Asked for rather than declared as a parameter: a tool that declares a `Context` cannot be
    called outside of a workflow, and not by a `CodeActAgent` at all. For async code only, since
    an event can be written on the workflow's own event loop and nowhere else. Before
    llama-index-workflows 2.18 there is no way to ask.
    """
    find = getattr(Context, "get_step_context", None)
    if find is None:
        return None
    try:
        step: Context = find()
    except WorkflowRuntimeError:
        return None
    return step


def _hearing_handlers() -> Iterator[Any]:
    """Yield the handlers that `dispatcher.event` reaches, without those that do nothing."""
    reached: Dispatcher | None = dispatcher
    while reached is not None:
        yield from (h for h in reached.event_handlers if not isinstance(h, NullEventHandler))
        reached = reached.parent if reached.propagate else None


def _facts(event: StreamEvent) -> dict[str, Any] | None:
    if isinstance(event, Progress):
        return event.model_dump(mode="json")
    if isinstance(event, SourcesFound):
        return {"kind": event.kind, "sources": [_named(source) for source in event.sources]}
    return None


def _named(source: WebSearchSource) -> dict[str, str]:
    return {"url": source.url} | ({"title": source.title} if source.title else {})


def result_of(search: SearchStream | AsyncSearchStream) -> WebSearchResult:
    """Return the result of a search that was followed to its end."""
    if search.result is None:
        raise RuntimeError("a stream has ended without a result and without an error")
    return search.result
