"""One call through the seam: choosing its provider, its limits, and the names of its failures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn, TypedDict, TypeVar

from .cancel import CancelToken
from .errors import InvalidRequestError, ProviderError, WebCancelledError, WebError, WebTimeoutError
from .filters import apply_support
from .flow import Flow
from .merge import cap_sources
from .seam import (
    WebFetchProvider,
    WebFetchRequest,
    WebFetchResult,
    WebSearchProvider,
    WebSearchRequest,
    WebSearchResult,
)

if TYPE_CHECKING:
    from datetime import date

    from ._io.async_driver import AsyncDriver
    from ._io.sync_driver import SyncDriver

__all__ = [
    "UNSET",
    "FetchCall",
    "SearchCall",
    "SearchFields",
    "SearchFilters",
    "Unset",
    "checked_timeout",
    "search_request",
]

Result = TypeVar("Result")


class SearchFilters(TypedDict, total=False):
    """The neutral filters and options of `WebSearchRequest`, as keywords of a call."""

    recency: Literal["hour", "day", "week", "month", "year"] | None
    published_after: date | str | None
    published_before: date | str | None
    updated_after: date | str | None
    updated_before: date | str | None
    include_domains: Sequence[str]
    exclude_domains: Sequence[str]
    country: str | None
    languages: Sequence[str]
    context_size: Literal["low", "medium", "high"] | None
    mode: Literal["web", "academic", "sec", "people", "finance"] | None
    max_tokens_per_page: int | None
    max_tokens: int | None
    on_unsupported: Literal["raise", "warn"]
    include_raw: bool


class SearchFields(SearchFilters, total=False):
    """Every field of `WebSearchRequest` that a call can give next to a query text."""

    max_results: int | None


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "<runtime default>"


UNSET = Unset()
"""Stands for "not given" where None already means "no limit"."""


class _Call:
    """What a search and a fetch share: running a flow under limits and naming its failures."""

    def __init__(
        self,
        provider: WebSearchProvider | WebFetchProvider,
        verb: str,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> None:
        self.provider = provider
        self.label = str(getattr(provider, "label", None) or provider.id)
        self._verb = verb
        self._cancel = cancel
        self._timeout = timeout

    def drive(self, driver: SyncDriver, start: Callable[[], Flow[Result]]) -> Result:
        from ._io.scope import sync_scope

        try:
            with sync_scope(self._timeout, self._cancel) as scope:
                scope.check()
                return driver.run(start(), scope)
        except Exception as error:
            self._raise(error)

    async def drive_async(self, driver: AsyncDriver, start: Callable[[], Flow[Result]]) -> Result:
        from ._io.scope import async_scope

        try:
            async with async_scope(self._timeout, self._cancel) as scope:
                return await driver.run(start(), scope)
        except Exception as error:
            self._raise(error)

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
    """A search by one provider.

    Raises:
        UnsupportedFilterError: See `filters.apply_support`.
    """

    def __init__(
        self,
        provider: WebSearchProvider,
        request: WebSearchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> None:
        self._call = _Call(provider, "search", cancel, timeout)
        supported = getattr(provider, "supported_filters", {})
        self._request, self._warnings = apply_support(
            request, supported, self._call.label, provider.id
        )
        self._provider = provider

    def run(self, driver: SyncDriver) -> WebSearchResult:
        """Perform the call, blocking."""
        return self._bounded(self._call.drive(driver, self._start))

    async def run_async(self, driver: AsyncDriver) -> WebSearchResult:
        """Perform the call on the running event loop."""
        return self._bounded(await self._call.drive_async(driver, self._start))

    def _start(self) -> Flow[WebSearchResult]:
        return self._provider.search_flow(self._request)

    def _bounded(self, result: WebSearchResult) -> WebSearchResult:
        if self._warnings:
            result = result.model_copy(update={"warnings": self._warnings + result.warnings})
        return cap_sources(result, self._request.max_results)


class FetchCall:
    """A fetch by one provider."""

    def __init__(
        self,
        provider: WebFetchProvider,
        request: WebFetchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> None:
        self._request = request
        self._provider = provider
        self._call = _Call(provider, "fetch", cancel, timeout)

    def run(self, driver: SyncDriver) -> WebFetchResult:
        """Perform the call, blocking."""
        return self._call.drive(driver, self._start)

    async def run_async(self, driver: AsyncDriver) -> WebFetchResult:
        """Perform the call on the running event loop."""
        return await self._call.drive_async(driver, self._start)

    def _start(self) -> Flow[WebFetchResult]:
        return self._provider.fetch_flow(self._request)


def search_request(request: WebSearchRequest | str, fields: SearchFields) -> WebSearchRequest:
    """Return the complete request for a query, or for a request with some fields changed.

    Raises:
        InvalidRequestError: A field is blank, out of range or of the wrong type.
    """
    if isinstance(request, WebSearchRequest):
        if not fields:
            return request
        # Built again rather than copied, so that the new fields are checked.
        return WebSearchRequest(**{**request.model_dump(), **fields})
    return WebSearchRequest(query=request, **fields)


def checked_timeout(timeout: float | None) -> float | None:
    """Return `timeout` in seconds, None for no limit.

    Raises:
        InvalidRequestError: It is negative or not a number.
        TypeError: It is not a number of any kind.
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout must be a number of seconds or None, not {timeout!r}")
    if math.isnan(timeout) or timeout < 0:
        raise InvalidRequestError(f"timeout must be 0 or more seconds, not {timeout!r}")
    return None if math.isinf(timeout) else float(timeout)
