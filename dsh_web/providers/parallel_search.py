"""`parallel`: ranked pages with excerpts from Parallel's Search API, `POST /v1/search`.

Wire: https://docs.parallel.ai/api-reference/search/search (2026-11).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, get_args

from ..errors import InvalidRequestError
from ..filters import without_filters
from ..flow import Flow, ReadClock
from ..prices import ParallelMode, parallel_search_cost
from ..seam import (
    FilterSupport,
    SupportedFilters,
    Usage,
    WebSearchRequest,
    WebSearchResult,
)
from ._parallel import ParallelProvider, source_of, vendor_warnings
from ._parallel_fetching import fetch_policy_fault
from ._parallel_policy import first_day, policy_fault, source_policy, strays
from ._parallel_query import WireQuery, query_fault, wire_query
from ._shape import Reader
from ._sources import SourceList
from ._vendor import ApiKey, Body, is_positive_int, is_text, wrapped
from ._vendor_fields import EXACT, with_estimate

__all__ = ["ParallelSearchProvider"]

MODES: tuple[str, ...] = get_args(ParallelMode)
MOST_RESULTS = 20
DEFAULT_RESULTS = 10
MOST_JOINT_QUERIES = 5
LONGEST_SESSION_ID = 1000


class ParallelSearchProvider(ParallelProvider):
    """Search results for retrieval: pages with excerpts, `content` is always None.

    A query of up to 200 characters and 10 words without the marks of a sentence or question is
    sent as it is, as the one entry of `search_queries`. Any other is sent as the `objective`, and
    as the one entry of `search_queries` too, which the API demands: cut at the end of a word where
    it is longer than 200 characters, of which the result warns. No model is asked for keywords.
    An `objective` or `search_queries` of the caller, per call or here, take the place of what
    would be made from the query.

    Args:
        mode: `turbo` (some 200 ms; English and Japanese queries only, no paths in domain filters),
            `fast` (700 ms), `basic` (1 s) or `advanced` (3 s). `turbo` and `fast` cost a fifth of
            the others. Default `basic`: of the modes for queries in every language, the one with
            the longer excerpts, which are what a document in an index consists of, in a third of
            the time of `advanced` at the same price.
        max_chars_total: Cap in characters on the excerpts of all results.
        max_chars_per_result: Cap in characters on the excerpts of one result.
        client_model: Name of the model that will read the excerpts; it tunes Parallel's defaults.
        session_id: Groups the calls of one task, at most 1000 characters.
        fetch_policy: When pages are fetched anew instead of read from the index, which takes
            longer: `max_age_seconds` (600 or more), `timeout_seconds`, `disable_cache_fallback`.
        objective: What all searches of this provider are for, at most 5000 characters.
        search_queries: At most 5 of at most 200 characters, for all searches of this provider.
        joint_queries: Send up to five queries of `search_many` in one request, which ranks them
            jointly and counts as one. Off by default: each query then has a ranking of its own.
        api_key, base_url, max_retries, extra_body: See `ParallelProvider`.
    """

    id: ClassVar[str] = "parallel"
    path: ClassVar[str] = "/v1/search"
    key_header: ClassVar[str | None] = "x-api-key"
    most_joint_results: ClassVar[int] = MOST_RESULTS
    supported_filters: ClassVar[SupportedFilters] = {
        "recency": FilterSupport(
            level="approximate",
            note="only pages published since the first day of that time are asked for",
        ),
        "published_after": EXACT,
        "include_domains": EXACT,
        "exclude_domains": EXACT,
        "country": FilterSupport(
            level="approximate",
            note="it localizes the search in the countries that the API knows, it does not "
            "restrict the sources",
        ),
        "objective": EXACT,
        "search_queries": EXACT,
    }

    def __init__(
        self,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        mode: ParallelMode = "basic",
        max_chars_total: int | None = None,
        max_chars_per_result: int | None = None,
        client_model: str | None = None,
        session_id: str | None = None,
        fetch_policy: Mapping[str, Any] | None = None,
        objective: str | None = None,
        search_queries: Sequence[str] = (),
        joint_queries: bool = False,
        max_retries: int = 2,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        api_key = wrapped(api_key)
        super().__init__(
            api_key=api_key, base_url=base_url, max_retries=max_retries, extra_body=extra_body
        )
        self.mode = mode
        self.max_chars_total = max_chars_total
        self.max_chars_per_result = max_chars_per_result
        self.client_model = client_model
        self.session_id = session_id
        self._fetch_policy = copy.deepcopy(dict(fetch_policy or {}))
        self.objective = objective
        # A lone text is one query, since nobody means its letters.
        is_one = isinstance(search_queries, str)
        self.search_queries: tuple[str, ...] = (
            (str(search_queries),) if is_one else tuple(search_queries)
        )
        self.joint_queries = joint_queries

    @property
    def most_joint_queries(self) -> int:
        """How many queries of one call go into one request."""
        return MOST_JOINT_QUERIES if self.joint_queries else 1

    @property
    def fetch_policy(self) -> dict[str, Any]:
        """A copy of the policy; empty: pages come from the index."""
        return copy.deepcopy(self._fetch_policy)

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return the flow of one search."""
        return self._search((request.query,), request)

    def search_many_flow(
        self, queries: Sequence[str], request: WebSearchRequest
    ) -> Flow[WebSearchResult]:
        """Return the flow of several queries in one request; `request` has everything else.

        The API ranks the pages of all queries in one list.
        """
        return self._search(tuple(queries), request)

    def _search(self, queries: tuple[str, ...], request: WebSearchRequest) -> Flow[WebSearchResult]:
        if request.recency is not None:
            request = _with_first_day(request, (yield ReadClock()))
        asked = self._wire_query(queries, request)
        wire, key = yield from self._wire_request(request, _query_fields(asked))
        result = yield from self._exchange(wire, key, request)
        return result.model_copy(update={"warnings": asked.warnings + result.warnings})

    def _wire_query(self, queries: tuple[str, ...], request: WebSearchRequest) -> WireQuery:
        try:
            return wire_query(
                queries,
                request.objective or self.objective,
                request.search_queries or self.search_queries,
            )
        except InvalidRequestError as error:
            error.provider = self.id
            raise

    def _settings_fault(self) -> str | None:
        if self.mode not in MODES:
            return f"mode must be one of {', '.join(MODES)}, not {self.mode!r}"
        for name in ("max_chars_total", "max_chars_per_result"):
            value = getattr(self, name)
            if value is not None and not is_positive_int(value):
                return f"{name} must be a positive whole number, not {value!r}"
        for name in ("client_model", "session_id", "objective"):
            value = getattr(self, name)
            if value is not None and not is_text(value):
                return f"{name} must be a non-empty text"
        if len(self.session_id or "") > LONGEST_SESSION_ID:
            return f"session_id must have at most {LONGEST_SESSION_ID} characters"
        if not all(is_text(query) for query in self.search_queries):
            return "each of search_queries must be a non-empty text"
        return query_fault(self.objective, self.search_queries) or fetch_policy_fault(
            self._fetch_policy
        )

    def _check_combinations(self, request: WebSearchRequest) -> None:
        fault = policy_fault(request, takes_paths=self.mode != "turbo")
        if fault is not None:
            raise InvalidRequestError(fault, provider=self.id)

    def _request_body(self, request: WebSearchRequest) -> dict[str, Any]:
        settings: dict[str, Any] = {"max_results": _results_of(request)}
        if request.country is not None:
            settings["location"] = request.country.lower()
        policy = source_policy(request)
        if policy:
            settings["source_policy"] = policy
        if self._fetch_policy:
            settings["fetch_policy"] = self.fetch_policy
        if self.max_chars_per_result is not None:
            settings["excerpt_settings"] = {"max_chars_per_result": self.max_chars_per_result}
        body: dict[str, Any] = {
            **_query_fields(self._wire_query((request.query,), request)),
            "mode": self.mode,
            "max_chars_total": self.max_chars_total,
            "client_model": self.client_model,
            "session_id": self.session_id,
            "advanced_settings": settings,
        }
        return {name: value for name, value in body.items() if value is not None}

    def _bare_body(self, request: WebSearchRequest) -> dict[str, Any]:
        try:
            return super()._bare_body(request)
        except InvalidRequestError:
            # The query is one that only fits beside the objective that was taken out.
            return self._request_body(without_filters(request, keep=("objective",)))

    def estimated_cost(self, request: WebSearchRequest) -> float:
        """Return the price of the request in US dollars; the API reports none itself."""
        extra = max(0, _results_of(request) - DEFAULT_RESULTS)
        return parallel_search_cost(
            self.mode, {"sku_search": 1, "sku_search_additional_results": extra}
        )

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        reader = Reader()
        sources = SourceList(reader, make_source=source_of)
        for entry in reader.items(body.data, "results"):
            sources.add_entry(entry)
        self.check_is_answer(body, reader, is_empty=not sources.found)
        outside = strays((source.url for source in sources.found), request)
        return WebSearchResult(
            sources=sources.found,
            provider=self.id,
            request_id=reader.text(body.data, "search_id") or body.request_id,
            usage=self._usage(reader, body.data, request),
            warnings=vendor_warnings(reader, body.data) + sources.warnings() + outside,
        )

    def _usage(self, reader: Reader, data: dict[str, Any], request: WebSearchRequest) -> Usage:
        counts: dict[str, int] = {}
        for counter in reader.records(data, "usage"):
            name, count = counter.get("name"), reader.integer(counter, "count")
            if isinstance(name, str) and count is not None and count >= 0:
                counts[name] = counts.get(name, 0) + count
        usage = Usage(searches=counts.get("sku_search", 1))
        # Without counters the answer says nothing of its price; the request does.
        cost = parallel_search_cost(self.mode, counts) if counts else self.estimated_cost(request)
        return with_estimate(usage, cost)


def _query_fields(query: WireQuery) -> dict[str, Any]:
    return {"objective": query.objective, "search_queries": list(query.search_queries)}


def _with_first_day(request: WebSearchRequest, now: float) -> WebSearchRequest:
    """Return `request` with its recency window as a day, the later one if it names a day too."""
    assert request.recency is not None
    day = first_day(request.recency, now)
    if request.published_after is not None:
        day = max(day, request.published_after)
    return request.model_copy(update={"recency": None, "published_after": day})


def _results_of(request: WebSearchRequest) -> int:
    # Always sent: what the API does without it has changed before.
    return min(request.max_results or DEFAULT_RESULTS, MOST_RESULTS)
