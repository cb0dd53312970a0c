"""The contract of fetching a page: what is asked, what comes back, what a provider must offer."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, runtime_checkable

from pydantic import Field, field_validator

from .errors import InvalidUrlError
from .flow import Flow
from .models import Frozen, RequestModel

__all__ = [
    "HtmlBody",
    "PdfBody",
    "TextBody",
    "WebFetchProvider",
    "WebFetchRequest",
    "WebFetchResult",
]


class WebFetchRequest(RequestModel):
    """One page to fetch.

    Raises:
        InvalidUrlError: `url` is blank.
        InvalidRequestError: `url` is not text.
    """

    url: str

    @field_validator("url")
    @classmethod
    def _url_is_not_blank(cls, url: str) -> str:
        if not url.strip():
            raise InvalidUrlError("url must be a non-empty string")
        return url


class HtmlBody(Frozen):
    """An HTML page, as its decoded source text."""

    kind: Literal["html"] = "html"
    content: str


class TextBody(Frozen):
    """Plain text, JSON, XML and their relatives."""

    kind: Literal["text"] = "text"
    content: str


class PdfBody(Frozen):
    """The text of a PDF."""

    kind: Literal["pdf"] = "pdf"
    content: str
    page_count: int


class WebFetchResult(Frozen):
    """A fetched page. A 404 or 500 that was fetched is a result, not an error."""

    url: str
    """Final address, after the redirects that were allowed."""
    status_code: int
    body: Annotated[HtmlBody | TextBody | PdfBody, Field(discriminator="kind")]
    truncated: bool = False
    """True if the body was cut to the provider's size limit."""
    cached: bool = False
    """True if the body was kept from an earlier fetch, and still holds by the page's own rules."""


@runtime_checkable
class WebFetchProvider(Protocol):
    """What `WebRuntime.register_fetch_provider` needs.

    Optional members: `label`, `unavailable_reason()`, and `timeout`, seconds after which a fetch
    of this provider ends with `WEB_FETCH_TIMEOUT` if the call's own limit is not shorter.
    """

    @property
    def id(self) -> str:
        """Stable, unique among the fetch providers of a runtime."""
        ...

    def available(self) -> bool:
        """Return whether a call could work: local and cheap, no network."""
        ...

    def fetch_flow(self, request: WebFetchRequest) -> Flow[WebFetchResult]:
        """Return a fresh flow that performs `request`."""
        ...
