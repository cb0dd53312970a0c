"""`WebSearchRetriever`: the web as a source of documents for chains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict

from dsh_web import (
    CancelToken,
    InvalidRequestError,
    WebError,
    WebPage,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web.page_content import DEFAULT_PAGE_CONCURRENCY, SourcePages, time_left

from .documents import to_documents
from .events import search_event
from .listeners import Listeners
from .rate_limits import await_turns, wait_for_turns
from .settings import Count, SearchSettings

__all__ = ["WebSearchRetriever"]


class SearchTraceParams(LangSmithRetrieverParams, total=False):
    """What a trace of this retriever is labelled with."""

    ls_provider: str
    """Id of the pinned provider; absent when the choice is made call by call."""


class WebSearchRetriever(SearchSettings, BaseRetriever):
    """Searches the web and returns passages as documents, best first.

        retriever = WebSearchRetriever(k=5, recency="month", include_domains=["nature.com"])
        documents = retriever.invoke("coral bleaching")
        documents = await retriever.ainvoke("coral bleaching", k=3)

    `invoke`, `ainvoke`, `batch`, `abatch` and `bind` take two arguments besides the query: `k`
    overrides the bound for one call, `cancel` (a `dsh_web.CancelToken`) stops it from any thread.
    Any other name is a `TypeError`, and an unknown constructor argument a `ValidationError`.

    With `content="page"` the text of a document is the whole page as Markdown, read through the
    runtime's fetch provider, a few pages at the same time. A page that cannot be read, or is not
    there in time, leaves its document the snippet. `metadata["content"]` says which it is, and
    each such page adds a warning to the event below.

    Usage, cost, warnings and request ids are not in the documents (they would defeat
    de-duplication); listeners receive them as the custom event `dsh_web.search`, and before it
    `dsh_web.progress` about what the provider does and finds.

    Not LangChain-serializable: the runtime may hold providers and clients that a dump could only
    leave out, and what is loaded again would search in another way without saying so. Pickle
    keeps the registrations; see `SearchSettings`.

    Raises:
        WebError: Every failure of a call, unchanged; `code` says which.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    k: Count = 5
    """Most documents per call, 1 or more; the answer document does not count."""
    include_answer: bool = False
    """Put the provider's answer, if it gives one, first: a document marked `kind: "answer"`,
    which carries its citation records; see `langchain_dsh_web.citations`."""
    content: Literal["snippet", "page", "excerpt"] = "snippet"
    """What the text of a document is. `excerpt`: a document for each excerpt that the provider
    gives of a page, at most `k` in all. With `page`, `timeout` holds for the search and its pages
    together."""
    main_content: bool = False
    """Of a page, keep the main part only, without menus, footers and the like."""
    max_page_chars: Count | None = None
    """Cap on the text of a page in code points; None: the fetch provider's own limits."""
    page_concurrency: Count = DEFAULT_PAGE_CONCURRENCY
    """Most pages that one call reads at the same time."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Document]:
        request = self._request(query, k)
        runtime = self._ready_runtime()
        wait_for_turns(self.rate_limiter, 1, cancel)
        listeners, left, pages = Listeners(run_manager), self._time_left(runtime), None
        if listeners:
            search = runtime.stream(request, cancel=cancel, **self._call_options())
            result = listeners.follow(search, include_text=self.stream_text)
        else:
            result = runtime.search(request, cancel=cancel, **self._call_options())
        if self.content == "page":
            result, pages = self._pages().read(runtime, result, cancel=cancel, timeout=left())
        if listeners:
            listeners.tell(search_event(result))
        return self._documents(result, request.max_results, pages)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Document]:
        request = self._request(query, k)
        runtime = self._ready_runtime()
        await await_turns(self.rate_limiter, 1, cancel)
        listeners, left, pages = Listeners(run_manager), self._time_left(runtime), None
        if listeners:
            search = runtime.astream(request, cancel=cancel, **self._call_options())
            result = await listeners.afollow(search, include_text=self.stream_text)
        else:
            result = await runtime.asearch(request, cancel=cancel, **self._call_options())
        if self.content == "page":
            reading = self._pages().aread(runtime, result, cancel=cancel, timeout=left())
            result, pages = await reading
        if listeners:
            await listeners.atell(search_event(result))
        return self._documents(result, request.max_results, pages)

    def _documents(
        self,
        result: WebSearchResult,
        most: int | None,
        pages: Mapping[str, WebPage | WebError] | None,
    ) -> list[Document]:
        return to_documents(
            result,
            include_answer=self.include_answer,
            pages=pages,
            by_excerpt=self.content == "excerpt",
            most=most,
        )

    def _ready_runtime(self) -> WebRuntime:
        """Return the runtime, if it can do everything that the call will ask of it.

        Raises:
            WebError: It has no provider for pages. Better before a search that may cost money
                than after it.
        """
        runtime = self._used_runtime()
        if self.content == "page":
            self._pages().reader_id(runtime)
        return runtime

    def _time_left(self, runtime: WebRuntime) -> Callable[[], float | None]:
        return time_left(runtime.timeout if self.timeout is None else self.timeout)

    def _pages(self) -> SourcePages:
        return SourcePages(self.main_content, self.max_page_chars, self.page_concurrency)

    def _request(self, query: Any, k: int | None) -> WebSearchRequest:
        """Return the request of one call; nothing has been sent or waited for if it is at fault."""
        return WebSearchRequest(
            # A chain may pass on something else than text; the core says so.
            query=query.strip() if isinstance(query, str) else query,
            max_results=_checked_bound(self.k if k is None else k),
            **self._search_fields(),
        )

    def _get_ls_params(self, **_kwargs: object) -> SearchTraceParams:
        params = SearchTraceParams(ls_retriever_name="dsh_web")
        # Only a runtime that exists already: tracing must not be what reads the environment.
        runtime = self._known_runtime()
        for status in runtime.describe() if runtime else ():
            if status["capability"] == "search" and status["configured"]:
                params["ls_provider"] = status["id"]
        return params


def _checked_bound(k: Any) -> int:
    # Named here, as the caller knows it; the core would speak of its own max_results.
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InvalidRequestError(f"k must be a whole number of 1 or more, not {k!r}")
    return k
