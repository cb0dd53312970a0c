"""A streamed search as its consumer sees it: an iterator that can be left at any moment."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from types import TracebackType
from typing import Any, Self

from .errors import WebError
from .events import SearchDone, SourcesFound, StreamEvent, TextDelta
from .seam import WebSearchResult, WebSearchSource

__all__ = ["AsyncSearchStream", "SearchStream", "SourceCap"]


class SourceCap:
    """Keeps the sources of a stream's events within the request's bound."""

    def __init__(self, max_results: int | None) -> None:
        self._room = max_results

    def apply(self, event: StreamEvent) -> StreamEvent | None:
        """Return the event with no more sources than there is room for; None if none is left."""
        if self._room is None or not isinstance(event, SourcesFound):
            return event
        kept = event.sources[: self._room]
        self._room -= len(kept)
        return SourcesFound(sources=kept) if kept else None

    def applied_to(
        self, events: Generator[Any, None, WebSearchResult]
    ) -> Generator[StreamEvent, None, WebSearchResult]:
        """Yield the events within the bound and return what `events` returns."""
        try:
            while True:
                event = self.apply(next(events))
                if event is not None:
                    yield event
        except StopIteration as stop:
            result: WebSearchResult = stop.value
            return result
        finally:
            events.close()


class _Heard:
    """What has been heard so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._sources: list[WebSearchSource] = []
        self._result: WebSearchResult | None = None

    @property
    def text(self) -> str:
        """The answer as far as it has arrived; stays available after a failure."""
        return "".join(self._pieces)

    @property
    def result(self) -> WebSearchResult | None:
        """The final result; None until the stream has ended well."""
        return self._result

    def _broken(self, error: WebError) -> None:
        """Give `error` what has arrived before it."""
        if error.partial is None and (self._pieces or self._sources):
            error.partial = WebSearchResult(
                content=self.text or None,
                sources=tuple(self._sources),
                provider=error.provider or "",
                finish_reason="error",
                warnings=("the stream broke off: this is what had arrived",),
            )

    def _hear(self, event: StreamEvent) -> StreamEvent:
        if isinstance(event, TextDelta):
            self._pieces.append(event.text)
        elif isinstance(event, SourcesFound):
            self._sources += event.sources
        elif isinstance(event, SearchDone):
            self._result = event.result
        return event


class SearchStream(_Heard, Iterator[StreamEvent]):
    """The events of one search; the last is `SearchDone`.

    Leaving the loop early closes the connection when the stream is closed: at the end of a `with`
    block, by `close()`, or when nothing refers to it any more.
    """

    def __init__(self, events: Generator[StreamEvent, None, None]) -> None:
        super().__init__()
        self._events = events

    def __next__(self) -> StreamEvent:
        try:
            return self._hear(next(self._events))
        except WebError as error:
            self._broken(error)
            raise

    def close(self) -> None:
        """Stop the search and close its connection."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncSearchStream(_Heard, AsyncIterator[StreamEvent]):
    """The events of one search for `async for`; the last is `SearchDone`.

    Leaving the loop early closes the connection at the end of an `async with` block, by
    `aclose()`, or, a moment later, when nothing refers to the stream any more.
    """

    def __init__(self, events: AsyncGenerator[StreamEvent, None]) -> None:
        super().__init__()
        self._events = events

    async def __anext__(self) -> StreamEvent:
        try:
            return self._hear(await anext(self._events))
        except WebError as error:
            self._broken(error)
            raise

    async def aclose(self) -> None:
        """Stop the search and close its connection."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
