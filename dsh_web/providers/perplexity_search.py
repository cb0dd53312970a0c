"""`perplexity-search`: ranked pages from `POST /search`, without an answer.

Wire: https://docs.perplexity.ai/api-reference/search-post (2026-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..errors import InvalidRequestError
from ..flow import Flow
from ..prices import search_cost
from ..seam import (
    FilterSupport,
    SupportedFilters,
    Usage,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
)
from ._perplexity import PerplexityProvider
from ._perplexity_fields import SHARED_FILTERS, filter_fields
from ._shape import Reader
from ._sources import SourceList
from ._vendor import Body
from ._vendor_fields import EXACT

__all__ = ["PerplexitySearchProvider"]

MOST_RESULTS = 20
MOST_LANGUAGES = 10
"""The prose says 10, the schema 20; the smaller number is safe under both."""


class PerplexitySearchProvider(PerplexityProvider):
    """Search results for retrieval: `content` is always None."""

    id: ClassVar[str] = "perplexity-search"
    path: ClassVar[str] = "/search"
    most_joint_queries: ClassVar[int] = 5
    most_joint_results: ClassVar[int] = MOST_RESULTS
    supported_filters: ClassVar[SupportedFilters] = {
        **SHARED_FILTERS,
        "country": EXACT,
        "languages": EXACT,
        "context_size": EXACT,
        "mode=academic": FilterSupport(
            level="approximate", note="the corpus is named to the API, which promises little for it"
        ),
        "mode=sec": FilterSupport(
            level="approximate", note="the corpus is named to the API, which promises little for it"
        ),
        "mode=people": EXACT,
        "max_tokens_per_page": EXACT,
        "max_tokens": EXACT,
    }

    def search_many_flow(
        self, queries: Sequence[str], request: WebSearchRequest
    ) -> Flow[WebSearchResult]:
        """Return the flow of several queries in one request; `request` has everything else.

        The API answers with one ranked list or with a list per query; lists are interleaved.
        """
        wire, key = yield from self._wire_request(request, {"query": list(queries)})
        result = yield from self._exchange(wire, key, request)
        # A page that several queries found counts once, in whichever shape it came.
        unique: dict[str, WebSearchSource] = {}
        for source in result.sources:
            unique.setdefault(source.url, source)
        return result.model_copy(update={"sources": tuple(unique.values())})

    def _request_body(self, request: WebSearchRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"query": request.query}
        if request.max_results is not None:
            body["max_results"] = min(request.max_results, MOST_RESULTS)
        body |= filter_fields(request)
        if request.country is not None:
            body["country"] = request.country
        if request.languages:
            body["search_language_filter"] = list(request.languages)
        if request.context_size is not None:
            body["search_context_size"] = request.context_size
        if request.mode == "people":
            body["search_type"] = "people"
        elif request.mode in ("academic", "sec"):
            body["search_mode"] = request.mode
        for name in ("max_tokens_per_page", "max_tokens"):
            if getattr(request, name) is not None:
                body[name] = getattr(request, name)
        return body

    def _check_combinations(self, request: WebSearchRequest) -> None:
        super()._check_combinations(request)
        if len(request.languages) > MOST_LANGUAGES:
            raise InvalidRequestError(
                f"{len(request.languages)} languages are too many: use {MOST_LANGUAGES} at most",
                provider=self.id,
            )
        if request.context_size and (request.max_tokens or request.max_tokens_per_page):
            raise InvalidRequestError(
                "context_size cannot be combined with max_tokens or max_tokens_per_page: "
                "it is a preset for the two",
                provider=self.id,
            )

    def estimated_cost(self, request: WebSearchRequest) -> float:
        """Return the price of the request in US dollars; the API reports none itself."""
        return search_cost(is_fast=self._extra_body.get("search_type") == "fast")

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        reader = Reader()
        sources = SourceList(reader)
        groups = _groups(reader, body.data)
        for entry in _interleaved(groups):
            sources.add_entry(entry)
        self.check_is_answer(body, reader, is_empty=not sources.found)
        return WebSearchResult(
            sources=sources.found,
            provider=self.id,
            request_id=reader.text(body.data, "id") or body.request_id,
            usage=Usage(searches=1, cost_usd=self.estimated_cost(request), cost_is_estimate=True),
            warnings=sources.warnings(),
        )


def _groups(reader: Reader, data: dict[str, Any]) -> list[list[Any]]:
    """Return the result lists: one, or one per query where the API groups them."""
    results = reader.items(data, "results")
    if not any(isinstance(group, list) for group in results):
        return [results]
    # A query without any hit may have null for its list; a stray page is a list of its own.
    return [g if isinstance(g, list) else [g] for g in results if g is not None]


def _interleaved(groups: list[list[Any]]) -> list[Any]:
    """Return first ranks first; a page that several queries found counts once."""
    if len(groups) == 1:
        return groups[0]
    longest = max(map(len, groups))
    ranked = [group[rank] for rank in range(longest) for group in groups if rank < len(group)]
    seen: set[Any] = set()
    merged = []
    for entry in ranked:
        url = entry.get("url") if isinstance(entry, dict) else None
        if isinstance(url, str):
            if url in seen:
                continue
            seen.add(url)
        merged.append(entry)
    return merged
