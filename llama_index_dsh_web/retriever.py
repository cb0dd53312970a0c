"""`WebSearchRetriever`: web search wherever LlamaIndex takes a retriever."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, Literal, Self, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from dsh_web import InvalidRequestError, WebError, WebPage, WebRuntime, WebSearchResult
from dsh_web.page_content import DEFAULT_PAGE_CONCURRENCY, SourcePages

from .events import WebSearchEvent, dispatcher
from .nodes import search_nodes
from .progress import Listeners
from .query_text import query_text
from .search_call import RuntimeHandle, SearchCall, SearchOptions

__all__ = ["WebSearchRetriever"]

DEFAULT_K: Final = 8


class WebSearchRetriever(BaseRetriever):
    """Retrieve web pages as nodes.

    A node's text is the provider's snippet, its id is stable for url and text, and its metadata
    holds `url`, `source` (the same), `provider`, `chunk_id` and, where known, `title`,
    `published_at` and `updated_at`. What concerns the whole result, such as its cost, is emitted
    as a `WebSearchEvent`, and what the provider does meanwhile as `WebSearchProgressEvent`s.

    With `content="page"` the text of a node is the whole page as Markdown, read through the
    runtime's fetch provider, a few pages at the same time. A page that cannot be read, or is not
    there in time, leaves its node the snippet. `metadata["content"]` says which it is, and each
    such page adds a warning to the `WebSearchEvent`.

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
        content: What the text of a node is: `"snippet"`; `"page"`; or `"excerpt"`, for a node of
            each excerpt that the provider gives of a page, at most `k` in all. The time limit holds
            for the search and its pages together.
        main_content: Of a page, keep the main part only, without menus, footers and the like.
        max_page_chars: Cap on the text of a page in code points; None: the fetch provider's own
            limits.
        page_concurrency: Most pages that one call reads at the same time.
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
        content: Literal["snippet", "page", "excerpt"] = "snippet",
        main_content: bool = False,
        max_page_chars: int | None = None,
        page_concurrency: int = DEFAULT_PAGE_CONCURRENCY,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        settings = {
            "k": k,
            "include_answer": include_answer,
            "score_from_rank": score_from_rank,
            "content": content,
            "main_content": main_content,
            "max_page_chars": max_page_chars,
            "page_concurrency": page_concurrency,
        }
        self._configure(RuntimeHandle(runtime), settings, options)

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
        settings = {name: changes.pop(name, value) for name, value in self._settings.items()}
        changed._configure(handle, settings, {**self._call.options, **changes})
        return changed

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_text(query_bundle)
        listeners, runtime = Listeners(), self._ready_runtime()
        left, pages = self._call.time_left(), None
        if listeners:
            search = runtime.stream(query, **self._call.arguments)
            result = listeners.follow(query, search)
        else:
            result = runtime.search(query, **self._call.arguments)
        if self._pages is not None:
            result, pages = self._pages.read(
                runtime, result, cancel=self._call.cancel, timeout=left()
            )
        return self._nodes(query, result, pages)

    @dispatcher.span
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_text(query_bundle)
        listeners, runtime = Listeners(), self._ready_runtime()
        left, pages = self._call.time_left(), None
        if listeners:
            search = runtime.astream(query, **self._call.arguments)
            result = await listeners.afollow(query, search)
        else:
            result = await runtime.asearch(query, **self._call.arguments)
        if self._pages is not None:
            result, pages = await self._pages.aread(
                runtime, result, cancel=self._call.cancel, timeout=left()
            )
        return self._nodes(query, result, pages)

    def _ready_runtime(self) -> WebRuntime:
        """Return the runtime, if it can do everything that the call will ask of it.

        Raises:
            WebError: It has no provider for pages. Better before a search that may cost money
                than after it.
        """
        runtime = self._call.runtime
        if self._pages is not None:
            self._pages.reader_id(runtime)
        return runtime

    def _nodes(
        self, query: str, result: WebSearchResult, pages: Mapping[str, WebPage | WebError] | None
    ) -> list[NodeWithScore]:
        dispatcher.event(WebSearchEvent.of([query], result))
        return search_nodes(
            result,
            include_answer=self._settings["include_answer"],
            score_from_rank=self._settings["score_from_rank"],
            pages=pages,
            by_excerpt=self._settings["content"] == "excerpt",
            most=self._settings["k"],
        )

    def _configure(
        self, handle: RuntimeHandle, settings: dict[str, Any], options: Mapping[str, Any]
    ) -> None:
        k, content = settings["k"], settings["content"]
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidRequestError(f"k must be a whole number of 1 or more, not {k!r}")
        if content not in ("snippet", "page", "excerpt"):
            raise InvalidRequestError(
                f'content must be "snippet", "page" or "excerpt", not {content!r}'
            )
        pages = SourcePages(
            settings["main_content"], settings["max_page_chars"], settings["page_concurrency"]
        )
        self._call = SearchCall(handle, k, options)
        self._settings = settings
        self._pages = pages if content == "page" else None
