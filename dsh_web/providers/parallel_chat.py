"""`parallel-chat`: an answer with the pages that it rests on, from Parallel's Chat API.

Wire: https://docs.parallel.ai/chat-api/chat-quickstart and the API reference (2026-11). The shape
is OpenAI's; what Parallel adds is `basis` and `interaction_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from ..citations import read_citations
from ..prices import parallel_chat_cost
from ..seam import Usage, WebSearchRequest, WebSearchResult
from ._chat_completion import content_of, first_choice
from ._parallel import ParallelProvider, vendor_warnings
from ._parallel_basis import CONTRACT, Basis
from ._parallel_stream import ParallelChatAssembler
from ._shape import Reader
from ._vendor import ApiKey, Body, is_text, wrapped
from ._vendor_fields import json_schema_format, with_estimate
from ._vendor_stream import StreamingProvider

__all__ = ["ParallelChatProvider"]

ChatModel: TypeAlias = Literal["speed", "lite", "base", "core"]
MODELS: tuple[str, ...] = get_args(ChatModel)


class ParallelChatProvider(ParallelProvider, StreamingProvider):
    """The answer of one of Parallel's chat models, with the pages that it rests on.

    The answer holds no citation markers. Parallel says for the answer as a whole which pages
    support it; each of them becomes a source and a citation of the whole text, without a marker.
    A page that Parallel is less than sure of (`medium`, `low`) is cited with low confidence. The
    API takes no filters.

    Args:
        model: `speed` (seconds, but no sources and no `response_format`), `lite` (10 to 60 s),
            `base` (15 to 100 s) or `core` (1 to 5 minutes). Default `base`: the least that Parallel
            names for facts rather than simple look-ups, and it ends within a call's usual time.
        instructions: System message.
        api_key, base_url, max_retries, extra_body: See `ParallelProvider`.
    """

    id: ClassVar[str] = "parallel-chat"
    path: ClassVar[str] = "/v1beta/chat/completions"

    def __init__(
        self,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        model: ChatModel = "base",
        instructions: str | None = None,
        max_retries: int = 2,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        api_key = wrapped(api_key)
        super().__init__(
            api_key=api_key, base_url=base_url, max_retries=max_retries, extra_body=extra_body
        )
        self.model = model
        self.instructions = instructions

    @property
    def supports_response_format(self) -> bool:
        """Whether the model follows a schema: `speed` silently does not."""
        return self.model != "speed"

    def _settings_fault(self) -> str | None:
        if self.model not in MODELS:
            return f"model must be one of {', '.join(MODELS)}, not {self.model!r}"
        if self.instructions is not None and not is_text(self.instructions):
            return "instructions must be a non-empty text"
        return None

    def _request_body(self, request: WebSearchRequest) -> dict[str, Any]:
        messages = [{"role": "user", "content": request.query}]
        if self.instructions is not None:
            messages.insert(0, {"role": "system", "content": self.instructions})
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if request.response_format is not None:
            body["response_format"] = json_schema_format(request.response_format)
        return body

    def estimated_cost(self, request: WebSearchRequest) -> float | None:
        """Return the price of the request in US dollars; the API reports none itself."""
        return parallel_chat_cost(self.model)

    def _assembler(self) -> ParallelChatAssembler:
        return ParallelChatAssembler()

    def _search_result(self, body: Body, request: WebSearchRequest) -> WebSearchResult:
        reader = Reader()
        choice = first_choice(reader, body.data)
        content = content_of(reader, reader.record(choice, "message"))
        basis = Basis(reader, body.data)
        found = basis.sources.found
        self.check_is_answer(body, reader, is_empty=content is None and not found)
        warnings = vendor_warnings(reader, body.data) + basis.sources.warnings()
        if not found:
            warnings += ("the answer names no source: nothing shows what it rests on",)
        # Blank in every known answer; whatever else names the call is better than nothing.
        names = (reader.text(body.data, name) for name in ("id", "interaction_id"))
        return WebSearchResult(
            content=content,
            sources=found,
            citations=read_citations(
                content,
                basis.references(),
                contract=CONTRACT,
                provider=self.id,
                annotations=[*basis.annotations(content)],
            ),
            citation_contract=CONTRACT,
            provider=self.id,
            model=reader.text(body.data, "model") or None,
            request_id=next(filter(None, names), None) or body.request_id,
            finish_reason=reader.text(choice, "finish_reason") or None,
            usage=with_estimate(Usage(), self.estimated_cost(request)),
            warnings=warnings,
        )
