"""What a runtime does with a query: one search, a stream of its events, or several at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack, cast

from .arguments import UNSET, SearchFields, SearchFilters, Unset, search_request
from .calls import SearchCall
from .cancel import CancelToken
from .errors import WebError
from .explain import Explanation
from .holder import RuntimeHolder
from .merge import check_queries, listed_queries, merge_results
from .progress import ProgressSetting, tracked
from .seam import WebSearchRequest, WebSearchResult
from .several import per_item, run_each, run_each_async
from .streams import AsyncSearchStream, SearchStream

__all__ = ["Searching"]

DEFAULT_MERGED_RESULTS = 8


class Searching(RuntimeHolder):
    """The search methods of `WebRuntime`."""

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
        progress: ProgressSetting = False,
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
            progress: True shows a bar (tqdm, which notebooks show as their own); a function is
                called with how many queries are done and how many there are.
            cancel: See `search`.
            timeout: See `search`; it holds for all queries together.
            **fields: See `search`.
        """
        unique = check_queries(queries, self.max_queries)
        joint = self._joint_call(unique, max_results, fields, cancel, timeout)
        if joint is not None:
            with tracked(progress, len(unique), "query") as advance:
                result = joint.run(self._sync_driver())
                for _ in unique:
                    advance()
            return result
        results = self.search_each(
            unique,
            max_results=max_results,
            progress=progress,
            cancel=cancel,
            timeout=timeout,
            **fields,
        )
        return merge_results(unique, _all_good(results), max_results)

    async def asearch_many(
        self,
        queries: Iterable[str],
        *,
        max_results: int | None = DEFAULT_MERGED_RESULTS,
        progress: ProgressSetting = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFilters],
    ) -> WebSearchResult:
        """Run several queries at the same time; see `search_many`."""
        unique = check_queries(queries, self.max_queries)
        joint = self._joint_call(unique, max_results, fields, cancel, timeout)
        if joint is not None:
            with tracked(progress, len(unique), "query") as advance:
                result = await joint.run_async(self._async_driver())
                for _ in unique:
                    advance()
            return result
        results = await self.asearch_each(
            unique,
            max_results=max_results,
            progress=progress,
            cancel=cancel,
            timeout=timeout,
            **fields,
        )
        return merge_results(unique, _all_good(results), max_results)

    def search_each(
        self,
        queries: Iterable[str],
        *,
        keep_errors: bool = False,
        progress: ProgressSetting = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> tuple[WebSearchResult | WebError, ...]:
        """Run several queries at the same time and return one result per query, in order.

        Exact repeats run once and share their result. An error that is raised holds in `partial`
        what the queries that were done by then have found.

        Args:
            queries: See `search_many`.
            keep_errors: Put a failed query's error in its place instead of raising it.
            progress: See `search_many`.
            cancel: See `search`.
            timeout: See `search`; it holds for all queries together.
            **fields: See `search`.
        """
        asked = listed_queries(queries)
        unique = check_queries(asked, self.max_queries)

        def search(query: str, token: CancelToken | None) -> WebSearchResult:
            return self.search(query, cancel=token, timeout=timeout, **fields)

        with tracked(progress, len(unique), "query") as advance:
            outcomes = run_each(
                unique,
                search,
                cancel,
                keep_errors=keep_errors,
                advance=advance,
                salvage=_merged,
            )
        return per_item(asked, unique, outcomes)

    async def asearch_each(
        self,
        queries: Iterable[str],
        *,
        keep_errors: bool = False,
        progress: ProgressSetting = False,
        cancel: CancelToken | None = None,
        timeout: float | Unset | None = UNSET,
        **fields: Unpack[SearchFields],
    ) -> tuple[WebSearchResult | WebError, ...]:
        """Run several queries at the same time; see `search_each`."""
        asked = listed_queries(queries)
        unique = check_queries(asked, self.max_queries)

        async def search(query: str) -> WebSearchResult:
            return await self.asearch(query, cancel=cancel, timeout=timeout, **fields)

        with tracked(progress, len(unique), "query") as advance:
            outcomes = await run_each_async(
                unique,
                search,
                cancel,
                keep_errors=keep_errors,
                advance=advance,
                salvage=_merged,
            )
        return per_item(asked, unique, outcomes)

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


def _all_good(results: Sequence[WebSearchResult | WebError]) -> list[WebSearchResult]:
    return [result for result in results if isinstance(result, WebSearchResult)]


def _merged(done: Mapping[str, WebSearchResult]) -> WebSearchResult:
    return merge_results(list(done), list(done.values()), None)
