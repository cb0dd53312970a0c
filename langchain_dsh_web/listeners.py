"""Who hears the custom events of a run: callback handlers, and the graph that the run is part of.

Finding out costs next to nothing, and where nobody listens a search is run as if this module did
not exist.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    AsyncParentRunManager,
    BaseCallbackHandler,
    CallbackManager,
    ParentRunManager,
)

from dsh_web import AsyncSearchStream, SearchStream, WebSearchResult

from .events import CustomEvent, News

__all__ = ["Listeners"]


class Listeners:
    """The listeners of one run; false if there are none.

    Args:
        run: The run's own manager, which a tool or a retriever is called with; None: nobody
            listens.
    """

    def __init__(self, run: ParentRunManager | AsyncParentRunManager | None) -> None:
        self._callbacks: CallbackManager | AsyncCallbackManager | None = None
        self._write: Callable[[Any], None] | None = None
        if run is not None:
            self._run_id = run.run_id
            self._write = _graph_writer()
            if any(map(_hears, run.inheritable_handlers)):
                # Nested under the run. A bare dispatch would look for an ambient one, which a
                # retriever does not set.
                self._callbacks = run.get_child()

    def __bool__(self) -> bool:
        return self._callbacks is not None or self._write is not None

    def tell(self, event: CustomEvent) -> None:
        """Hand `event` to everyone."""
        name, content = event
        self._tell_graph(name, content)
        if isinstance(self._callbacks, CallbackManager):
            self._callbacks.on_custom_event(name, content, run_id=self._run_id)

    async def atell(self, event: CustomEvent) -> None:
        """Hand `event` to everyone; see `tell`."""
        name, content = event
        self._tell_graph(name, content)
        if isinstance(self._callbacks, AsyncCallbackManager):
            await self._callbacks.on_custom_event(name, content, run_id=self._run_id)

    def follow(self, search: SearchStream, *, include_text: bool) -> WebSearchResult:
        """Run `search` to its end, tell of what happens on the way, and return its result."""
        news = News(include_text=include_text)
        with search:
            for happened in search:
                for event in news.of(happened):
                    self.tell(event)
        return _result_of(search)

    async def afollow(self, search: AsyncSearchStream, *, include_text: bool) -> WebSearchResult:
        """Run `search` to its end; see `follow`."""
        news = News(include_text=include_text)
        async with search:
            async for happened in search:
                for event in news.of(happened):
                    await self.atell(event)
        return _result_of(search)

    def _tell_graph(self, name: str, content: dict[str, Any]) -> None:
        if self._write is not None:
            # What an event of `astream_events` is made of, so that one reader serves both.
            self._write({"name": name, "run_id": str(self._run_id), "data": content})


def _result_of(search: SearchStream | AsyncSearchStream) -> WebSearchResult:
    if search.result is None:
        raise RuntimeError("a stream has ended without a result and without an error")
    return search.result


def _hears(handler: BaseCallbackHandler) -> bool:
    """Return whether custom events mean anything to `handler`; tracers, for one, ignore them."""
    method = handler.on_custom_event
    is_inherited = getattr(method, "__func__", method) in _DEAF
    return not (is_inherited or handler.ignore_custom_event)


_DEAF: Final = (BaseCallbackHandler.on_custom_event, AsyncCallbackHandler.on_custom_event)


def _graph_writer() -> Callable[[Any], None] | None:
    """Return what writes to `stream_mode="custom"` of the running graph, if anybody reads that."""
    # Not imported: without the module there is no graph that could be running.
    config = sys.modules.get("langgraph.config")
    if config is None:
        return None
    try:
        writer: Callable[[Any], None] = config.get_stream_writer()
    except Exception:
        # Not inside a graph: a KeyError within other runs, a RuntimeError outside of any.
        return None
    # A graph whose custom events nobody reads has a writer too: a function without a body.
    code = getattr(writer, "__code__", None)
    return None if code is not None and code.co_code == _NO_BODY else writer


def _nothing(_: object) -> None: ...


_NO_BODY: Final = _nothing.__code__.co_code
