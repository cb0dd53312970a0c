"""Whole pages in the place of snippets, the same way for every framework's retriever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypedDict, Unpack

from .cancel import CancelToken
from .errors import ProviderError, WebCancelledError, WebError
from .page_reading import (
    DEFAULT_PAGE_CONCURRENCY,
    PageOptions,
    check_concurrency,
    checked_urls,
    time_left,
)
from .seam import WebSearchResult
from .seam_extract import WebExtractResult
from .seam_page import WebPage

__all__ = [
    "DEFAULT_PAGE_CONCURRENCY",
    "PageOutcome",
    "SourcePages",
    "checked_urls",
    "page_error",
    "time_left",
]

PageOutcome: TypeAlias = WebPage | WebError


class Limits(TypedDict, total=False):
    """What bounds a call that reads pages."""

    cancel: CancelToken | None
    timeout: float | None


class PageReader(Protocol):
    """The part of `WebRuntime` that is needed here."""

    def extract_provider_id(self) -> str | None: ...

    def fetch_provider_id(self) -> str: ...

    @property
    def extract(self) -> Callable[..., WebExtractResult]: ...

    @property
    def aextract(self) -> Callable[..., Awaitable[WebExtractResult]]: ...

    @property
    def read_pages(self) -> Callable[..., tuple[PageOutcome, ...]]: ...

    @property
    def aread_pages(self) -> Callable[..., Awaitable[tuple[PageOutcome, ...]]]: ...


@dataclass(frozen=True, slots=True)
class SourcePages:
    """Reads the pages behind the sources of a search.

    Args:
        main_content: Keep the main part of an HTML page only; an extract provider decides by
            itself what a page's text is.
        max_chars: Cap on the text of each page in code points; None: no cap of its own.
        concurrency: Most pages that are read at the same time.

    Raises:
        InvalidRequestError: A number is not a whole one of 1 or more.
    """

    main_content: bool = False
    max_chars: int | None = None
    concurrency: int = DEFAULT_PAGE_CONCURRENCY

    def __post_init__(self) -> None:
        PageOptions(self.main_content, self.max_chars)
        check_concurrency(self.concurrency)

    def read(
        self,
        reader: PageReader,
        result: WebSearchResult,
        *,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> tuple[WebSearchResult, dict[str, PageOutcome]]:
        """Return `result` with a warning for each page that cannot be used, and the pages.

        The pages are by the address of their source, for `dsh_web.passages.passages`.

        Args:
            reader: A runtime.
            result: What the search has found.
            cancel: Stops the call.
            timeout: Seconds for all pages together; those that come too late are not used.

        Raises:
            WebCancelledError: The call was cancelled. A page that fails raises nothing.
        """
        urls = _addresses(result)
        outcomes = self.read_urls(reader, urls, cancel=cancel, timeout=timeout)
        return _noted(result, urls, outcomes)

    async def aread(
        self,
        reader: PageReader,
        result: WebSearchResult,
        *,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> tuple[WebSearchResult, dict[str, PageOutcome]]:
        """Return `result` with warnings, and the pages; see `read`."""
        urls = _addresses(result)
        outcomes = await self.aread_urls(reader, urls, cancel=cancel, timeout=timeout)
        return _noted(result, urls, outcomes)

    def read_urls(
        self, reader: PageReader, urls: Sequence[str], **limits: Unpack[Limits]
    ) -> tuple[PageOutcome, ...]:
        """Return the page of each address, or why there is none, in order.

        A runtime with an extract provider has it read them all at once; any other reads them
        through its fetch provider, page by page.

        Args:
            reader: A runtime.
            urls: Addresses, also none.
            **limits: What stops the call, and seconds for all pages together.

        Raises:
            WebCancelledError: The call was cancelled. A page that fails raises nothing.
        """
        extractor = reader.extract_provider_id() if urls else None
        if extractor is None:
            return reader.read_pages(urls, **self._reading(limits))
        try:
            return _pages_of(reader.extract(urls, max_chars=self.max_chars, **limits))
        except WebCancelledError:
            raise
        except WebError as error:
            return (error,) * len(urls)

    async def aread_urls(
        self, reader: PageReader, urls: Sequence[str], **limits: Unpack[Limits]
    ) -> tuple[PageOutcome, ...]:
        """Return the page of each address, or why there is none; see `read_urls`."""
        extractor = reader.extract_provider_id() if urls else None
        if extractor is None:
            return await reader.aread_pages(urls, **self._reading(limits))
        try:
            return _pages_of(await reader.aextract(urls, max_chars=self.max_chars, **limits))
        except WebCancelledError:
            raise
        except WebError as error:
            return (error,) * len(urls)

    def reader_id(self, reader: PageReader) -> str:
        """Return the id of the provider that would read the pages.

        Raises:
            SelectionError: None can be chosen.
        """
        return reader.extract_provider_id() or reader.fetch_provider_id()

    def _reading(self, limits: Limits) -> dict[str, Any]:
        return {
            "keep_errors": True,
            "concurrency": self.concurrency,
            "main_content": self.main_content,
            "max_chars": self.max_chars,
            **limits,
        }


def _pages_of(result: WebExtractResult) -> tuple[PageOutcome, ...]:
    found: list[PageOutcome] = []
    for outcome in result.outcomes:
        if outcome.page is not None:
            found.append(outcome.page)
        elif outcome.error is not None:
            found.append(outcome.error.as_error(result.provider))
        else:
            found.append(ProviderError("neither a page nor an error", provider=result.provider))
    return tuple(found)


def page_error(outcome: PageOutcome) -> WebError | None:
    """Return why a page cannot be indexed, or None if it can.

    Beyond what failed, that is a page that the server did not send (a status other than 2xx), and
    one without any text.
    """
    if isinstance(outcome, WebError):
        return outcome
    reason = _reason(outcome)
    if reason is None:
        return None
    message = f"{outcome.url} cannot be used as a page: {reason}"
    return ProviderError(message, status_code=outcome.status_code)


def _addresses(result: WebSearchResult) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source.url for source in result.sources))


def _noted(
    result: WebSearchResult, urls: Sequence[str], outcomes: Sequence[PageOutcome]
) -> tuple[WebSearchResult, dict[str, PageOutcome]]:
    pages = dict(zip(urls, outcomes, strict=True))
    warnings = tuple(
        f"the snippet of {url} stands in for its page, which could not be used ({reason})"
        for url, outcome in pages.items()
        if (reason := _reason(outcome)) is not None
    )
    if warnings:
        result = result.model_copy(update={"warnings": result.warnings + warnings})
    return result, pages


def _reason(outcome: PageOutcome) -> str | None:
    """Return in two words why a page cannot be used, or None if it can."""
    if isinstance(outcome, WebError):
        # A message may hold what changes from call to call; the code does not.
        return outcome.code
    if outcome.is_usable:
        return None
    return f"HTTP {outcome.status_code}" if outcome.text.strip() else "no text"
