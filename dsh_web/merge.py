"""One result out of several: ranks in turn, repeats dropped, answers under their queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from .errors import InvalidRequestError
from .seam import Usage, WebSearchResult, WebSearchSource
from .seam_citations import Citation, Span

Member = TypeVar("Member")

__all__ = ["cap_sources", "check_queries", "listed_queries", "merge_results"]


def cap_sources(result: WebSearchResult, max_results: int | None) -> WebSearchResult:
    """Return `result` with at most `max_results` sources; `truncated` says if any were cut."""
    if max_results is None or len(result.sources) <= max_results:
        return result
    return result.model_copy(update={"sources": result.sources[:max_results], "truncated": True})


def listed_queries(queries: Iterable[object]) -> tuple[object, ...]:
    """Return the queries as a tuple; a lone text is one query, since nobody means its letters."""
    return (queries,) if isinstance(queries, str) else tuple(queries)


def check_queries(queries: Iterable[object], max_queries: int) -> tuple[str, ...]:
    """Return the queries with exact repeats dropped, the first position kept.

    Raises:
        InvalidRequestError: None, too many, or one that is blank or not text.
    """
    queries = listed_queries(queries)
    if not queries:
        raise InvalidRequestError("queries must contain at least one query")
    if not all(isinstance(query, str) and query.strip() for query in queries):
        raise InvalidRequestError("each query must be a non-empty string")
    unique = tuple(dict.fromkeys(str(query) for query in queries))
    if len(unique) > max_queries:
        most = "1 query" if max_queries == 1 else f"{max_queries} queries"
        raise InvalidRequestError(f"queries must contain at most {most}")
    return unique


def merge_results(
    queries: Sequence[str], results: Sequence[WebSearchResult], max_results: int | None
) -> WebSearchResult:
    """Return one result for all queries, which must be in the order of `results`.

    The first source of each query comes first, then the second of each; a url that is already
    there is dropped. A single result is only capped.
    """
    if len(results) == 1:
        return cap_sources(results[0], max_results)
    content, spans = _answers(queries, results)
    merged = WebSearchResult(
        content=content,
        citations=_citations(results, spans),
        citation_contract=_common([r.citation_contract for r in results if r.content]),
        answer_spans=tuple(span for span in spans if span is not None),
        sources=tuple(_interleaved(results)),
        truncated=any(result.truncated for result in results),
        provider=results[0].provider,
        model=_common([result.model for result in results]),
        request_id=_common([result.request_id for result in results]),
        finish_reason=_common([result.finish_reason for result in results]),
        usage=_total([result.usage for result in _paid(results)]),
        cached=all(result.cached for result in results),
        related_questions=_unique(q for result in results for q in result.related_questions),
        finance=_unique(record for result in results for record in result.finance),
        images=_unique(image for result in results for image in result.images),
        warnings=_unique(warning for result in results for warning in result.warnings),
        raw=[result.raw for result in results] if any(r.raw for r in results) else None,
    )
    return cap_sources(merged, max_results)


def _interleaved(results: Sequence[WebSearchResult]) -> list[WebSearchSource]:
    longest = max(len(result.sources) for result in results)
    by_url: dict[str, WebSearchSource] = {}
    for rank in range(longest):
        for result in results:
            if rank < len(result.sources):
                source = result.sources[rank]
                # The numbers of one answer mean nothing in another.
                by_url.setdefault(source.url, source.model_copy(update={"ids": ()}))
    return list(by_url.values())


def _paid(results: Sequence[WebSearchResult]) -> Sequence[WebSearchResult]:
    """Return the results that something was consumed for: all, if all are kept ones."""
    return [result for result in results if not result.cached] or results


def _answers(
    queries: Sequence[str], results: Sequence[WebSearchResult]
) -> tuple[str | None, list[Span | None]]:
    """Return the answers under their queries, and where each stands; None for no answer."""
    content = ""
    spans: list[Span | None] = []
    for query, result in zip(queries, results, strict=True):
        if not result.content:
            spans.append(None)
            continue
        content += "\n\n" if content else ""
        content += f"## {' '.join(query.split())}\n\n"
        spans.append((len(content), len(content) + len(result.content)))
        content += result.content
    return content or None, spans


def _citations(
    results: Sequence[WebSearchResult], spans: Sequence[Span | None]
) -> tuple[Citation, ...]:
    """Return the records of all answers, each of which resolved in its own list."""
    answers = [(r, span) for r, span in zip(results, spans, strict=True) if span is not None]
    return tuple(
        record.moved(start, answer_index=index)
        for index, (result, (start, _)) in enumerate(answers)
        for record in result.citations
    )


def _common(values: Sequence[str | None]) -> str | None:
    return values[0] if values and len(set(values)) == 1 else None


def _unique(values: Iterable[Member]) -> tuple[Member, ...]:
    return tuple(dict.fromkeys(values))


def _total(usages: Sequence[Usage | None]) -> Usage | None:
    """Return the sums; a number that one call did not report stays unknown for the total."""
    if not usages or any(usage is None for usage in usages):
        return None
    sums: dict[str, Any] = {}
    for name in Usage.model_fields:
        values = [getattr(usage, name) for usage in usages]
        sums[name] = None if any(value is None for value in values) else sum(values)
    sums["cost_is_estimate"] = any(usage.cost_is_estimate for usage in usages if usage is not None)
    return Usage(**sums)
