"""The keywords of a call, and what they become: a checked request and a checked time limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .errors import InvalidRequestError
from .seam import WebSearchRequest
from .seam_extract import WebExtractRequest
from .seam_fetch import WebFetchRequest

if TYPE_CHECKING:
    from datetime import date

    from pydantic import BaseModel

__all__ = [
    "UNSET",
    "ExtractFields",
    "SearchFields",
    "SearchFilters",
    "Unset",
    "checked_timeout",
    "extract_request",
    "fetch_request",
    "search_request",
]


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
    objective: str | None
    search_queries: Sequence[str]
    on_unsupported: Literal["raise", "warn"]
    include_raw: bool


class SearchFields(SearchFilters, total=False):
    """Every field of `WebSearchRequest` that a call can give next to a query text."""

    max_results: int | None
    response_format: type[BaseModel] | Mapping[str, Any] | None


class ExtractFields(TypedDict, total=False):
    """Every field of `WebExtractRequest` that a call can give next to the addresses."""

    objective: str | None
    queries: Sequence[str]
    max_chars: int | None
    include_raw: bool


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "<runtime default>"


UNSET = Unset()
"""Stands for "not given" where None already means "no limit"."""


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


def fetch_request(request: WebFetchRequest | str) -> WebFetchRequest:
    """Return the complete request for an address; a request is returned as it is.

    Raises:
        WebError: The address is blank or not text.
    """
    return request if isinstance(request, WebFetchRequest) else WebFetchRequest(url=request)


def extract_request(
    request: WebExtractRequest | Iterable[str], fields: ExtractFields
) -> WebExtractRequest:
    """Return the complete request for addresses, or for a request with some fields changed.

    Raises:
        InvalidRequestError: There is no address, or a field is at fault.
    """
    if isinstance(request, WebExtractRequest):
        if not fields:
            return request
        return WebExtractRequest(**{**request.model_dump(), **fields})
    urls = (request,) if isinstance(request, str) else tuple(request)
    return WebExtractRequest(urls=urls, **fields)


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
