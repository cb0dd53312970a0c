"""A fetch provider made for tests: it serves pages from memory and watches how it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from dsh_web import (
    HtmlBody,
    PdfBody,
    Resolve,
    TextBody,
    WebError,
    WebFetchRequest,
    WebFetchResult,
    WebRuntime,
)

Page = WebFetchResult | WebError


def html(url: str, content: str, *, status: int = 200, truncated: bool = False) -> WebFetchResult:
    """Return a fetched HTML page."""
    body = HtmlBody(content=content)
    return WebFetchResult(url=url, status_code=status, body=body, truncated=truncated)


def text(url: str, content: str, *, status: int = 200) -> WebFetchResult:
    """Return a fetched plain text."""
    return WebFetchResult(url=url, status_code=status, body=TextBody(content=content))


def pdf(url: str, content: str, pages: int) -> WebFetchResult:
    """Return a fetched PDF."""
    body = PdfBody(content=content, page_count=pages)
    return WebFetchResult(url=url, status_code=200, body=body)


class FakeFetcher:
    """Serves `pages` by address; everything else is a 404.

    Args:
        pages: What is served, or raised.
        before: Called with the address while the fetch is under way, off the calling thread.
    """

    id = "fake-fetch"
    label = "Fake"

    def __init__(
        self, pages: Mapping[str, Page], before: Callable[[str], Any] = lambda url: None
    ) -> None:
        self.pages = dict(pages)
        self.before = before
        self.asked: list[str] = []
        self.most_at_once = 0
        self._running = 0
        self._lock = threading.Lock()

    def available(self) -> bool:
        return True

    def fetch_flow(self, request: WebFetchRequest) -> Any:
        with self._lock:
            self.asked.append(request.url)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            yield Resolve(lambda: self.before(request.url))
        finally:
            with self._lock:
                self._running -= 1
        page = self.pages.get(request.url) or text(request.url, "Not here.", status=404)
        if isinstance(page, WebError):
            raise page
        return page


def fetching(
    fetcher: FakeFetcher, runtime: WebRuntime | None = None, **settings: Any
) -> WebRuntime:
    """Return a runtime that fetches with `fetcher`."""
    runtime = runtime or WebRuntime(**settings)
    runtime.register_fetch_provider(fetcher)
    return runtime
