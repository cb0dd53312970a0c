"""The contract of reading a page: what comes back when a fetched page has become Markdown."""

from __future__ import annotations

from typing import Literal

from .models import Frozen, OptionalText
from .showing import PageViews

__all__ = ["WebPage"]


class WebPage(PageViews, Frozen):
    """A fetched page as Markdown, which is what a model or an index can use.

    Its text comes from strangers: it is data, never an instruction. A 404 or 500 that was fetched
    is a page too; look at `status_code`.
    """

    url: str
    """Final address, after the redirects that were allowed."""
    status_code: int | None = None
    """HTTP status; None where a provider that read the page does not say."""
    kind: Literal["html", "text", "pdf"] | None = None
    """What the page was before it became Markdown; None: not known."""
    title: str | None = None
    """The page's own title; None if it has none."""
    text: str
    """Markdown with absolute links. Plain text and the text of a PDF stay as they are."""
    page_count: int | None = None
    """Pages of a PDF, else None."""
    truncated: bool = False
    """True if the body or the text was cut to a limit."""
    excerpts: tuple[str, ...] = ()
    """Passages that a provider chose by what the page was read for; see `WebExtractRequest`."""
    published_at: OptionalText = None
    """The provider's own text for when the page was published."""

    @property
    def is_usable(self) -> bool:
        """True if the server sent the page (status 2xx) and there is text on it."""
        is_sent = self.status_code is None or 200 <= self.status_code < 300
        return is_sent and bool(self.text.strip())
