"""`WebSearchRetriever`: the web as a source of documents for chains."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict

from dsh_web import CancelToken, InvalidRequestError, WebSearchRequest

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

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Document]:
        request = self._request(query, k)
        runtime = self._used_runtime()
        wait_for_turns(self.rate_limiter, 1, cancel)
        listeners = Listeners(run_manager)
        if listeners:
            search = runtime.stream(request, cancel=cancel, **self._call_options())
            result = listeners.follow(search, include_text=self.stream_text)
            listeners.tell(search_event(result))
        else:
            result = runtime.search(request, cancel=cancel, **self._call_options())
        return to_documents(result, include_answer=self.include_answer)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Document]:
        request = self._request(query, k)
        runtime = self._used_runtime()
        await await_turns(self.rate_limiter, 1, cancel)
        listeners = Listeners(run_manager)
        if listeners:
            search = runtime.astream(request, cancel=cancel, **self._call_options())
            result = await listeners.afollow(search, include_text=self.stream_text)
            await listeners.atell(search_event(result))
        else:
            result = await runtime.asearch(request, cancel=cancel, **self._call_options())
        return to_documents(result, include_answer=self.include_answer)

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
        runtime = self.runtime or self._own_runtime
        for status in runtime.describe() if runtime else ():
            if status["capability"] == "search" and status["configured"]:
                params["ls_provider"] = status["id"]
        return params


def _checked_bound(k: Any) -> int:
    # Named here, as the caller knows it; the core would speak of its own max_results.
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InvalidRequestError(f"k must be a whole number of 1 or more, not {k!r}")
    return k
