"""`perplexity-sonar`: an answer from `POST /chat/completions`, for gateways that still speak it.

Perplexity's own host switched this endpoint off on 2026-09-27; it answers 403 with the type
`chat_completions_not_available`. Wire: https://docs.perplexity.ai/api-reference/sonar-post.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..seam import FilterSupport, SupportedFilters, Usage, WebSearchRequest, WebSearchResult
from ._perplexity import ApiKey, Body, PerplexityProvider, filter_fields, is_positive_int, wrapped
from ._shape import Reader
from ._sources import SourceList, read_images

__all__ = ["PerplexitySonarProvider"]

EXACT = FilterSupport(level="exact")
RECENCIES = ("hour", "day", "week", "month", "year")
RETIRED = "chat_completions_not_available"


class PerplexitySonarProvider(PerplexityProvider):
    """The answer of a Sonar model with its sources.

    Args:
        model: Model name.
        max_tokens: Upper bound on generated answer tokens.
        search_recency: Recency window for requests that set none themselves.
        api_key, base_url, max_retries, extra_body: See `PerplexityProvider`.
    """

    id: ClassVar[str] = "perplexity-sonar"
    path: ClassVar[str] = "/chat/completions"
    supported_filters: ClassVar[SupportedFilters] = {
        "recency": EXACT,
        "published_after": EXACT,
        "published_before": EXACT,
        "updated_after": EXACT,
        "updated_before": EXACT,
        "include_domains": EXACT,
        "exclude_domains": EXACT,
        "country": FilterSupport(
            level="approximate", note="it localizes the search, it does not restrict the sources"
        ),
        "languages": EXACT,
        "context_size": EXACT,
        "mode=academic": EXACT,
        "mode=sec": EXACT,
    }

    def __init__(
        self,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        model: str = "sonar",
        max_tokens: int = 1024,
        search_recency: str | None = None,
        max_retries: int = 2,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        api_key = wrapped(api_key)
        super().__init__(
            api_key=api_key, base_url=base_url, max_retries=max_retries, extra_body=extra_body
        )
        self.model = model
        self.max_tokens = max_tokens
        self.search_recency = search_recency

    def _settings_fault(self) -> str | None:
        if not self.model.strip():
            return "model must be a non-empty text"
        if not is_positive_int(self.max_tokens):
            return f"max_tokens must be a positive whole number, not {self.max_tokens!r}"
        if self.search_recency is not None and self.search_recency not in RECENCIES:
            return f"search_recency must be one of {', '.join(RECENCIES)}"
        return None

    def _request_body(self, request: WebSearchRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": request.query}],
            "max_tokens": self.max_tokens,
            **filter_fields(request),
        }
        has_dates = request.published_after or request.published_before
        if self.search_recency and not request.recency and not has_dates:
            body["search_recency_filter"] = self.search_recency
        if request.languages:
            body["search_language_filter"] = list(request.languages)
        if request.mode in ("academic", "sec"):
            body["search_mode"] = request.mode
        options: dict[str, Any] = {}
        if request.context_size is not None:
            options["search_context_size"] = request.context_size
        if request.country is not None:
            options["user_location"] = {"country": request.country}
        if options:
            body["web_search_options"] = options
        return body

    def _explain(self, message: str, kind: str | None) -> str:
        if kind != RETIRED:
            return message
        return (
            f"{message.rstrip('.')}. Perplexity retired Sonar on 2026-09-27: use the provider "
            "'perplexity' (answers) or 'perplexity-search' (sources only) instead"
        )

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        reader = Reader()
        choice = next(reader.records(body.data, "choices"), {})
        message = reader.record(choice, "message")
        content = _content(reader, message)
        sources = SourceList(reader)
        _add_sources(reader, sources, body.data, message)
        self.check_is_answer(body, reader, is_empty=content is None and not sources.found)
        finish_reason = reader.text(choice, "finish_reason")
        warnings = sources.warnings()
        if finish_reason == "length":
            warnings += ("the answer was cut at the token limit",)
        return WebSearchResult(
            content=content,
            sources=sources.found,
            provider=self.id,
            model=reader.text(body.data, "model"),
            request_id=reader.text(body.data, "id") or body.request_id,
            finish_reason=finish_reason,
            usage=_usage(reader, body.data),
            related_questions=reader.texts(body.data, "related_questions"),
            images=read_images(reader, reader.records(body.data, "images")),
            warnings=warnings,
        )


def _content(reader: Reader, message: dict[str, Any]) -> str | None:
    """Return the answer; gateways may send it as a list of typed parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        parts += [part for part in content if isinstance(part, str)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return reader.text(message, "content") or None


def _add_sources(
    reader: Reader, sources: SourceList, data: dict[str, Any], message: dict[str, Any]
) -> None:
    """Add the richest list that the body has; `[n]` in the answer is `citations[n-1]`."""
    citations = reader.items(data, "citations")
    results = reader.items(data, "search_results")
    if results:
        numbers = _numbers(citations)
        for position, entry in enumerate(results, start=1):
            url = entry.get("url") if isinstance(entry, dict) else None
            ids = numbers.get(url, ()) if citations and isinstance(url, str) else (position,)
            sources.add_entry(entry, ids=ids)
        return
    for position, url in enumerate(citations, start=1):
        sources.add_link(url, ids=(position,))
    if not citations:
        # OpenRouter keeps the sources of a Sonar answer only in OpenAI-style annotations.
        for position, note in enumerate(reader.records(message, "annotations"), start=1):
            nested = note.get("url_citation")
            sources.add_entry(nested if isinstance(nested, dict) else note, ids=(position,))


def _numbers(citations: list[Any]) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, tuple[int, ...]] = {}
    for position, url in enumerate(citations, start=1):
        if isinstance(url, str):
            numbers[url] = (*numbers.get(url, ()), position)
    return numbers


def _usage(reader: Reader, data: dict[str, Any]) -> Usage | None:
    usage = reader.record(data, "usage")
    if not usage:
        return None
    cost = usage.get("cost")
    total = reader.number(cost, "total_cost") if isinstance(cost, dict) else None
    if isinstance(cost, (int, float)):  # a gateway's own accounting
        total = reader.number(usage, "cost")
    return Usage(
        input_tokens=reader.integer(usage, "prompt_tokens"),
        output_tokens=reader.integer(usage, "completion_tokens"),
        total_tokens=reader.integer(usage, "total_tokens"),
        reasoning_tokens=reader.integer(usage, "reasoning_tokens"),
        searches=reader.integer(usage, "num_search_queries"),
        cost_usd=total,
    )
