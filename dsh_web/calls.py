"""One search through the seam: its limits, its meter, and what becomes of its result."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .cancel import CancelToken
from .errors import (
    InvalidRequestError,
    ProviderError,
    UnsupportedFilterError,
    WebError,
)
from .events import SearchDone, StreamEvent, UsageReported
from .explain import Explanation, explain_call
from .filters import apply_support
from .flow import Flow
from .limits import CallLimits
from .merge import cap_sources
from .metering import UsageMeter
from .seam import (
    Usage,
    WebSearchProvider,
    WebSearchRequest,
    WebSearchResult,
)
from .sharing import SharedCalls
from .streams import SourceCap
from .structured import parse_answer

if TYPE_CHECKING:
    from ._io.async_driver import AsyncDriver
    from ._io.scope import AsyncScope, SyncScope
    from ._io.sync_driver import SyncDriver

__all__ = ["SearchCall"]

Result = TypeVar("Result")


class SearchCall:
    """A search by one provider, ready to run.

    Args:
        provider: Who runs it.
        request: What is asked.
        cancel: Stops the call.
        timeout: Seconds; None: no limit.
        meter: Admits the call and counts what it consumes.
        shared: Lets identical calls share one request.
        queries: Several queries for a provider that takes them in one request.

    Raises:
        UnsupportedFilterError: The provider cannot honour something that is set.
    """

    def __init__(
        self,
        provider: WebSearchProvider,
        request: WebSearchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
        *,
        meter: UsageMeter,
        shared: SharedCalls,
        queries: tuple[str, ...] = (),
    ) -> None:
        self._limits = CallLimits(provider, "search", cancel, timeout)
        self._provider = provider
        self._asked = request
        self._request, self._warnings = _supported_part(provider, request, self._limits.label)
        self._meter = meter
        self._shared = shared
        self._queries = queries

    def explain(self) -> Explanation:
        """Return what the call would send."""
        return explain_call(self._provider, self._asked, self._request, self._warnings)

    def run(self, driver: SyncDriver) -> WebSearchResult:
        """Perform the call, blocking."""

        def alone(scope: SyncScope) -> WebSearchResult:
            self._meter.admit()
            try:
                result = self._checked(driver.run(self._start(), scope))
            except BaseException as error:
                self._count_failure(error)
                raise
            return self._counted(result)

        def work(scope: SyncScope) -> WebSearchResult:
            if self._shared.is_off:
                return alone(scope)
            return self._shared.run(self._key(), lambda: alone(scope), scope)

        return self._finished(self._limits.run(work))

    async def run_async(self, driver: AsyncDriver) -> WebSearchResult:
        """Perform the call on the running event loop."""

        async def alone(scope: AsyncScope) -> WebSearchResult:
            self._meter.admit()
            try:
                result = self._checked(await driver.run(self._start(), scope))
            except BaseException as error:
                self._count_failure(error)
                raise
            return self._counted(result)

        async def work(scope: AsyncScope) -> WebSearchResult:
            if self._shared.is_off:
                return await alone(scope)
            return await self._shared.run_async(self._key(), lambda: alone(scope), scope)

        return self._finished(await self._limits.run_async(work))

    def stream(self, driver: SyncDriver) -> Generator[StreamEvent, None, None]:
        """Yield the events of the call, the result last."""
        cap = SourceCap(self._request.max_results)

        def work(scope: SyncScope) -> Generator[StreamEvent, None, WebSearchResult]:
            self._meter.admit()
            reported: list[Usage] = []
            events = cap.applied_to(driver.stream(self._start_stream(), scope))
            try:
                result = self._checked((yield from _noting(events, reported)))
            except BaseException as error:
                self._count_failure(error, reported)
                raise
            return self._counted(result)

        result = yield from self._limits.stream(work)
        yield SearchDone(result=self._finished(result))

    async def stream_async(self, driver: AsyncDriver) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of the call, the result last."""
        cap = SourceCap(self._request.max_results)
        results: list[WebSearchResult] = []

        async def work(scope: AsyncScope) -> AsyncGenerator[StreamEvent, None]:
            self._meter.admit()
            reported: list[Usage] = []
            events = driver.stream(self._start_stream(), scope, results.append)
            try:
                async for event in events:
                    if isinstance(event, UsageReported):
                        reported.append(event.usage)
                    capped = cap.apply(event)
                    if capped is not None:
                        yield capped
                self._checked(results[0])
            except BaseException as error:
                self._count_failure(error, reported)
                raise
            finally:
                await events.aclose()
            results[0] = self._counted(results[0])

        events = self._limits.stream_async(work)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()
        yield SearchDone(result=self._finished(results[0]))

    def _key(self) -> str:
        """Return a text that is the same for calls that would send and return the same."""
        request = self._request.model_dump_json()
        name = self._shared.name_of(self._provider)
        return f"{self._provider.id}:{name}:{self._queries}:{request}"

    def _start(self) -> Flow[WebSearchResult]:
        if self._queries:
            flow: Flow[WebSearchResult] = self._provider.search_many_flow(  # type: ignore[attr-defined]
                self._queries, self._request
            )
            return flow
        return self._provider.search_flow(self._request)

    def _start_stream(self) -> Flow[WebSearchResult]:
        # A provider without streaming answers in one piece: the final event alone.
        start = getattr(self._provider, "stream_flow", self._provider.search_flow)
        flow: Flow[WebSearchResult] = start(self._request)
        return flow

    def _checked(self, result: WebSearchResult) -> WebSearchResult:
        if not isinstance(result, WebSearchResult):
            raise ProviderError(
                f"{self._limits.label} search failed: its flow returned "
                f"{type(result).__name__}, not a WebSearchResult",
                provider=self._provider.id,
            )
        return result

    def _count_failure(self, error: BaseException, reported: Sequence[Usage] = ()) -> None:
        if isinstance(error, InvalidRequestError):
            # The provider has refused the request before sending anything.
            self._meter.withdraw()
        else:
            self._meter.record_failure(reported[-1] if reported else None)

    def _counted(self, result: WebSearchResult) -> WebSearchResult:
        """Return `result` with its answer read, after counting what it has consumed.

        An answer that is not what was asked for has cost its price all the same, but must not be
        kept for others.
        """
        self._meter.record(result)
        if result.content and result.citation_contract is None:
            # Here, not at the top: a search for sources alone has no use for what reads markers.
            from .citations import with_citations

            result = with_citations(result)
        if self._request.response_format is None:
            return result
        try:
            parsed = parse_answer(result.content, self._request.response_format)
        except WebError as error:
            error.provider, error.request_id = result.provider, result.request_id
            if result.finish_reason == "length":
                error.message += "; the answer was cut at the token limit"
                error.args = (error.message,)
            raise
        return result.model_copy(update={"parsed": parsed})

    def _finished(self, result: WebSearchResult) -> WebSearchResult:
        # Queries that went out together have no single request to be asked again by.
        changes: dict[str, Any] = {"request": None if self._queries else self._asked}
        if self._warnings:
            changes["warnings"] = self._warnings + result.warnings
        return cap_sources(result.model_copy(update=changes), self._request.max_results)


def _noting(
    events: Generator[StreamEvent, None, WebSearchResult], reported: list[Usage]
) -> Generator[StreamEvent, None, WebSearchResult]:
    """Yield the events and return the result, keeping what usage was reported on the way."""
    try:
        while True:
            event = next(events)
            if isinstance(event, UsageReported):
                reported.append(event.usage)
            yield event
    except StopIteration as stop:
        result: WebSearchResult = stop.value
        return result
    finally:
        events.close()


def _supported_part(
    provider: WebSearchProvider, request: WebSearchRequest, label: str
) -> tuple[WebSearchRequest, tuple[str, ...]]:
    """Return the request without what the provider cannot honour, and the warnings that follow."""
    supported = getattr(provider, "supported_filters", None) or {}
    sent, warnings = apply_support(request, supported, label, provider.id)
    if sent.response_format is None or getattr(provider, "supports_response_format", False):
        return sent, warnings
    message = f"{label} does not support response_format"
    if request.on_unsupported == "raise":
        raise UnsupportedFilterError(
            f'{message}: choose another provider, or set on_unsupported="warn"',
            provider=provider.id,
        )
    sent = sent.model_copy(update={"response_format": None})
    return sent, (*warnings, f"{message}; it was left out")
