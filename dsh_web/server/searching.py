"""One search: terms, filters and budgets in, sources out. What all three APIs are built on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from dsh_web.server.corpus import Document, Index
from dsh_web.server.corpus.words import search_terms
from dsh_web.server.excerpts import excerpt, token_count
from dsh_web.server.filters import Filters

# search_context_size -> (tokens per page, tokens over all pages). `high` is the documented default.
CONTEXT_BUDGETS = {
    "low": (512, 2_000),
    "medium": (1_024, 5_000),
    "high": (4_096, 10_000),
}
CONTEXT_SIZES = tuple(CONTEXT_BUDGETS)


@dataclass(frozen=True)
class SearchOptions:
    """How much a search may return, and which pages."""

    max_results: int = 10
    max_tokens_per_page: int = 4_096
    max_tokens: int = 10_000
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True)
class Source:
    """A page that a search returned, with the part of it that matches."""

    document: Document
    snippet: str


def search(
    index: Index, query: str, options: SearchOptions, seen: Collection[str] = ()
) -> list[Source]:
    """Return the best pages for a query, best first.

    Args:
        index: Where to look.
        query: What was asked, in any words; it is never treated as query syntax.
        options: Budgets and filters.
        seen: Addresses that are not to be returned again.
    """
    terms = search_terms(query)
    sources: list[Source] = []
    left = options.max_tokens
    for found in index.ranked(terms):
        if len(sources) == options.max_results:
            break
        document = found.document
        if document.url in seen or not options.filters.accept(document):
            continue
        snippet = excerpt(document.text, terms, min(options.max_tokens_per_page, max(left, 0)))
        left -= token_count(snippet)
        sources.append(Source(document, snippet))
    return sources
