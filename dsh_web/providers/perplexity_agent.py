"""`perplexity`: an answer with sources from the Agent API, `POST /v1/agent`.

Wire: https://docs.perplexity.ai/api-reference/agent-post (2026-10). The API decodes strictly, so
nothing is sent that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ..citations import read_citations
from ..errors import ProviderError, UnsupportedFilterError
from ..filters import set_filters
from ..prices import agent_cost, effort_cost
from ..seam import SupportedFilters, Usage, WebSearchRequest, WebSearchResult
from ._agent_output import (
    CONTRACT,
    WEB_ITEMS,
    add_sources,
    annotations_of,
    answer_text,
    finance_of,
    image_records,
    references_in,
    tool_calls_of,
    usage_of,
)
from ._agent_stream import AgentAssembler
from ._perplexity import PerplexityProvider
from ._perplexity_fields import LOCALIZES, SHARED_FILTERS, filter_fields
from ._shape import Reader
from ._sources import SourceList, read_images
from ._vendor import ApiKey, Body, is_positive_int, is_text, wrapped
from ._vendor_errors import message_of
from ._vendor_fields import EXACT, json_schema_format, with_estimate
from ._vendor_stream import StreamingProvider

__all__ = ["PerplexityAgentProvider"]

EFFORTS = ("fast", "low", "medium", "high", "xhigh")
RECENCIES = ("hour", "day", "week", "month", "year")
MOST_RESULTS = 50
STEPS_WITHOUT_EFFORT = 3
"""A bare model gets one step by default, which a search would use up before the answer."""

_TOOL_OF_MODE = {"people": "people_search", "finance": "finance_search"}


class PerplexityAgentProvider(PerplexityProvider, StreamingProvider):
    """The answer of a Perplexity agent that has searched the web.

    Args:
        effort: `fast`, `low`, `medium`, `high`, `xhigh`, or a pinned form such as
            `fast@2026-10-16.0`: which server-side configuration answers. None: only with `model`.
        model: `provider/name`, for example `openai/gpt-6-luna`. Default: `effort` decides.
        max_tokens: Upper bound on generated tokens (`max_output_tokens`).
        instructions: System prompt; it replaces the one that comes with `effort`.
        search_recency: Recency window for requests that set none themselves.
        effort_field: How `effort` is spelled on the wire: `preset` is the older word for it.
        api_key, base_url, max_retries, extra_body: See `PerplexityProvider`.
    """

    id: ClassVar[str] = "perplexity"
    path: ClassVar[str] = "/v1/agent"
    supports_response_format: ClassVar[bool] = True
    supported_filters: ClassVar[SupportedFilters] = {
        **SHARED_FILTERS,
        "country": LOCALIZES,
        "context_size": EXACT,
        "mode=people": EXACT,
        "mode=finance": EXACT,
        "max_tokens_per_page": EXACT,
        "max_tokens": EXACT,
    }

    def __init__(
        self,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        effort: str | None = "fast",
        model: str | None = None,
        max_tokens: int | None = None,
        instructions: str | None = None,
        search_recency: str | None = None,
        effort_field: Literal["effort", "preset"] = "effort",
        max_retries: int = 2,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        api_key = wrapped(api_key)
        super().__init__(
            api_key=api_key, base_url=base_url, max_retries=max_retries, extra_body=extra_body
        )
        self.effort = effort
        self.model = model
        self.max_tokens = max_tokens
        self.instructions = instructions
        self.search_recency = search_recency
        self.effort_field = effort_field

    def _settings_fault(self) -> str | None:
        if self.effort is None and self.model is None:
            return "either effort or model must be set"
        if self.model is not None and not is_text(self.model):
            return "model must be a non-empty text"
        if self.effort is not None and not _is_effort(self.effort):
            return f"effort must be one of {', '.join(EFFORTS)}, or pinned like 'fast@2026-10-16.0'"
        if self.max_tokens is not None and not is_positive_int(self.max_tokens):
            return f"max_tokens must be a positive whole number, not {self.max_tokens!r}"
        if self.search_recency is not None and self.search_recency not in RECENCIES:
            return f"search_recency must be one of {', '.join(RECENCIES)}"
        if self.effort_field not in ("effort", "preset"):
            return "effort_field must be 'effort' or 'preset'"
        return None

    def _request_body(self, request: WebSearchRequest) -> dict[str, Any]:
        tool = self._tool(request)
        body: dict[str, Any] = {
            "input": request.query,
            "tools": [tool],
            # Offering a tool does not make the model use it; an answer from memory is no search.
            "tool_choice": {"type": tool["type"]} if tool["type"] == "web_search" else "required",
        }
        if self.effort is not None:
            body[self.effort_field] = self.effort
        else:
            body["max_steps"] = STEPS_WITHOUT_EFFORT
        if self.model is not None:
            body["model"] = self.model
        if request.response_format is not None:
            body["response_format"] = json_schema_format(request.response_format)
        if self.max_tokens is not None:
            body["max_output_tokens"] = self.max_tokens
        if self.instructions is not None:
            body["instructions"] = self.instructions
        return body

    def _tool(self, request: WebSearchRequest) -> dict[str, Any]:
        kind = _TOOL_OF_MODE.get(request.mode or "web", "web_search")
        if kind != "web_search":
            return {"type": kind}
        tool: dict[str, Any] = {"type": kind}
        if self._is_fast():
            # Naming the tool replaces the preset's own, which searches in the fast (cheap) way.
            tool["search_type"] = "fast"
        filters = filter_fields(request)
        has_dates = request.published_after or request.published_before
        if self.search_recency and not request.recency and not has_dates:
            filters["search_recency_filter"] = self.search_recency
        if filters:
            tool["filters"] = filters
        if request.max_results is not None:
            tool["max_results"] = min(request.max_results, MOST_RESULTS)
        if request.context_size is not None:
            tool["search_context_size"] = request.context_size
        if request.country is not None:
            tool["user_location"] = {"country": request.country}
        for name in ("max_tokens_per_page", "max_tokens"):
            if getattr(request, name) is not None:
                tool[name] = getattr(request, name)
        return tool

    def _check_combinations(self, request: WebSearchRequest) -> None:
        super()._check_combinations(request)
        unsupported = self._beside_mode(request)
        if unsupported and request.on_unsupported == "raise":
            raise UnsupportedFilterError(
                f"{unsupported[0]}: leave it out, choose another provider, "
                'or set on_unsupported="warn"',
                provider=self.id,
            )

    def _beside_mode(self, request: WebSearchRequest) -> tuple[str, ...]:
        """Return a message per filter that is lost because the tool of the mode takes none."""
        if request.mode not in _TOOL_OF_MODE:
            return ()
        names = [name for name in set_filters(request) if name != "mode"]
        return tuple(
            f"{self.label} does not support the filter {name} with mode={request.mode}"
            for name in names
        )

    def _assembler(self) -> AgentAssembler:
        return AgentAssembler()

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        reader = Reader()
        status = reader.text(body.data, "status") or "completed"
        if status in ("failed", "cancelled", "queued", "in_progress"):
            raise self._failed_run(reader, body, status)
        items = list(reader.records(body.data, "output"))
        sources = SourceList(reader, merge_repeats=True)
        for item in items:
            add_sources(reader, sources, item)
        content = answer_text(reader, items)
        self.check_is_answer(body, reader, is_empty=content is None and not sources.found)
        warnings = tuple(f"{message}; it was left out" for message in self._beside_mode(request))
        warnings += sources.warnings()
        if status == "incomplete":
            warnings += (_incomplete_warning(reader, body.data),)
        if not any(item.get("type") in WEB_ITEMS for item in items):
            warnings += ("no web search was run: the answer comes from the model's memory",)
        return WebSearchResult(
            content=content,
            sources=sources.found,
            citations=read_citations(
                content,
                references_in(reader, items, sources),
                contract=CONTRACT,
                provider=self.id,
                annotations=annotations_of(reader, items),
            ),
            citation_contract=CONTRACT,
            provider=self.id,
            model=reader.text(body.data, "model"),
            request_id=reader.text(body.data, "id") or body.request_id,
            finish_reason={"completed": "stop", "incomplete": "length"}.get(status, status),
            usage=self._priced(reader, body.data),
            finance=finance_of(reader, items),
            images=read_images(reader, image_records(reader, items)),
            warnings=warnings,
        )

    def _priced(self, reader: Reader, data: dict[str, Any]) -> Usage | None:
        usage = usage_of(reader, data)
        if usage is None or usage.cost_usd is not None:
            return usage
        cost = agent_cost(
            reader.text(data, "model"),
            usage,
            is_fast=self._is_fast(),
            tool_calls=tool_calls_of(reader, data),
        )
        return with_estimate(usage, cost)

    def _is_fast(self) -> bool:
        return self.effort is not None and self.effort.partition("@")[0] == "fast"

    def estimated_cost(self, request: WebSearchRequest) -> float | None:
        """Return what an answer is likely to cost in US dollars, None if nobody measured it."""
        return effort_cost(self.effort) if self.model is None else None

    def _failed_run(self, reader: Reader, body: Body, status: str) -> ProviderError:
        message = message_of(body.data).message or f"the run ended with status {status!r}"
        if status in ("queued", "in_progress"):
            message = f"the run is not finished (status {status!r}): send it without background"
        return ProviderError(
            message, provider=self.id, status_code=body.status, request_id=body.request_id
        )


def _is_effort(effort: Any) -> bool:
    if not isinstance(effort, str):
        return False
    name, _, pin = effort.partition("@")
    return name in EFFORTS and ("@" not in effort or bool(re.fullmatch(r"[\w.\-]+", pin)))


def _incomplete_warning(reader: Reader, data: dict[str, Any]) -> str:
    reason = reader.text(reader.record(data, "incomplete_details"), "reason")
    if reason in (None, "max_output_tokens"):
        return "the answer was cut at the token limit"
    return f"the answer is incomplete: {reason}"
