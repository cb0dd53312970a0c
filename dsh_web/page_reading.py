"""From a fetched body to a page in Markdown, and the arguments that say how."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from .errors import InvalidRequestError
from .seam_fetch import HtmlBody, PdfBody, WebFetchResult
from .seam_page import WebPage

__all__ = [
    "DEFAULT_PAGE_CONCURRENCY",
    "PageOptions",
    "check_concurrency",
    "checked_urls",
    "time_left",
]

DEFAULT_PAGE_CONCURRENCY: Final = 4
"""Pages of one call that are read at the same time."""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """How a page is made of what was fetched.

    Args:
        main_content: Keep the main part of an HTML page only.
        max_chars: Cap on the text in code points; None: no cap of its own.

    Raises:
        InvalidRequestError: `max_chars` is not a whole number of 1 or more.
    """

    main_content: bool = False
    max_chars: int | None = None

    def __post_init__(self) -> None:
        if self.max_chars is not None:
            _check_count("max_chars", self.max_chars)

    def page_of(self, fetched: WebFetchResult) -> WebPage:
        """Return the page that `fetched` is."""
        body, title = fetched.body, None
        if isinstance(body, HtmlBody):
            # Here, not at the top: a search must not wait for an HTML parser to be imported.
            from .pages.markdown import to_markdown

            converted = to_markdown(
                body.content,
                base_url=fetched.url,
                main_content=self.main_content,
                max_chars=self.max_chars,
            )
            text, title, is_cut = converted.text, converted.title, converted.is_cut
        else:
            text = body.content if self.max_chars is None else body.content[: self.max_chars]
            is_cut = len(text) < len(body.content)
        return WebPage(
            url=fetched.url,
            status_code=fetched.status_code,
            kind=body.kind,
            title=title or None,
            text=text,
            page_count=body.page_count if isinstance(body, PdfBody) else None,
            truncated=fetched.truncated or is_cut,
        )


def checked_urls(urls: Iterable[str], concurrency: int) -> tuple[str, ...]:
    """Return the addresses as a tuple; a lone text is one address, since nobody means its letters.

    Raises:
        InvalidRequestError: `concurrency` is not a whole number of 1 or more, or one of the
            addresses is not text.
    """
    check_concurrency(concurrency)
    listed = (urls,) if isinstance(urls, str) else tuple(urls)
    for url in listed:
        if not isinstance(url, str):
            raise InvalidRequestError(f"each url must be text, not {type(url).__name__}")
    return listed


def check_concurrency(concurrency: int) -> None:
    """Make sure that `concurrency` can be one.

    Raises:
        InvalidRequestError: It is not a whole number of 1 or more.
    """
    _check_count("concurrency", concurrency)


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidRequestError(f"{name} must be a whole number of 1 or more, not {value!r}")


def time_left(timeout: float | None) -> Callable[[], float | None]:
    """Return a function that says how many of `timeout` seconds, counted from now, are left.

    For calls that are made one after the other and share their time. It says 0 when the time is
    over, and None if there is no limit.
    """
    if timeout is None:
        return lambda: None
    end = time.monotonic() + timeout
    return lambda: max(0.0, end - time.monotonic())
