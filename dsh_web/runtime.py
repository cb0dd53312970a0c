"""`WebRuntime`: the object that a program holds. It selects a provider, runs it, and bounds it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from .calls import (
    UNSET,
    FetchCall,
    SearchCall,
    SearchFields,
    SearchFilters,
    Unset,
    checked_timeout,
    search_request,
)
from .cancel import CancelToken
from .config import DEFAULT_FETCH_PROVIDER, DEFAULT_SEARCH_PROVIDER, read_env
from .discovery import load_provider, vendors_with_key
from .errors import InvalidRequestError, WebError
from .merge import check_queries, merge_results
from .registry import ProviderRegistry, ProviderStatus
from .seam import (
    WebFetchProvider,
    WebFetchRequest,
    WebFetchResult,
    WebSearchProvider,
    WebSearchRequest,
    WebSearchResult,
)
from .several import run_each, run_each_async
from .streams import AsyncSearchStream, SearchStream

if TYPE_CHECKING:
    import ssl

    import httpx

    from ._io.async_driver import AsyncDriver
    from ._io.sync_driver import SyncDriver

__all__ = ["WebRuntime"]

DEFAULT_TIMEOUT = 300.0
"""Seconds a call may take unless it says otherwise; long research answers take minutes."""
DEFAULT_MAX_QUERIES = 4
DEFAULT_MERGED_RESULTS = 8


class WebRuntime:
    """Searches and fetches through whichever provider is configured.

    Safe to share between threads, event loops and tasks, and usable after a fork. It is a handle,
    like a connection pool: copying it (`copy.deepcopy`) gives the same object, pickling it keeps
    the registrations but no key and no connection.

    Args:
        search_provider: Id of the search provider to use. Default: `$DSH_WEB_SEARCH_PROVIDER`,
            else the only one that is available.
        fetch_provider: The same for fetching; `$DSH_WEB_FETCH_PROVIDER`.
        timeout: Seconds that a call may take when it does not say itself; None: no limit.
        max_queries: Most queries that one `search_many` takes.
        http_client: An `httpx.Client` of yours that every request goes through. It stays yours to
            close. A cancel then leaves a running exchange behind instead of interrupting it.
        async_http_client: The same for the async methods.
        ssl_context: TLS settings for the built-in connections, for example a private CA.
    """

    def __init__(
        self,
        *,
        search_provider: str | None = None,
        fetch_provider: str | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        max_queries: int = DEFAULT_MAX_QUERIES,
        http_client: httpx.Client | None = None,
        async_http_client: httpx.AsyncClient | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._search_provider = search_provider
        self._fetch_provider = fetch_provider
        self.timeout = checked_timeout(timeout)
        if max_queries < 1:
            raise InvalidRequestError(f"max_queries must be 1 or more, not {max_queries!r}")
        self.max_queries = max_queries
        self._http_client = http_client
        self._async_http_client = async_http_client
        self._ssl_context = ssl_context
        self._searchers: ProviderRegistry[WebSearchProvider] = ProviderRegistry(
            "search", f"search_provider= or {DEFAULT_SEARCH_PROVIDER}"
        )
        self._fetchers: ProviderRegistry[WebFetchProvider] = ProviderRegistry(
            "fetch", f"fetch_provider= or {DEFAULT_FETCH_PROVIDER}"
        )

    @classmethod
    def from_env(cls, *, search_provider: str | None = None, **settings: Any) -> Self:
        """Return a runtime with the providers that the environment configures.

        Registered are, for every vendor whose key is set, that vendor's default provider, and
        the provider that is pinned by name (`search_provider` or `$DSH_WEB_SEARCH_PROVIDER`):
        a built-in one, or one that an installed package offers in the entry-point group
        `dsh_web.providers`.

        Args:
            search_provider: See the class.
            **settings: The other arguments of the class.

        Raises:
            SelectionError: The pinned provider exists but cannot be loaded.
        """
        runtime = cls(search_provider=search_provider, **settings)
        pinned = runtime._configured_searcher()
        ids = dict.fromkeys([*vendors_with_key(), *([pinned] if pinned else [])])
        for provider_id in ids:
            provider = load_provider(provider_id)
            # Unknown ids stay unregistered; the call then says so, naming the id.
            if provider is not None:
                runtime.register_search_provider(provider)
        return runtime

    # -- providers -----------------------------------------------------------------------------

    def register_search_provider(self, provider: WebSearchProvider) -> Callable[[], None]:
        """Add a search provider; return a function that takes it out again.

        Raises:
            SelectionError: `WEB_DUPLICATE_PROVIDER`.
        """
        return self._searchers.register(provider)

    def register_fetch_provider(self, provider: WebFetchProvider) -> Callable[[], None]:
        """Add a fetch provider; return a function that takes it out again.

        Raises:
            SelectionError: `WEB_DUPLICATE_PROVIDER`.
        """
        return self._fetchers.register(provider)

    def describe(self) -> list[ProviderStatus]:
        """Return the state of every registered provider, without network and without secrets."""
        searchers = self._searchers.describe(self._configured_searcher())
        return searchers + self._fetchers.describe(self._configured_fetcher())

    def search_provider_id(self) -> str:
        """Return the id of the provider that a search would use now.

        Raises:
            SelectionError: None can be chosen; see the selection table in the README.
        """
        return self._searchers.select(self._configured_searcher()).id

    # -- one search ----------------------------------------------------------------------------

    def search(
        self,
        request: WebSearchRequest | str,
        *,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> WebSearchResult:
        """Search the web and return the normalized result.

        Args:
            request: The query, or a complete request.
            cancel: Stops the call from any thread.
            timeout: Seconds for the whole call, attempts and waits included; None: no limit.
            **fields: Fields of `WebSearchRequest`, on top of `request`.

        Raises:
            WebError: Every failure; `code` says which (see `dsh_web.errors`).
        """
        call = self._search_call(request, fields, cancel, timeout)
        return call.run(self._sync_driver())

    async def asearch(
        self,
        request: WebSearchRequest | str,
        *,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> WebSearchResult:
        """Search the web; see `search`. Cancelling the task raises `asyncio.CancelledError`."""
        call = self._search_call(request, fields, cancel, timeout)
        return await call.run_async(self._async_driver())

    def stream(
        self,
        request: WebSearchRequest | str,
        *,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> SearchStream:
        """Search and yield events as they become known; nothing is sent before the first `next`.

        Text deltas, sources, progress and usage, then `SearchDone` with the same result that
        `search` would have returned. A provider that cannot stream yields the last event alone.

        Args:
            request: See `search`.
            cancel: See `search`.
            timeout: See `search`; time that the consumer takes between events counts.
            **fields: See `search`.

        Raises:
            WebError: While iterating, after the events that were good.
        """
        call = self._search_call(request, fields, cancel, timeout)
        return SearchStream(call.stream(self._sync_driver()))

    def astream(
        self,
        request: WebSearchRequest | str,
        *,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> AsyncSearchStream:
        """Search and yield events for `async for`; see `stream`. Not itself awaited."""
        call = self._search_call(request, fields, cancel, timeout)
        return AsyncSearchStream(call.stream_async(self._async_driver()))

    # -- several searches ----------------------------------------------------------------------

    def search_many(
        self,
        queries: Sequence[str],
        *,
        max_results: int | None = DEFAULT_MERGED_RESULTS,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFilters],
    ) -> WebSearchResult:
        """Run several queries at the same time and return one merged result.

        Sources are taken rank by rank from each query in turn, repeats of a url dropped; answers
        stand under a heading per query. The first failure stops the others and is raised.

        Args:
            queries: 1 to `max_queries` non-blank texts; exact repeats run once.
            max_results: Bound on the merged sources, and on each query's.
            cancel: See `search`.
            timeout: See `search`; it holds for all queries together.
            **fields: See `search`.
        """
        unique = check_queries(queries, self.max_queries)
        results = self.search_each(
            unique, max_results=max_results, cancel=cancel, timeout=timeout, **fields
        )
        return merge_results(unique, _all_good(results), max_results)

    async def asearch_many(
        self,
        queries: Sequence[str],
        *,
        max_results: int | None = DEFAULT_MERGED_RESULTS,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFilters],
    ) -> WebSearchResult:
        """Run several queries at the same time; see `search_many`."""
        unique = check_queries(queries, self.max_queries)
        results = await self.asearch_each(
            unique, max_results=max_results, cancel=cancel, timeout=timeout, **fields
        )
        return merge_results(unique, _all_good(results), max_results)

    def search_each(
        self,
        queries: Sequence[str],
        *,
        keep_errors: bool = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> tuple[WebSearchResult | WebError, ...]:
        """Run several queries at the same time and return one result per query, in order.

        Args:
            queries: See `search_many`.
            keep_errors: Put a failed query's error in its place instead of raising it.
            cancel: See `search`.
            timeout: See `search`; it holds for all queries together.
            **fields: See `search`.
        """
        unique = check_queries(queries, self.max_queries)

        def search(query: str, token: CancelToken | None) -> WebSearchResult:
            return self.search(query, cancel=token, timeout=timeout, **fields)

        return run_each(unique, search, cancel, keep_errors=keep_errors)

    async def asearch_each(
        self,
        queries: Sequence[str],
        *,
        keep_errors: bool = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> tuple[WebSearchResult | WebError, ...]:
        """Run several queries at the same time; see `search_each`."""
        unique = check_queries(queries, self.max_queries)

        async def search(query: str) -> WebSearchResult:
            return await self.asearch(query, cancel=cancel, timeout=timeout, **fields)

        return await run_each_async(unique, search, keep_errors=keep_errors)

    # -- fetch ---------------------------------------------------------------------------------

    def fetch(
        self,
        request: WebFetchRequest | str,
        *,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
    ) -> WebFetchResult:
        """Fetch one page through the configured fetch provider.

        Args:
            request: The address, or a complete request.
            cancel: See `search`.
            timeout: See `search`.

        Raises:
            WebError: Every failure. An HTTP error status is a result, not a failure.
        """
        return self._fetch_call(request, cancel, timeout).run(self._sync_driver())

    async def afetch(
        self,
        request: WebFetchRequest | str,
        *,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
    ) -> WebFetchResult:
        """Fetch one page; see `fetch`."""
        call = self._fetch_call(request, cancel, timeout)
        return await call.run_async(self._async_driver())

    # -- life ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Close idle connections. A later call simply opens new ones."""
        for driver in (self.__dict__.get("_sync"), self.__dict__.get("_async")):
            if driver is not None:
                driver.close()

    async def aclose(self) -> None:
        """Close idle connections; the same as `close`, which needs no event loop."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        ids = ", ".join(provider.id for provider in self._searchers.all()) or "none"
        return f"<WebRuntime search providers: {ids}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._http_client is not None or self._async_http_client is not None:
            raise TypeError("a runtime with an HTTP client of yours cannot be pickled")
        settings = {
            "search_provider": self._search_provider,
            "fetch_provider": self._fetch_provider,
            "timeout": self.timeout,
            "max_queries": self.max_queries,
        }
        providers = (self._searchers.all(), self._fetchers.all())
        return functools.partial(_rebuild, type(self)), (settings, *providers)

    # -- inside --------------------------------------------------------------------------------

    def _search_call(
        self,
        request: WebSearchRequest | str,
        fields: SearchFields,
        cancel: CancelToken | None,
        timeout: float | Unset | None,
    ) -> SearchCall:
        asked = search_request(request, fields)
        provider = self._searchers.select(self._configured_searcher())
        return SearchCall(provider, asked, cancel, self._effective(timeout))

    def _fetch_call(
        self,
        request: WebFetchRequest | str,
        cancel: CancelToken | None,
        timeout: float | Unset | None,
    ) -> FetchCall:
        asked = WebFetchRequest(url=request) if isinstance(request, str) else request
        provider = self._fetchers.select(self._configured_fetcher())
        return FetchCall(provider, asked, cancel, self._effective(timeout))

    def _effective(self, timeout: float | Unset | None) -> float | None:
        return self.timeout if isinstance(timeout, Unset) else checked_timeout(timeout)

    def _configured_searcher(self) -> str | None:
        return self._search_provider or read_env(DEFAULT_SEARCH_PROVIDER)

    def _configured_fetcher(self) -> str | None:
        return self._fetch_provider or read_env(DEFAULT_FETCH_PROVIDER)

    def _sync_driver(self) -> SyncDriver:
        driver: SyncDriver | None = self.__dict__.get("_sync")
        if driver is None:
            if self._http_client is None and self._async_http_client is not None:
                raise TypeError(
                    "this runtime was given only an async_http_client: pass http_client too, "
                    "or use the async methods"
                )
            # Here, not at the top: the HTTP stack costs ten times what this module does.
            from ._io.sync_driver import SyncDriver

            made = SyncDriver(client=self._http_client, ssl_context=self._ssl_context)
            # Atomic, and free of a lock that a fork could leave held.
            driver = self.__dict__.setdefault("_sync", made)
        return driver

    def _async_driver(self) -> AsyncDriver:
        driver: AsyncDriver | None = self.__dict__.get("_async")
        if driver is None:
            from ._io.async_driver import AsyncDriver

            made = AsyncDriver(
                client=self._async_http_client,
                sync_client=self._http_client,
                ssl_context=self._ssl_context,
            )
            driver = self.__dict__.setdefault("_async", made)
        return driver


def _all_good(results: Sequence[WebSearchResult | WebError]) -> list[WebSearchResult]:
    return [result for result in results if isinstance(result, WebSearchResult)]


def _rebuild(
    kind: type[WebRuntime],
    settings: dict[str, Any],
    searchers: list[WebSearchProvider],
    fetchers: list[WebFetchProvider],
) -> WebRuntime:
    runtime = kind(**settings)
    for searcher in searchers:
        runtime.register_search_provider(searcher)
    for fetcher in fetchers:
        runtime.register_fetch_provider(fetcher)
    return runtime
