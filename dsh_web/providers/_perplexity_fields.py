"""Pieces of request bodies and results that several Perplexity APIs share."""

from __future__ import annotations

from typing import Any, Final

from ..seam import FilterSupport, SupportedFilters, WebSearchRequest
from ._vendor_fields import EXACT

__all__ = ["LOCALIZES", "SHARED_FILTERS", "filter_fields"]

LOCALIZES: Final = FilterSupport(
    level="approximate", note="it localizes the search, it does not restrict the sources"
)
SHARED_FILTERS: Final[SupportedFilters] = {
    "recency": EXACT,
    "published_after": EXACT,
    "published_before": EXACT,
    "updated_after": EXACT,
    "updated_before": EXACT,
    "include_domains": EXACT,
    "exclude_domains": EXACT,
}
"""What every Perplexity API honours, in the fields that `filter_fields` fills."""


def filter_fields(request: WebSearchRequest) -> dict[str, Any]:
    """Return the filters whose wire names all Perplexity APIs share, only those that are set."""
    days = {
        "search_after_date_filter": request.published_after,
        "search_before_date_filter": request.published_before,
        "last_updated_after_filter": request.updated_after,
        "last_updated_before_filter": request.updated_before,
    }
    fields: dict[str, Any] = {
        # The documented input format; ISO dates are accepted live but nowhere promised.
        name: f"{day:%m/%d/%Y}"
        for name, day in days.items()
        if day is not None
    }
    if request.recency is not None:
        fields["search_recency_filter"] = request.recency
    domains = [*request.include_domains, *(f"-{domain}" for domain in request.exclude_domains)]
    if domains:
        fields["search_domain_filter"] = domains
    return fields
