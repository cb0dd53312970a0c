"""`WebSearchTool`: the tool `web_search` for agents."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, TypeAlias

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from pydantic import BaseModel, model_validator

from dsh_web import WebRuntime, WebSearchResult
from dsh_web.render import render_search, search_excerpts
from dsh_web.tool_args import read_queries, web_search_arguments, web_search_description

from .blocks import search_result_blocks
from .events import search_event
from .listeners import Listeners
from .rate_limits import await_turns, wait_for_turns
from .settings import Count, SearchSettings
from .tools import WebTool

__all__ = ["WebSearchTool"]

Content: TypeAlias = str | list[dict[str, Any]]
"""Text, or content blocks."""


class WebSearchTool(SearchSettings, WebTool):
    """Searches the web for an agent: text with sources for the model, data for the program.

        agent = create_agent(model, tools=[WebSearchTool(max_results=8, recency="month")])

    The model passes `queries`, nothing else; slips such as one text, JSON as text or another
    usual name for the argument are understood. Everything else is set here, by the developer.

    A call with a `ToolCall` returns a `ToolMessage`. Its `artifact` is a plain JSON-able dict,
    safe in any checkpointer:

        {"schema": 1, "kind": "web_search", "queries": [...], "result": {...},
         "text_truncated": False}

    `result` is the whole `dsh_web.WebSearchResult`, citation records included;
    `WebSearchResult.model_validate` reads it back.
    Usage, warnings and request ids also go to listeners, as the custom event `dsh_web.search`;
    while a single query runs, `dsh_web.progress` tells them what the provider does and finds.

    A failed search becomes a `ToolMessage` with `status="error"`, which the agent can answer to.
    Its artifact is `{"schema": 1, "kind": "web_search", "error": {...}, "result": ...}`: `error`
    holds `code`, `message`, `retryable` and, where known, `retry_after` (seconds), `status_code`,
    `provider` and `request_id`; `result` what was found before the failure, else None.
    With `handle_tool_error=False` the tool raises `WebToolException` instead, for middleware that
    retries or routes: a handled error is invisible to it. See `is_retryable`. Cancelling the task
    is `asyncio.CancelledError` either way.

    Not LangChain-serializable (no `BaseTool` is); pickle and deep copy work, see `SearchSettings`.
    """

    _kind: ClassVar[str] = "web_search"

    name: str = "web_search"
    max_queries: Count = 4
    """Most queries in one call; they run at the same time."""
    max_results: Count = 8
    """Most sources in one call, over all its queries."""
    citation_blocks: Literal["none", "search_result"] = "none"
    """`search_result`: where there are sources, the content is a list of blocks that Anthropic's
    models cite natively, the answer as a text block before them. Only for chat models that know
    these blocks (Anthropic, Bedrock Converse): others fail or show the model raw data, and a tool
    cannot know who calls it. The artifact is the same."""
    include_raw: bool = False
    """Keep the provider's body in the artifact, under `result.raw`."""

    def _own_schema(self) -> type[BaseModel]:
        return web_search_arguments(self.max_queries)

    def _own_description(self) -> str:
        return web_search_description(self.max_queries)

    @model_validator(mode="after")
    def _runtime_takes_as_many_queries(self) -> Self:
        if self.runtime is not None and self.max_queries > self.runtime.max_queries:
            raise ValueError(
                f"max_queries is {self.max_queries}, but the runtime takes only "
                f"{self.runtime.max_queries}: build it with "
                f"WebRuntime(max_queries={self.max_queries})"
            )
        return self

    # `self` and `text` are positional only: a model may invent an argument with any name.

    def _run(
        self,
        text: str | None = None,
        /,
        *,
        run_manager: CallbackManagerForToolRun | None = None,
        **arguments: Any,
    ) -> tuple[Content, dict[str, Any]]:
        queries = self._queries(text, arguments)
        listeners = Listeners(run_manager)
        with self._failures_told():
            runtime = self._used_runtime()
            wait_for_turns(self.rate_limiter, len(queries), self.cancel)
            if self._is_streamed(queries, listeners):
                search = runtime.stream(queries[0], **self._search_options())
                result = listeners.follow(search, include_text=self.stream_text)
            else:
                result = runtime.search_many(queries, **self._search_options())
        if listeners:
            listeners.tell(search_event(result))
        return self._output(queries, result)

    async def _arun(
        self,
        text: str | None = None,
        /,
        *,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
        **arguments: Any,
    ) -> tuple[Content, dict[str, Any]]:
        queries = self._queries(text, arguments)
        listeners = Listeners(run_manager)
        with self._failures_told():
            runtime = self._used_runtime()
            await await_turns(self.rate_limiter, len(queries), self.cancel)
            if self._is_streamed(queries, listeners):
                search = runtime.astream(queries[0], **self._search_options())
                result = await listeners.afollow(search, include_text=self.stream_text)
            else:
                result = await runtime.asearch_many(queries, **self._search_options())
        if listeners:
            await listeners.atell(search_event(result))
        return self._output(queries, result)

    def _is_streamed(self, queries: tuple[str, ...], listeners: Listeners) -> bool:
        # A stream is put together to the body it stands for; `include_raw` promises the real one.
        return len(queries) == 1 and not self.include_raw and bool(listeners)

    def _queries(self, text: str | None, arguments: dict[str, Any]) -> tuple[str, ...]:
        given = arguments if text is None else {"queries": text}
        return self._read(lambda asked: read_queries(asked, self.max_queries), given)

    def _search_options(self) -> dict[str, Any]:
        return {
            **self._search_fields(),
            **self._call_options(),
            "max_results": self.max_results,
            "include_raw": self.include_raw,
            "cancel": self.cancel,
        }

    def _output(
        self, queries: tuple[str, ...], result: WebSearchResult
    ) -> tuple[Content, dict[str, Any]]:
        content, is_cut = self._content(result)
        excluded = set() if self.include_raw else {"raw"}
        artifact = {
            "schema": self.artifact_schema,
            "kind": self._kind,
            "queries": list(queries),
            "result": result.model_dump(mode="json", exclude=excluded),
            "text_truncated": is_cut,
        }
        return content, artifact

    def _content(self, result: WebSearchResult) -> tuple[Content, bool]:
        """Return what the model is shown, and whether it was cut."""
        if self.citation_blocks == "search_result":
            excerpts = search_excerpts(result, self.max_output_chars)
            # Without a source there is nothing to cite, and no block that could say so.
            if excerpts.sources:
                return search_result_blocks(excerpts), excerpts.is_cut
        shown = render_search(result, self.max_output_chars)
        return shown.text, shown.is_cut

    def _runtime_from_env(self) -> WebRuntime:
        return WebRuntime.from_env(max_queries=self.max_queries)
