"""`WebAnswerQueryEngine`: the provider's own answer, wherever LlamaIndex takes a query engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Final, Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle

from dsh_web import ProviderError, WebRuntime, WebSearchResult

from .citations import answer_response
from .events import WebSearchEvent, dispatcher
from .nodes import search_nodes
from .progress import Listeners, result_of
from .query_text import query_text
from .search_call import RuntimeHandle, SearchCall, SearchOptions

__all__ = ["WebAnswerQueryEngine"]

DEFAULT_MAX_RESULTS: Final = 8


class WebAnswerQueryEngine(BaseQueryEngine):
    """Answer a question with what the search provider itself wrote, its sources as nodes.

    No LLM of yours is involved. In the response, `[n]` stands for `source_nodes[n - 1]`, as in
    LlamaIndex's `CitationQueryEngine`; `metadata["result"]` is the whole `dsh_web.WebSearchResult`
    as plain data, with the provider's own markers and its records.

    With `streaming=True` the response yields the answer as it arrives, its markers as the provider
    writes them. At its end `source_nodes` and `metadata` are filled in, and `metadata["answer"]`
    holds the text that `str(response)` has without streaming. Closing `response_gen` early closes
    the connection.

    Its errors are `dsh_web.WebError`s, never an empty answer. Each finished search is told as a
    `WebSearchEvent`. Safe to share between threads and event loops.

    Args:
        runtime: Who answers. None: a runtime built from the environment at the first call.
        max_results: Most sources, 1 or more; None: no bound. A page that the answer cites keeps its
            node in any case.
        cited_only: Only the nodes that the answer cites, in order of first use.
        score_from_rank: Score 1/rank, rank from 1; False: every score is None.
        streaming: Return a `StreamingResponse`; from `aquery` an `AsyncStreamingResponse`.
        callback_manager: LlamaIndex's own.
        **options: Time limit, cancel token and filters; see `SearchOptions`.

    Raises:
        InvalidRequestError: A bound or a filter is out of range or of the wrong type.
    """

    def __init__(
        self,
        *,
        runtime: WebRuntime | None = None,
        max_results: int | None = DEFAULT_MAX_RESULTS,
        cited_only: bool = False,
        score_from_rank: bool = True,
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self._call = SearchCall(RuntimeHandle(runtime), max_results, options)
        self._cited_only = cited_only
        self._score_from_rank = score_from_rank
        self._streaming = streaming

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the sources of the answer as nodes, without the answer."""
        return self._nodes(self._searched(query_bundle))

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the sources of the answer as nodes; see `retrieve`."""
        return self._nodes(await self._asearched(query_bundle))

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if self._streaming:
            return self._streamed(query_text(query_bundle))
        return self._response(self._searched(query_bundle))

    @dispatcher.span
    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if self._streaming:
            return self._astreamed(query_text(query_bundle))
        return self._response(await self._asearched(query_bundle))

    def _searched(self, query_bundle: QueryBundle) -> WebSearchResult:
        query, runtime, listeners = query_text(query_bundle), self._call.runtime, Listeners()
        if listeners:
            result = listeners.follow(query, runtime.stream(query, **self._call.arguments))
        else:
            result = runtime.search(query, **self._call.arguments)
        return self._told(query, result)

    async def _asearched(self, query_bundle: QueryBundle) -> WebSearchResult:
        query, runtime, listeners = query_text(query_bundle), self._call.runtime, Listeners()
        if listeners:
            search = runtime.astream(query, **self._call.arguments)
            result = await listeners.afollow(query, search)
        else:
            result = await runtime.asearch(query, **self._call.arguments)
        return self._told(query, result)

    def _streamed(self, query: str) -> StreamingResponse:
        def pieces() -> Generator[str, None, None]:
            with self._call.runtime.stream(query, **self._call.arguments) as search:
                for event in search:
                    if event.kind == "text":
                        yield event.text
            self._fill(response, self._told(query, result_of(search)))

        response = StreamingResponse(response_gen=pieces())
        return response

    def _astreamed(self, query: str) -> AsyncStreamingResponse:
        async def pieces() -> AsyncGenerator[str, None]:
            async with self._call.runtime.astream(query, **self._call.arguments) as search:
                async for event in search:
                    if event.kind == "text":
                        yield event.text
            self._fill(response, self._told(query, result_of(search)))

        response = AsyncStreamingResponse(response_gen=pieces())
        return response

    def _fill(
        self, response: StreamingResponse | AsyncStreamingResponse, result: WebSearchResult
    ) -> None:
        whole = self._response(result)
        # In place: whoever holds the list has the nodes now.
        response.source_nodes[:] = whole.source_nodes
        response.metadata = {**(whole.metadata or {}), "answer": whole.response}

    def _told(self, query: str, result: WebSearchResult) -> WebSearchResult:
        dispatcher.event(WebSearchEvent.of([query], result))
        return result

    def _response(self, result: WebSearchResult) -> Response:
        if result.content is None:
            raise ProviderError(
                f"the provider {result.provider!r} gave sources but no answer: use one that writes "
                "answers, such as 'perplexity', or a WebSearchRetriever in a RetrieverQueryEngine "
                "with an LLM of yours",
                provider=result.provider,
                request_id=result.request_id,
            )
        return answer_response(
            result, cited_only=self._cited_only, score_from_rank=self._score_from_rank
        )

    def _nodes(self, result: WebSearchResult) -> list[NodeWithScore]:
        return search_nodes(
            result, include_answer=False, score_from_rank=self._score_from_rank, pages=None
        )
