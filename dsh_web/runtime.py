"""`WebRuntime`: the object that a program holds. It selects a provider, runs it, and bounds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar, Unpack, cast

from .arguments import (
    UNSET,
    SearchFields,
    SearchFilters,
    Unset,
    checked_timeout,
    fetch_request,
    search_request,
)
from .calls import SearchCall
from .cancel import CancelToken
from .errors import WebError
from .explain import Explanation
from .fetch_calls import FetchCall, PageCall
from .holder import RuntimeHolder
from .merge import check_queries, listed_queries, merge_results
from .page_reading import DEFAULT_PAGE_CONCURRENCY, PageOptions, checked_urls, time_left
from .seam import WebSearchRequest, WebSearchResult
from .seam_fetch import WebFetchRequest, WebFetchResult
from .seam_page import WebPage
from .several import run_each, run_each_async
from .streams import AsyncSearchStream, SearchStream

__all__ = ["WebRuntime"]

DEFAULT_MERGED_RESULTS = 8

Outcome = TypeVar("Outcome")


class WebRuntime(RuntimeHolder):
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
        budget: What all searches together may consume; the next call is then refused with
            `WEB_BUDGET_EXCEEDED`. `usage` has the running total.
        coalesce: Let calls that are identical to one under way wait for its result instead of
            sending their own. Off by default.
        cache: Keep good results in this mapping and answer identical calls from it, for example
            `cachetools.TTLCache(maxsize=256, ttl=600)`. Default: no cache.
        http_client: An `httpx.Client` of yours that every request to a provider goes through. It
            stays yours to close. A cancel then leaves a running exchange behind instead of
            interrupting it. Pages are fetched without it, since it would look up by itself the
            addresses that were checked.
        async_http_client: The same for the async methods.
        ssl_context: TLS settings for the built-in connections, for example a private CA.
    """

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

    def explain(
        self,
        request: WebSearchRequest | str,
        **fields: Unpack[SearchFields],
    ) -> Explanation:
        """Return what `search` would send, without sending anything or asking for a key.

        Filters that the provider cannot honour are listed as refused instead of raised.

        Args:
            request: See `search`.
            **fields: See `search`.

        Raises:
            WebError: No provider can be chosen, or it would refuse the request.
        """
        lenient: SearchFields = {**fields, "on_unsupported": "warn"}
        return self._search_call(request, lenient, None, None).explain()

    # -- several searches ----------------------------------------------------------------------

    def search_many(
        self,
        queries: Iterable[str],
        *,
        max_results: int | None = DEFAULT_MERGED_RESULTS,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFilters],
    ) -> WebSearchResult:
        """Run several queries at the same time and return one merged result.

        Sources are taken rank by rank from each query in turn, repeats of a url dropped; answers
        stand under a heading per query. The first failure stops the others and is raised.

        A provider whose API takes several queries at once (`perplexity-search`: five) gets them
        in one request, which costs one request; it then ranks them together if it likes. With
        `max_results` above what one request can bring, or None, each query has its own.

        Args:
            queries: 1 to `max_queries` non-blank texts; exact repeats run once.
            max_results: Bound on the merged sources, and on each query's.
            cancel: See `search`.
            timeout: See `search`; it holds for all queries together.
            **fields: See `search`.
        """
        unique = check_queries(queries, self.max_queries)
        joint = self._joint_call(unique, max_results, fields, cancel, timeout)
        if joint is not None:
            return joint.run(self._sync_driver())
        results = self.search_each(
            unique, max_results=max_results, cancel=cancel, timeout=timeout, **fields
        )
        return merge_results(unique, _all_good(results), max_results)

    async def asearch_many(
        self,
        queries: Iterable[str],
        *,
        max_results: int | None = DEFAULT_MERGED_RESULTS,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFilters],
    ) -> WebSearchResult:
        """Run several queries at the same time; see `search_many`."""
        unique = check_queries(queries, self.max_queries)
        joint = self._joint_call(unique, max_results, fields, cancel, timeout)
        if joint is not None:
            return await joint.run_async(self._async_driver())
        results = await self.asearch_each(
            unique, max_results=max_results, cancel=cancel, timeout=timeout, **fields
        )
        return merge_results(unique, _all_good(results), max_results)

    def search_each(
        self,
        queries: Iterable[str],
        *,
        keep_errors: bool = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> tuple[WebSearchResult | WebError, ...]:
        """Run several queries at the same time and return one result per query, in order.

        Exact repeats run once and share their result.

        Args:
            queries: See `search_many`.
            keep_errors: Put a failed query's error in its place instead of raising it.
            cancel: See `search`.
            timeout: See `search`; it holds for all queries together.
            **fields: See `search`.
        """
        asked = listed_queries(queries)
        unique = check_queries(asked, self.max_queries)

        def search(query: str, token: CancelToken | None) -> WebSearchResult:
            return self.search(query, cancel=token, timeout=timeout, **fields)

        outcomes = run_each(unique, search, cancel, keep_errors=keep_errors)
        return _per_item(asked, unique, outcomes)

    async def asearch_each(
        self,
        queries: Iterable[str],
        *,
        keep_errors: bool = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> tuple[WebSearchResult | WebError, ...]:
        """Run several queries at the same time; see `search_each`."""
        asked = listed_queries(queries)
        unique = check_queries(asked, self.max_queries)

        async def search(query: str) -> WebSearchResult:
            return await self.asearch(query, cancel=cancel, timeout=timeout, **fields)

        outcomes = await run_each_async(unique, search, cancel, keep_errors=keep_errors)
        return _per_item(asked, unique, outcomes)

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

    def read_page(
        self,
        request: WebFetchRequest | str,
        *,
        main_content: bool = False,
        max_chars: int | None = None,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
    ) -> WebPage:
        """Fetch one page and return it as Markdown.

        The conversion runs off the calling thread: a cancel or the end of the time leaves it
        behind at once.

        Args:
            request: The address, or a complete request.
            main_content: Keep the main part of an HTML page, without menus, footers and the like.
            max_chars: Cap on the text in code points; None: the fetch provider's limits alone.
            cancel: See `search`.
            timeout: Seconds for fetch and conversion together; None: no limit.

        Raises:
            WebError: Every failure. An HTTP error status is a page, not a failure.
        """
        options = PageOptions(main_content=main_content, max_chars=max_chars)
        return self._page_call(request, options, cancel, timeout).run(self._sync_driver())

    async def aread_page(
        self,
        request: WebFetchRequest | str,
        *,
        main_content: bool = False,
        max_chars: int | None = None,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
    ) -> WebPage:
        """Fetch one page and return it as Markdown; see `read_page`."""
        options = PageOptions(main_content=main_content, max_chars=max_chars)
        call = self._page_call(request, options, cancel, timeout)
        return await call.run_async(self._async_driver())

    def read_pages(
        self,
        urls: Iterable[str],
        *,
        keep_errors: bool = False,
        concurrency: int = DEFAULT_PAGE_CONCURRENCY,
        main_content: bool = False,
        max_chars: int | None = None,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
    ) -> tuple[WebPage | WebError, ...]:
        """Read several pages, a few at the same time, and return them in the order of `urls`.

        An address that is given twice is read once.

        Args:
            urls: Any number of addresses, also none.
            keep_errors: Put a failed page's error in its place. Otherwise the first failure stops
                the others and is raised.
            concurrency: Most pages that are read at the same time, 1 or more.
            main_content: See `read_page`.
            max_chars: See `read_page`; it holds for each page.
            cancel: See `search`.
            timeout: Seconds for all pages together; what is not read by then fails with
                `WEB_TIMEOUT`.
        """
        asked, options = checked_urls(urls, concurrency), PageOptions(main_content, max_chars)
        unique, left = tuple(dict.fromkeys(asked)), time_left(self._effective(timeout))

        def read(url: str, token: CancelToken | None) -> WebPage:
            return self._page_call(url, options, token, left()).run(self._sync_driver())

        outcomes = run_each(unique, read, cancel, keep_errors=keep_errors, concurrency=concurrency)
        return _per_item(asked, unique, outcomes)

    async def aread_pages(
        self,
        urls: Iterable[str],
        *,
        keep_errors: bool = False,
        concurrency: int = DEFAULT_PAGE_CONCURRENCY,
        main_content: bool = False,
        max_chars: int | None = None,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
    ) -> tuple[WebPage | WebError, ...]:
        """Read several pages, a few at the same time; see `read_pages`."""
        asked, options = checked_urls(urls, concurrency), PageOptions(main_content, max_chars)
        unique, left = tuple(dict.fromkeys(asked)), time_left(self._effective(timeout))

        async def read(url: str) -> WebPage:
            call = self._page_call(url, options, cancel, left())
            return await call.run_async(self._async_driver())

        outcomes = await run_each_async(
            unique, read, cancel, keep_errors=keep_errors, concurrency=concurrency
        )
        return _per_item(asked, unique, outcomes)

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
        return SearchCall(
            provider,
            asked,
            cancel,
            self._effective(timeout),
            meter=self._meter,
            shared=self._shared,
        )

    def _joint_call(
        self,
        queries: tuple[str, ...],
        max_results: int | None,
        filters: SearchFilters,
        cancel: CancelToken | None,
        timeout: float | Unset | None,
    ) -> SearchCall | None:
        """Return one call for all queries if the provider takes them together, else None."""
        provider = self._searchers.select(self._configured_searcher())
        most = getattr(provider, "most_joint_queries", 1)
        if not 1 < len(queries) <= most or not hasattr(provider, "search_many_flow"):
            return None
        room = getattr(provider, "most_joint_results", None)
        if room is not None and (max_results is None or max_results > room):
            # One request cannot bring as much as one per query would.
            return None
        fields = {**filters, "max_results": max_results}
        return SearchCall(
            provider,
            search_request(queries[0], cast("SearchFields", fields)),
            cancel,
            self._effective(timeout),
            meter=self._meter,
            shared=self._shared,
            queries=queries,
        )

    def _fetch_call(
        self,
        request: WebFetchRequest | str,
        cancel: CancelToken | None,
        timeout: float | Unset | None,
    ) -> FetchCall:
        provider = self._fetchers.select(self._configured_fetcher())
        return FetchCall(provider, fetch_request(request), cancel, self._effective(timeout))

    def _page_call(
        self,
        request: WebFetchRequest | str,
        options: PageOptions,
        cancel: CancelToken | None,
        timeout: float | Unset | None,
    ) -> PageCall:
        provider = self._fetchers.select(self._configured_fetcher())
        asked, seconds = fetch_request(request), self._effective(timeout)
        return PageCall(provider, asked, cancel, seconds, options.page_of)

    def _effective(self, timeout: float | Unset | None) -> float | None:
        return self.timeout if isinstance(timeout, Unset) else checked_timeout(timeout)


def _per_item(
    asked: Sequence[object], unique: Sequence[str], outcomes: Sequence[Outcome]
) -> tuple[Outcome, ...]:
    of_item: dict[object, Outcome] = dict(zip(unique, outcomes, strict=True))
    return tuple(of_item[item] for item in asked)


def _all_good(results: Sequence[WebSearchResult | WebError]) -> list[WebSearchResult]:
    return [result for result in results if isinstance(result, WebSearchResult)]
