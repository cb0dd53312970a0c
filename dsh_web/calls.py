"""One call through the seam: its limits, its meter, and the names of its failures."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .cancel import CancelToken
from .errors import (
    WEB_FETCH_TIMEOUT,
    WEB_TIMEOUT,
    InvalidRequestError,
    ProviderError,
    UnsupportedFilterError,
    WebCancelledError,
    WebError,
    WebTimeoutError,
)
from .events import SearchDone, StreamEvent, UsageReported
from .explain import Explanation, explain_call
from .filters import apply_support
from .flow import Flow, Resolve
from .merge import cap_sources
from .metering import UsageMeter
from .seam import (
    Usage,
    WebSearchProvider,
    WebSearchRequest,
    WebSearchResult,
)
from .seam_fetch import WebFetchProvider, WebFetchRequest, WebFetchResult
from .seam_page import WebPage
from .sharing import SharedCalls
from .streams import SourceCap
from .structured import parse_answer

if TYPE_CHECKING:
    from ._io.async_driver import AsyncDriver
    from ._io.scope import AsyncScope, SyncScope
    from ._io.sync_driver import SyncDriver

__all__ = ["FetchCall", "PageCall", "SearchCall"]

Result = TypeVar("Result")


class _Limits:
    """A call's cancel token and time, and what its failures are called."""

    def __init__(
        self,
        provider: WebSearchProvider | WebFetchProvider,
        verb: str,
        cancel: CancelToken | None,
        timeout: float | None,
        own_timeout: float | None = None,
    ) -> None:
        self.provider = provider
        self.label = str(getattr(provider, "label", None) or provider.id)
        self._verb = verb
        self._cancel = cancel
        is_own = own_timeout is not None and (timeout is None or own_timeout < timeout)
        self._timeout = own_timeout if is_own else timeout
        self._timeout_code = WEB_FETCH_TIMEOUT if is_own else WEB_TIMEOUT

    def run(self, work: Callable[[SyncScope], Result]) -> Result:
        """Return what `work` returns under the limits."""
        from ._io.scope import sync_scope

        try:
            with sync_scope(self._timeout, self._cancel) as scope:
                scope.check()
                return work(scope)
        except Exception as error:
            self._raise(error)

    async def run_async(self, work: Callable[[AsyncScope], Awaitable[Result]]) -> Result:
        """Return what `work` returns; it guards itself with the scope that it is given."""
        from ._io.scope import AsyncScope

        try:
            scope = AsyncScope(self._timeout, self._cancel)
            scope.check()
            return await work(scope)
        except Exception as error:
            self._raise(error)

    def stream(
        self, work: Callable[[SyncScope], Generator[Any, None, Result]]
    ) -> Generator[Any, None, Result]:
        """Yield what `work` yields, and return what it returns, under the limits."""
        from ._io.scope import sync_scope

        try:
            with sync_scope(self._timeout, self._cancel) as scope:
                scope.check()
                return (yield from work(scope))
        except Exception as error:
            self._raise(error)

    async def stream_async(
        self, work: Callable[[AsyncScope], AsyncGenerator[Any, None]]
    ) -> AsyncGenerator[Any, None]:
        """Yield what `work` yields; it guards itself with the scope that it is given."""
        from ._io.scope import AsyncScope

        scope = AsyncScope(self._timeout, self._cancel)
        events = work(scope)
        try:
            scope.check()
            async for event in events:
                yield event
        except Exception as error:
            self._raise(error)
        finally:
            await events.aclose()

    def _raise(self, error: Exception) -> NoReturn:
        from ._io.scope import DeadlinePassed

        provider_id = self.provider.id
        # Whatever failed after the cancel failed a call that nobody wants any more.
        if self._cancel is not None and self._cancel.cancelled:
            raise WebCancelledError(
                f"{self.label} {self._verb} aborted", provider=provider_id
            ) from self._cancel.cause
        if isinstance(error, DeadlinePassed):
            raise WebTimeoutError(
                f"{self.label} {self._verb} timed out after {self._timeout:g} s",
                code=self._timeout_code,
                provider=provider_id,
            ) from None
        if isinstance(error, WebError):
            error.provider = error.provider or provider_id
            raise error
        # A provider's own slip over a server's answer; nothing but WebError leaves the seam.
        raise ProviderError(
            f"{self.label} {self._verb} failed: {type(error).__name__}: {error}",
            provider=provider_id,
        ) from error


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
        self._limits = _Limits(provider, "search", cancel, timeout)
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
        if self._warnings:
            result = result.model_copy(update={"warnings": self._warnings + result.warnings})
        return cap_sources(result, self._request.max_results)


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


class _FetcherCall:
    """A call of one fetch provider.

    Args:
        provider: Who runs it. A `timeout` of its own (seconds, or None) holds if it is shorter.
        request: What is asked.
        cancel: Stops the call.
        timeout: Seconds; None: no limit.
    """

    def __init__(
        self,
        provider: WebFetchProvider,
        request: WebFetchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> None:
        self._request = request
        self._provider = provider
        own_timeout = getattr(provider, "timeout", None)
        if not isinstance(own_timeout, (int, float)):  # or something else by that name
            own_timeout = None
        self._limits = _Limits(provider, "fetch", cancel, timeout, own_timeout)

    def _fetched(self) -> Flow[WebFetchResult]:
        result = yield from self._provider.fetch_flow(self._request)
        if not isinstance(result, WebFetchResult):
            raise ProviderError(
                f"{self._limits.label} fetch failed: its flow returned "
                f"{type(result).__name__}, not a WebFetchResult",
                provider=self._provider.id,
            )
        return result


class FetchCall(_FetcherCall):
    """A fetch by one provider."""

    def run(self, driver: SyncDriver) -> WebFetchResult:
        """Perform the call, blocking."""
        return self._limits.run(lambda scope: driver.run(self._fetched(), scope))

    async def run_async(self, driver: AsyncDriver) -> WebFetchResult:
        """Perform the call on the running event loop."""
        return await self._limits.run_async(lambda scope: driver.run(self._fetched(), scope))


class PageCall(_FetcherCall):
    """A fetch by one provider, and the conversion of what was fetched, under the same limits.

    Args:
        provider: See `FetchCall`.
        request: See `FetchCall`.
        cancel: See `FetchCall`.
        timeout: Seconds for fetch and conversion together; None: no limit.
        convert: Makes a page of what was fetched. It runs off the calling thread, so that a
            cancel or a deadline leaves it behind instead of waiting for it.
    """

    def __init__(
        self,
        provider: WebFetchProvider,
        request: WebFetchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
        convert: Callable[[WebFetchResult], WebPage],
    ) -> None:
        super().__init__(provider, request, cancel, timeout)
        self._convert = convert

    def run(self, driver: SyncDriver) -> WebPage:
        """Perform the call, blocking."""

        def work(scope: SyncScope) -> WebPage:
            # Two flows: the connection is given back before the conversion begins.
            fetched = driver.run(self._fetched(), scope)
            return driver.run(self._converted(fetched), scope)

        return self._limits.run(work)

    async def run_async(self, driver: AsyncDriver) -> WebPage:
        """Perform the call on the running event loop."""

        async def work(scope: AsyncScope) -> WebPage:
            fetched = await driver.run(self._fetched(), scope)
            return await driver.run(self._converted(fetched), scope)

        return await self._limits.run_async(work)

    def _converted(self, fetched: WebFetchResult) -> Flow[WebPage]:
        page: WebPage = yield Resolve(functools.partial(self._convert, fetched))
        return page
