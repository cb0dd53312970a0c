"""`POST /search`: ranked pages without an answer."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from dsh_web.server.api_errors import JsonAnswer, read_json_object
from dsh_web.server.corpus import Index
from dsh_web.server.fields import Fields
from dsh_web.server.filters import read_filters
from dsh_web.server.searching import (
    CONTEXT_BUDGETS,
    CONTEXT_SIZES,
    SearchOptions,
    Source,
    search,
)
from dsh_web.server.settings import MultiQueryShape

MOST_QUERIES = 5
MOST_RESULTS = 20
MOST_TOKENS = 1_000_000
MOST_LANGUAGES = 20


@dataclass(frozen=True)
class SearchRequest:
    """A valid request body."""

    queries: tuple[str, ...]
    is_multi: bool
    options: SearchOptions
    wants_server_time: bool


class SearchEndpoint:
    """Answers `POST /search` from one index."""

    def __init__(self, index: Index, multi_query: MultiQueryShape) -> None:
        self._index = index
        self._multi_query = multi_query

    async def __call__(self, request: Request) -> JsonAnswer:
        """Search and answer with the pages found."""
        asked = read_search_request(await request.body())
        groups = [search(self._index, query, asked.options) for query in asked.queries]
        results: list[Any]
        if asked.is_multi and self._multi_query == "grouped":
            results = [[_page(source) for source in group] for group in groups]
        else:
            merged = _merge(groups)[: asked.options.max_results]
            results = [_page(source) for source in merged]
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return JsonAnswer(
            {
                "id": str(uuid.uuid4()),
                "results": results,
                "server_time": now if asked.wants_server_time else None,
            }
        )


def read_search_request(body: bytes) -> SearchRequest:
    """Read and check a request body; fields that the API does not know are ignored.

    Raises:
        ApiError: 400 for bad JSON or filters that cannot be read or combined.
        InvalidBodyError: for wrong types and values out of range.
    """
    values = read_json_object(body)
    fields = Fields(values)
    is_multi = isinstance(values.get("query"), list)
    if not fields.has("query"):
        fields.note("query", "Field required", "missing")
    queries: list[str] = []
    if is_multi:
        queries = fields.texts("query", most_items=MOST_QUERIES, least=1)
        if not values["query"]:
            fields.note("query", "List should have at least 1 item", "too_short")
    else:
        queries = [fields.text("query", least=1) or ""]
    max_results = fields.integer("max_results", least=1, most=MOST_RESULTS)
    size = fields.word("search_context_size", CONTEXT_SIZES) or "high"
    per_page, total = CONTEXT_BUDGETS[size]
    max_tokens = fields.integer("max_tokens", least=1, most=MOST_TOKENS)
    max_per_page = fields.integer("max_tokens_per_page", least=1, most=MOST_TOKENS)
    fields.word("search_type", ("web", "fast", "people"))
    fields.word("search_mode", ("web", "academic", "sec"))
    _check_code(fields, "country", fields.text("country"))
    for position, code in enumerate(
        fields.texts("search_language_filter", most_items=MOST_LANGUAGES)
    ):
        _check_code(fields, "search_language_filter", code, position)
    wants_server_time = fields.boolean("display_server_time")
    filters = read_filters(fields, fields.raise_invalid_body)
    options = SearchOptions(
        max_results=10 if max_results is None else max_results,
        max_tokens_per_page=per_page if max_per_page is None else max_per_page,
        max_tokens=total if max_tokens is None else max_tokens,
        filters=filters,
    )
    return SearchRequest(tuple(queries), is_multi, options, wants_server_time)


def _check_code(fields: Fields, name: str, code: str | None, *more: int) -> None:
    if code is not None and not (len(code) == 2 and code.isascii() and code.isalpha()):
        fields.note(
            name,
            "String should be a code of 2 letters",
            "string_pattern_mismatch",
            *more,
        )


def _merge(groups: list[list[Source]]) -> list[Source]:
    """Return the groups' sources by rank, the first query's first, each page once."""
    longest = max((len(group) for group in groups), default=0)
    by_rank = [group[rank] for rank in range(longest) for group in groups if rank < len(group)]
    return list({source.document.url: source for source in by_rank}.values())


def _page(source: Source) -> dict[str, Any]:
    document = source.document
    return {
        "title": document.title,
        "url": document.url,
        "snippet": source.snippet,
        "date": document.published,
        "last_updated": document.updated,
    }
