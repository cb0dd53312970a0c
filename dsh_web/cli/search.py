"""`dsh-web search QUERY`: one search, shown to a person or as JSON."""

from __future__ import annotations

import argparse
import sys
from typing import Any, cast

from ..arguments import SearchFields, SearchFilters
from ..errors import WebError
from ..holder import DEFAULT_MAX_QUERIES
from ..runtime import WebRuntime
from ..seam import WebSearchResult
from .show import print_failure, print_json, show_explanation, show_result, show_stream

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Search the web and show the answer and its sources."

_FILTER_HELP = {
    "recency": "only from the last hour, day, week, month or year",
    "published-after": "only published on or after this day (YYYY-MM-DD)",
    "published-before": "only published on or before this day (YYYY-MM-DD)",
    "updated-after": "only updated on or after this day (YYYY-MM-DD)",
    "updated-before": "only updated on or before this day (YYYY-MM-DD)",
    "country": "two-letter country code",
    "context-size": "how much text is retrieved: low, medium or high",
    "mode": "which corpus: web, academic, sec, people or finance",
    "objective": "what the search is for, in sentences",
}
_COUNT_HELP = {
    "max-tokens": "cap on the text extracted over all results",
    "max-tokens-per-page": "cap on the text extracted from one page",
}
_LIST_HELP = {
    "include-domains": "only these sites, for example python.org; repeatable",
    "exclude-domains": "none of these sites; repeatable",
    "languages": "two-letter language code; repeatable",
    "search-queries": "keywords to search with in the place of the query's own; repeatable",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a search."""
    parser.add_argument("query", nargs="+", help="the query; several words need no quotes")
    parser.add_argument("--provider", metavar="ID", help="provider to use, e.g. perplexity-search")
    parser.add_argument("--max-results", type=int, default=8, metavar="N", help="(%(default)s)")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="(%(default)s)")
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="QUERY",
        help="another query to run at the same time, merged into one result; repeatable",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--stream", action="store_true", help="show the answer as it is written")
    shown.add_argument(
        "--dry-run", action="store_true", help="show what would be sent, without sending it"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--raw", action="store_true", help="with --json: the provider's body too")
    filters = parser.add_argument_group("filters")
    for name, text in _FILTER_HELP.items():
        filters.add_argument(f"--{name}", help=text)
    for name, text in _COUNT_HELP.items():
        filters.add_argument(f"--{name}", type=int, metavar="N", help=text)
    for name, text in _LIST_HELP.items():
        filters.add_argument(f"--{name}", action="append", metavar="X", help=text)
    filters.add_argument(
        "--on-unsupported",
        choices=("raise", "warn"),
        help="what happens to a filter that the provider cannot honour",
    )


def run(options: argparse.Namespace) -> int:
    """Search, print, and return 0, or 1 after a failure."""
    if options.also and (options.stream or options.dry_run):
        other = "--stream" if options.stream else "--dry-run"
        print(f"dsh-web search: error: --also cannot be combined with {other}", file=sys.stderr)
        return 2
    given_names = (*_FILTER_HELP, *_COUNT_HELP, *_LIST_HELP, "on-unsupported")
    names = [name.replace("-", "_") for name in given_names]
    given: dict[str, Any] = {n: value for n in names if (value := getattr(options, n)) is not None}
    filters = cast("SearchFilters", {**given, "include_raw": options.raw})
    fields: SearchFields = {"max_results": options.max_results, **filters}  # type: ignore[typeddict-item]
    query = " ".join(options.query)
    try:
        # As many queries as a person writes down; the bound is there for models.
        most = max(DEFAULT_MAX_QUERIES, 1 + len(options.also))
        with WebRuntime.from_env(search_provider=options.provider, max_queries=most) as runtime:
            if options.dry_run:
                return _explain(runtime, query, fields, as_json=options.json)
            if options.stream:
                return _stream(runtime, query, fields, options)
            if options.also:
                queries = [query, *options.also]
                result = runtime.search_many(
                    queries, max_results=options.max_results, timeout=options.timeout, **filters
                )
            else:
                result = runtime.search(query, timeout=options.timeout, **fields)
    except WebError as error:
        return print_failure(error, as_json=options.json, is_line=options.stream)
    if options.json:
        print_json(_dumped(result, with_raw=options.raw))
    else:
        show_result(result)
    return 0


def _explain(runtime: WebRuntime, query: str, fields: SearchFields, *, as_json: bool) -> int:
    explanation = runtime.explain(query, **fields)
    if as_json:
        print_json(explanation.model_dump(mode="json"))
    else:
        show_explanation(explanation)
    return 0


def _stream(
    runtime: WebRuntime, query: str, fields: SearchFields, options: argparse.Namespace
) -> int:
    with runtime.stream(query, timeout=options.timeout, **fields) as stream:
        if options.json:
            for event in stream:
                print_json(event.model_dump(mode="json"), is_line=True)
        else:
            show_stream(stream)
    return 0


def _dumped(result: WebSearchResult, *, with_raw: bool) -> dict[str, Any]:
    return result.model_dump(mode="json", exclude=None if with_raw else {"raw"})
