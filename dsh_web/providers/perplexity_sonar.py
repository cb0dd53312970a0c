"""`perplexity-sonar`: an answer from `POST /chat/completions`, for gateways that still speak it.

Perplexity's own host switched this endpoint off on 2026-09-27; it answers 403 with the type
`chat_completions_not_available`. Wire: https://docs.perplexity.ai/api-reference/sonar-post.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..citations import read_citations
from ..errors import InvalidRequestError
from ..prices import sonar_cost
from ..seam import SupportedFilters, Usage, WebSearchRequest, WebSearchResult
from ._chat_completion import content_of, first_choice
from ._perplexity import PerplexityProvider
from ._perplexity_fields import LOCALIZES, SHARED_FILTERS, filter_fields
from ._shape import Reader
from ._sonar_body import (
    CONTRACT,
    add_sources,
    references_in,
    usage_of,
)
from ._sonar_stream import SonarAssembler
from ._sources import SourceList, read_images
from ._vendor import ApiKey, Body, is_positive_int, is_text, wrapped
from ._vendor_fields import EXACT, json_schema_format, with_estimate
from ._vendor_stream import StreamingProvider

__all__ = ["PerplexitySonarProvider"]

RECENCIES = ("hour", "day", "week", "month", "year")
MOST_LANGUAGES = 10
DAYS = ("published_after", "published_before", "updated_after", "updated_before")
RETIRED = "chat_completions_not_available"


class PerplexitySonarProvider(PerplexityProvider, StreamingProvider):
    """The answer of a Sonar model with its sources.

    Args:
        model: Model name.
        max_tokens: Upper bound on generated answer tokens.
        search_recency: Recency window for requests that set none themselves.
        api_key, base_url, max_retries, extra_body: See `PerplexityProvider`.
    """

    id: ClassVar[str] = "perplexity-sonar"
    path: ClassVar[str] = "/chat/completions"
    supports_response_format: ClassVar[bool] = True
    supported_filters: ClassVar[SupportedFilters] = {
        **SHARED_FILTERS,
        "country": LOCALIZES,
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
        if not is_text(self.model):
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
        if request.response_format is not None:
            body["response_format"] = json_schema_format(request.response_format)
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

    def _check_combinations(self, request: WebSearchRequest) -> None:
        super()._check_combinations(request)
        if len(request.languages) > MOST_LANGUAGES:
            raise InvalidRequestError(
                f"{len(request.languages)} languages are too many: use {MOST_LANGUAGES} at most",
                provider=self.id,
            )

    def _assembler(self) -> SonarAssembler:
        return SonarAssembler()

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        reader = Reader()
        choice = first_choice(reader, body.data)
        message = reader.record(choice, "message")
        content = content_of(reader, message)
        sources = SourceList(reader)
        add_sources(reader, sources, body.data, message)
        self.check_is_answer(body, reader, is_empty=content is None and not sources.found)
        finish_reason = reader.text(choice, "finish_reason")
        warnings = sources.warnings()
        if request.mode == "academic" and any(getattr(request, day) for day in DAYS):
            warnings += ("Perplexity ignores dates with mode=academic",)
        if finish_reason == "length":
            warnings += ("the answer was cut at the token limit",)
        return WebSearchResult(
            content=content,
            sources=sources.found,
            citations=read_citations(
                content,
                references_in(reader, body.data, message),
                contract=CONTRACT,
                provider=self.id,
            ),
            citation_contract=CONTRACT,
            provider=self.id,
            model=reader.text(body.data, "model"),
            request_id=reader.text(body.data, "id") or body.request_id,
            finish_reason=finish_reason,
            usage=self._priced(
                usage_of(reader, body.data), reader.text(body.data, "model"), request
            ),
            related_questions=reader.texts(body.data, "related_questions"),
            images=read_images(reader, reader.records(body.data, "images")),
            warnings=warnings,
        )

    def _priced(
        self, usage: Usage | None, model: str | None, request: WebSearchRequest
    ) -> Usage | None:
        if usage is None or usage.cost_usd is not None:
            return usage
        return with_estimate(usage, sonar_cost(model, usage, request.context_size))

    def estimated_cost(self, request: WebSearchRequest) -> float | None:
        """Return the price of the request in US dollars, without its tokens."""
        return sonar_cost(self.model, None, request.context_size)
