"""What a query becomes on Parallel's wire: an objective in sentences, and keyword queries.

Version 1 of the Search API refuses a request without `search_queries`, and takes an `objective`
beside them. A seam query is one text of either kind. Which it is, is told by its shape alone: no
model is asked to plan a search that nobody sees.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..errors import InvalidRequestError

__all__ = ["WireQuery", "is_keywords", "query_fault", "wire_query"]

MOST_QUERIES: Final = 5
LONGEST_QUERY: Final = 200
MOST_WORDS: Final = 10
LONGEST_OBJECTIVE: Final = 5000

# A question mark anywhere, a semicolon, or a mark that ends a sentence: not the dot of `Node.js`.
_SENTENCE = re.compile(r"[?\uff1f\u061f;\uff1b\u3002\uff01\n]|[.!\u2026](?=\s|$)")


@dataclass(frozen=True, slots=True)
class WireQuery:
    """The two fields, and what a caller should know about how they came about."""

    objective: str | None
    search_queries: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def is_keywords(query: str) -> bool:
    """Return whether `query` is short (200 characters, 10 words) and no sentence or question."""
    text = query.strip()
    is_short = len(query) <= LONGEST_QUERY and len(text.split()) <= MOST_WORDS
    return is_short and _SENTENCE.search(text) is None


def query_fault(objective: str | None, search_queries: Sequence[str]) -> str | None:
    """Return what Parallel would refuse, cut or drop of the two fields, with what to change."""
    if objective is not None and len(objective) > LONGEST_OBJECTIVE:
        return (
            f"the objective is {len(objective):,} characters long, Parallel takes "
            f"{LONGEST_OBJECTIVE:,}: shorten the query, or give a shorter objective and "
            "search_queries"
        )
    if len(search_queries) > MOST_QUERIES:
        return f"{len(search_queries)} search_queries are too many: Parallel takes {MOST_QUERIES}"
    for query in search_queries:
        if len(query) > LONGEST_QUERY:
            return (
                f"the search query {query[:40]!r}... is {len(query)} characters long: Parallel "
                f"takes {LONGEST_QUERY}"
            )
    return None


def wire_query(
    queries: Sequence[str], objective: str | None, search_queries: Sequence[str]
) -> WireQuery:
    """Return the fields for one query, or for several that are searched together.

    Args:
        queries: What the caller asks; at least one.
        objective: Given by the caller; it stands in the place of one made from the queries.
        search_queries: Given by the caller, in the place of those made from the queries.

    Raises:
        InvalidRequestError: The objective or a query is longer than Parallel takes.
    """
    made = (
        _with_given(queries, objective, search_queries)
        if search_queries
        else _from_queries(queries, objective)
    )
    fault = query_fault(made.objective, made.search_queries)
    if fault is not None:
        raise InvalidRequestError(fault)
    return made


def _from_queries(queries: Sequence[str], objective: str | None) -> WireQuery:
    texts = [query for query in queries if not is_keywords(query)]
    has_own = objective is not None
    warnings = []
    probes = []
    for query in queries:
        text = query if len(query) <= LONGEST_QUERY else " ".join(query.split())
        probe = _start_of(text)
        probes.append(probe)
        if probe != text:
            rest = "the rest was left out" if has_own else "the whole of it as the objective"
            warnings.append(
                f"Parallel takes {LONGEST_QUERY} characters as a search query: the first "
                f"{len(probe)} of the query were sent, {rest}; give search_queries for better ones"
            )
    made = objective if has_own else "\n".join(texts) or None
    return WireQuery(made, tuple(dict.fromkeys(probes)), tuple(dict.fromkeys(warnings)))


def _with_given(
    queries: Sequence[str], objective: str | None, search_queries: Sequence[str]
) -> WireQuery:
    others = [query for query in queries if query not in search_queries]
    if objective is None:
        return WireQuery("\n".join(others) or None, tuple(search_queries))
    is_lost = any(query != objective for query in others)
    warning = "the query itself was not sent: objective and search_queries stand in its place"
    return WireQuery(objective, tuple(search_queries), (warning,) if is_lost else ())


def _start_of(text: str) -> str:
    """Return the words that fit into a search query; of a text without spaces, its start."""
    if len(text) <= LONGEST_QUERY:
        return text
    start, space, _ = text[: LONGEST_QUERY + 1].rpartition(" ")
    return start if space else text[:LONGEST_QUERY]
