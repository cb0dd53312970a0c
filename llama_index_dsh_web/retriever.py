"""`WebSearchRetriever`: web search wherever LlamaIndex takes a retriever."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, Final, Self, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from dsh_web import InvalidRequestError, WebRuntime, WebSearchResult

from .events import WebSearchEvent, dispatcher
from .nodes import search_nodes
from .progress import Listeners
from .search_call import RuntimeHandle, SearchCall, SearchOptions

__all__ = ["WebSearchRetriever"]

DEFAULT_K: Final = 8


class WebSearchRetriever(BaseRetriever):
    """Retrieve web pages as nodes.

    A node's text is the provider's snippet, its id is stable for url and text, and its metadata
    holds `url`, `source` (the same), `provider`, `chunk_id` and, where known, `title`,
    `published_at` and `updated_at`. What concerns the whole result, such as its cost, is emitted
    as a `WebSearchEvent`, and what the provider does meanwhile as `WebSearchProgressEvent`s.

    `retrieve` takes no options per call in LlamaIndex; use `with_options` for that. For an agent
    take `WebToolSpec`: LlamaIndex's own `RetrieverTool` may repeat a failed, perhaps paid, call.
    Safe to share between threads and event loops. It can be copied and pickled; a pickle holds no
    key.

    Args:
        runtime: Who searches. None: a runtime built from the environment at the first call.
        k: Most sources per query, 1 or more; the answer does not count.
        include_answer: Put the provider's answer first, as a node marked `kind: "answer"`, which
            carries its citation records; see `llama_index_dsh_web.citations`.
        score_from_rank: Score 1/rank, rank from 1. It says nothing but the order; fusion and
            post-processors need a number. False: every score is None.
        callback_manager: LlamaIndex's own.
        verbose: LlamaIndex's own.
        **options: Time limit, cancel token and filters; see `SearchOptions`.

    Raises:
        InvalidRequestError: `k` or a filter is out of range or of the wrong type.
    """

    def __init__(
        self,
        *,
        runtime: WebRuntime | None = None,
        k: int = DEFAULT_K,
        include_answer: bool = False,
        score_from_rank: bool = True,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._configure(RuntimeHandle(runtime), k, include_answer, score_from_rank, options)

    def with_options(self, **changes: Any) -> Self:
        """Return a copy with `changes`, which are arguments of the constructor.

        The copy shares the runtime, and with it the connections, unless `runtime` is changed.

        Raises:
            TypeError: A name is not one of the constructor's.
            InvalidRequestError: A value is out of range or of the wrong type.
        """
        changed = copy.copy(self)
        if "runtime" in changes:
            handle = RuntimeHandle(changes.pop("runtime"))
        else:
            handle = self._call.handle
        if "callback_manager" in changes:
            changed.callback_manager = changes.pop("callback_manager") or CallbackManager()
        changed._verbose = changes.pop("verbose", self._verbose)
        changed._configure(
            handle,
            changes.pop("k", self._call.max_results),
            changes.pop("include_answer", self._include_answer),
            changes.pop("score_from_rank", self._score_from_rank),
            {**self._call.options, **changes},
        )
        return changed

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = _query_text(query_bundle)
        listeners, runtime = Listeners(), self._call.runtime
        if listeners:
            search = runtime.stream(query, **self._call.arguments)
            result = listeners.follow(query, search)
        else:
            result = runtime.search(query, **self._call.arguments)
        return self._nodes(query, result)

    @dispatcher.span
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = _query_text(query_bundle)
        listeners, runtime = Listeners(), self._call.runtime
        if listeners:
            search = runtime.astream(query, **self._call.arguments)
            result = await listeners.afollow(query, search)
        else:
            result = await runtime.asearch(query, **self._call.arguments)
        return self._nodes(query, result)

    def _nodes(self, query: str, result: WebSearchResult) -> list[NodeWithScore]:
        dispatcher.event(WebSearchEvent.of([query], result))
        return search_nodes(
            result,
            include_answer=self._include_answer,
            score_from_rank=self._score_from_rank,
        )

    def _configure(
        self,
        handle: RuntimeHandle,
        k: Any,
        include_answer: bool,
        score_from_rank: bool,
        options: Mapping[str, Any],
    ) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidRequestError(f"k must be a whole number of 1 or more, not {k!r}")
        self._call = SearchCall(handle, k, options)
        self._include_answer = include_answer
        self._score_from_rank = score_from_rank


def _query_text(query_bundle: QueryBundle) -> str:
    """Return the query without what LlamaIndex's `RetrieverTool` wraps around it."""
    text = query_bundle.query_str
    framed = _TOOL_FRAME.fullmatch(text)
    return (framed.group(1) if framed else text).strip()


_TOOL_FRAME = re.compile(r"\ninput is (.*)\n", re.DOTALL)
"""An agent's `input="tides"` arrives as this. Without the line breaks it is a person's query."""
