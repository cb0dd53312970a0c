"""`WebToolSpec`: searching and reading the web as tools of LlamaIndex agents."""

# No `from __future__ import annotations` here: LlamaIndex reads the annotations of tool functions
# and does not resolve text.

import dataclasses
import re
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, Final, Literal, Unpack

from llama_index.core.base.llms.types import CitableBlock, ContentBlock, TextBlock
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec
from llama_index.core.tools.types import DefaultToolFnSchema

from dsh_web import InvalidRequestError, WebError, WebPage, WebRuntime, WebSearchResult
from dsh_web.pages.rendering import render_page
from dsh_web.render import DEFAULT_MAX_CHARS, render_search, search_excerpts
from dsh_web.tool_args import (
    read_queries,
    read_url,
    web_fetch_arguments,
    web_fetch_description,
    web_search_arguments,
    web_search_description,
)
from dsh_web.tool_failures import failure_data, failure_text

from .events import WebFetchEvent, WebSearchEvent, dispatcher
from .progress import Listeners, current_step
from .search_call import RuntimeHandle, SearchCall, SearchOptions

__all__ = ["WebToolSpec"]

SEARCH: Final = "web_search"
FETCH: Final = "web_fetch"
OUTPUT_SCHEMA: Final = 1
"""Version of the dict in `ToolOutput.raw_output`."""


