"""What a runtime does with an address: fetch what is there, or read it as a page."""

from __future__ import annotations

from collections.abc import Iterable

from .arguments import UNSET, Unset, fetch_request
from .cancel import CancelToken
from .errors import WebError
from .fetch_calls import FetchCall, PageCall
from .holder import RuntimeHolder
from .page_reading import DEFAULT_PAGE_CONCURRENCY, PageOptions, checked_urls, time_left
from .progress import ProgressSetting, tracked
from .seam_fetch import WebFetchRequest, WebFetchResult
from .seam_page import WebPage
from .several import per_item, run_each, run_each_async

__all__ = ["Reading"]


class Reading(RuntimeHolder):
    """The fetch and page methods of `WebRuntime`."""

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
        progress: ProgressSetting = False,
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
            progress: As `search_many` takes it; it counts pages.
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

        with tracked(progress, len(unique), "page") as advance:
            outcomes = run_each(
                unique,
                read,
                cancel,
                keep_errors=keep_errors,
                advance=advance,
                concurrency=concurrency,
            )
        return per_item(asked, unique, outcomes)

    async def aread_pages(
        self,
        urls: Iterable[str],
        *,
        keep_errors: bool = False,
        progress: ProgressSetting = False,
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

        with tracked(progress, len(unique), "page") as advance:
            outcomes = await run_each_async(
                unique,
                read,
                cancel,
                keep_errors=keep_errors,
                advance=advance,
                concurrency=concurrency,
            )
        return per_item(asked, unique, outcomes)

    # -- inside --------------------------------------------------------------------------------

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