class WebToolSpec(BaseToolSpec):
    """Give an agent the tools `web_search` and `web_fetch`, which share one runtime.

    The model is given text: of a search the answer, if there is one, and one line per source; of
    a page its Markdown. Beside it, in `ToolOutput.raw_output`, travels the structured result as a
    JSON-able dict: `schema` (1), `kind` (the tool's name), `queries` or `url`, `result` (a dumped
    `dsh_web.WebSearchResult` or `dsh_web.WebPage`) and `text_truncated`.

    The tools exist whether or not a provider is available. A failure is a `ToolOutput` with
    `is_error=True`: one sentence for the model, the `WebError` as `exception`, and in `raw_output`
    `schema`, `kind`, `error` (`code`, `message`, `retryable` and, where known, `retry_after` in
    seconds) and `result`, what was found before the failure. With `raise_errors=True` the tools
    raise the `WebError` instead, as the methods `web_search` and `web_fetch` always do; agents
    then show its message to the model.

    A page is data from strangers, and may try to talk to the model. `boundaries` marks where it
    begins and ends, which helps a model to tell the two apart and forces it to nothing.

    While a single query runs, what the provider does and finds is emitted as
    `WebSearchProgressEvent`s, if there is a handler. In an agent, or any other workflow step, the
    async tool also writes `WebSearchProgress` to the workflow's event stream.

    Args:
        runtime: Who searches and fetches. None: a runtime built from the environment at the first
            call.
        max_queries: Most queries per call; a runtime that allows fewer lowers it.
        max_results: Most sources per call, over all its queries; None: no bound.
        max_output_chars: Cap on the text of either tool in code points, blocks included; None: no
            cap.
        citation_blocks: `"citable"`: after the text of a search comes a `CitableBlock` for each
            source, which Anthropic's models cite natively. The text, which is all that a
            `ReActAgent` reads, then takes up half of `max_output_chars` at most. Only for LLM
            classes that know these blocks: OpenAI's, for one, fail on them, and a tool cannot know
            who calls it.
        main_content: Of an HTML page, keep the main part only.
        boundaries: Put a page between marks that it cannot forge.
        raise_errors: Let a failed tool call raise, for callers that catch.
        **options: Time limit, cancel token and filters; see `SearchOptions`. The filters are for
            searches alone.

    Raises:
        InvalidRequestError: A bound or a filter is out of range or of the wrong type.
    """

    spec_functions: ClassVar[list[SPEC_FUNCTION_TYPE]] = [  # type: ignore[misc]
        (SEARCH, f"a{SEARCH}"),
        (FETCH, f"a{FETCH}"),
    ]

    def __init__(
        self,
        runtime: WebRuntime | None = None,
        *,
        max_queries: int = 4,
        max_results: int | None = 8,
        max_output_chars: int | None = DEFAULT_MAX_CHARS,
        citation_blocks: Literal["none", "citable"] = "none",
        main_content: bool = False,
        boundaries: bool = False,
        raise_errors: bool = False,
        **options: Unpack[SearchOptions],
    ) -> None:
        if citation_blocks not in ("none", "citable"):
            raise InvalidRequestError(
                f'citation_blocks must be "none" or "citable", not {citation_blocks!r}'
            )
        if max_output_chars is not None and max_output_chars < 1:
            raise InvalidRequestError(f"max_output_chars must be 1 or more, not {max_output_chars}")
        if max_queries < 1:
            raise InvalidRequestError(f"max_queries must be 1 or more, not {max_queries!r}")
        # The schema must not promise more than the runtime takes.
        allowed = max_queries if runtime is None else runtime.max_queries
        self._max_queries = min(max_queries, allowed)
        self._max_output_chars = max_output_chars
        self._has_citable_blocks = citation_blocks == "citable"
        self._main_content = main_content
        self._boundaries = boundaries
        self._raise_errors = raise_errors
        handle = RuntimeHandle(runtime, max_queries=max_queries)
        self._call = SearchCall(handle, max_results, options)

    def web_search(self, /, queries: Any = None, **arguments: Any) -> ToolOutput:
        """Search the web; return exactly what the tool returns.

        Args:
            queries: One query or a list of them, also as JSON text.
            **arguments: What a model passed under other names; `query`, `input` and
                `search_query` stand in for `queries`.

        Returns:
            `content` (also `str()`) is the text for a model, `raw_output` the structured result.

        Raises:
            InvalidRequestError: There is no query, one too many, or one that is blank.
            WebError: The search failed.
        """
        asked = _asked("queries", queries, arguments)
        meant = read_queries(asked, self._max_queries)
        listeners, runtime = Listeners(), self._call.runtime
        if listeners and len(meant) == 1:
            search = runtime.stream(meant[0], **self._call.arguments)
            result = listeners.follow(meant[0], search)
        else:
            result = runtime.search_many(meant, **self._call.arguments)
        return self._search_output(asked, meant, result)

    async def aweb_search(self, /, queries: Any = None, **arguments: Any) -> ToolOutput:
        """Search the web; see `web_search`."""
        asked = _asked("queries", queries, arguments)
        meant = read_queries(asked, self._max_queries)
        listeners, runtime = Listeners(current_step()), self._call.runtime
        if listeners and len(meant) == 1:
            search = runtime.astream(meant[0], **self._call.arguments)
            result = await listeners.afollow(meant[0], search)
        else:
            result = await runtime.asearch_many(meant, **self._call.arguments)
        return self._search_output(asked, meant, result)

    def web_fetch(self, /, url: Any = None, **arguments: Any) -> ToolOutput:
        """Read one web page; return exactly what the tool returns.

        Args:
            url: The address, also as JSON text.
            **arguments: What a model passed under other names; `urls`, `uri`, `link` and `input`
                stand in for `url`.

        Returns:
            `content` (also `str()`) is the text for a model, `raw_output` the structured result.

        Raises:
            InvalidRequestError: There is no address.
            WebError: The page could not be read.
        """
        asked = _asked("url", url, arguments)
        meant = read_url(asked)
        page = self._call.runtime.read_page(
            meant, main_content=self._main_content, **self._call.limits
        )
        return self._page_output(asked, meant, page)

    async def aweb_fetch(self, /, url: Any = None, **arguments: Any) -> ToolOutput:
        """Read one web page; see `web_fetch`."""
        asked = _asked("url", url, arguments)
        meant = read_url(asked)
        page = await self._call.runtime.aread_page(
            meant, main_content=self._main_content, **self._call.limits
        )
        return self._page_output(asked, meant, page)

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """Return the tools.

        Args:
            spec_functions: Which functions become tools; default: all.
            func_to_metadata_mapping: Other names or descriptions, by function name. Metadata
                without a schema of its own keeps ours.
        """
        metadata = self._metadata()
        for name, given in (func_to_metadata_mapping or {}).items():
            is_default = name in metadata and given.fn_schema is DefaultToolFnSchema
            schema = metadata[name].fn_schema if is_default else given.fn_schema
            metadata[name] = dataclasses.replace(given, fn_schema=schema)
        return [self._structured(tool) for tool in super().to_tool_list(spec_functions, metadata)]

    def _metadata(self) -> dict[str, ToolMetadata]:
        """Return the metadata of our tools by the name of either function."""
        search = ToolMetadata(
            name=SEARCH,
            description=web_search_description(self._max_queries),
            fn_schema=web_search_arguments(self._max_queries),
        )
        fetch = ToolMetadata(
            name=FETCH,
            description=web_fetch_description(),
            fn_schema=web_fetch_arguments(),
        )
        return {SEARCH: search, f"a{SEARCH}": search, FETCH: fetch, f"a{FETCH}": fetch}

    def _structured(self, tool: FunctionTool) -> FunctionTool:
        """Return a tool whose output is ours as it is; a subclass's further tools stay theirs."""
        for name in (SEARCH, FETCH):
            if tool.real_fn in (getattr(self, name), getattr(self, f"a{name}")):
                # Left to itself, FunctionTool would turn a ToolOutput into text and drop its
                # structure.
                return FunctionTool(
                    fn=partial(self._run_tool, name),
                    async_fn=partial(self._arun_tool, name),
                    metadata=tool.metadata,
                    callback=partial(_named, tool.metadata.get_name()),
                    async_callback=partial(_anamed, tool.metadata.get_name()),
                )
        return tool

    def _run_tool(self, name: str, /, *positional: Any, **arguments: Any) -> ToolOutput:
        _refuse_repeatable(name, positional)
        try:
            output: ToolOutput = getattr(self, name)(*positional, **arguments)
        except WebError as error:
            if self._raise_errors:
                raise
            return _failed(name, arguments, error)
        return output

    async def _arun_tool(self, name: str, /, *positional: Any, **arguments: Any) -> ToolOutput:
        _refuse_repeatable(name, positional)
        try:
            output: ToolOutput = await getattr(self, f"a{name}")(*positional, **arguments)
        except WebError as error:
            if self._raise_errors:
                raise
            return _failed(name, arguments, error)
        return output

    def _search_output(
        self, asked: dict[str, Any], queries: tuple[str, ...], result: WebSearchResult
    ) -> ToolOutput:
        dispatcher.event(WebSearchEvent.of(queries, result))
        blocks, is_cut = self._blocks(result)
        told = {
            "queries": list(queries),
            "result": result.model_dump(mode="json", exclude={"raw"}),
            "text_truncated": is_cut,
        }
        return _output(SEARCH, asked, blocks, told)

    def _page_output(self, asked: dict[str, Any], url: str, page: WebPage) -> ToolOutput:
        dispatcher.event(WebFetchEvent.of(page))
        shown = render_page(page, self._max_output_chars, boundaries=self._boundaries)
        told = {
            "url": url,
            "result": page.model_dump(mode="json"),
            "text_truncated": shown.is_cut,
        }
        return _output(FETCH, asked, [TextBlock(text=shown.text)], told)

    def _blocks(self, result: WebSearchResult) -> tuple[list[ContentBlock], bool]:
        """Return what the model is shown, and whether it was cut."""
        cap = self._max_output_chars
        if not self._has_citable_blocks:
            shown = render_search(result, cap)
            return [TextBlock(text=shown.text)], shown.is_cut
        shown = render_search(result, None if cap is None else (cap + 1) // 2)
        left = None if cap is None else cap - len(shown.text)
        excerpts = search_excerpts(result, left, include_answer=False)
        citable = (
            CitableBlock(
                title=excerpt.title, source=excerpt.url, content=[TextBlock(text=excerpt.text)]
            )
            for excerpt in excerpts.sources
        )
        return [TextBlock(text=shown.text), *citable], shown.is_cut or excerpts.is_cut


def _output(
    name: str, asked: dict[str, Any], blocks: list[ContentBlock], told: dict[str, Any]
) -> ToolOutput:
    return ToolOutput(
        tool_name=name,
        blocks=blocks,
        raw_input={"args": [], "kwargs": asked},
        raw_output={"schema": OUTPUT_SCHEMA, "kind": name, **told},
    )


def _failed(name: str, asked: dict[str, Any], error: WebError) -> ToolOutput:
    return ToolOutput(
        tool_name=name,
        content=failure_text(name, error),
        raw_input={"args": [], "kwargs": asked},
        raw_output={"schema": OUTPUT_SCHEMA, "kind": name, **failure_data(error)},
        is_error=True,
        exception=error,
    )


def _asked(name: str, value: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments if value is None else {name: value, **arguments}


def _named(name: str, output: ToolOutput) -> ToolOutput:
    return output.model_copy(update={"tool_name": name})


async def _anamed(name: str, output: ToolOutput) -> ToolOutput:
    return _named(name, output)


def _refuse_repeatable(name: str, positional: tuple[Any, ...]) -> None:
    """Refuse a call by position where LlamaIndex would repeat it by name after any failure.

    `call_tool` did so before 0.14.25, and a failed search may have cost money. Refused, the first
    try costs nothing and the second one counts. Everyone else passes arguments by name anyway.
    """
    if positional and _CALL_TOOL_REPEATS:
        example = {SEARCH: 'queries=["..."]', FETCH: 'url="..."'}[name]
        raise TypeError(f"{name} takes its arguments by name: {example}")


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


_CALL_TOOL_REPEATS: Final = _release(version("llama-index-core")) < (0, 14, 25)
