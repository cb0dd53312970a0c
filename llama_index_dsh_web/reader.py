"""`WebPageReader`: web pages as LlamaIndex documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, Unpack

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from dsh_web import (
    InvalidRequestError,
    WebError,
    WebPage,
    WebRuntime,
    WebSearchResult,
    WebSearchSource,
)
from dsh_web.page_content import (
    DEFAULT_PAGE_CONCURRENCY,
    SourcePages,
    checked_urls,
    page_error,
)
from dsh_web.passages import page_passage

from .events import WebFetchEvent, WebPageSkippedEvent, WebSearchEvent, dispatcher
from .nodes import HIDDEN_FROM_LLM, hidden_from_embedding
from .search_call import RuntimeHandle, SearchCall, SearchOptions

__all__ = ["WebPageReader"]

DEFAULT_K: Final = 8

OnSkip: TypeAlias = Callable[[str, WebError], None]
Sources: TypeAlias = dict[str, WebSearchSource | None]
"""What a search knows of each address, in the order in which the pages are wanted."""


class WebPageReader(BaseReader):
    """Load web pages, given by address or found by a query, as documents in Markdown.

        documents = WebPageReader(on_error="skip").load_data(urls=["https://docs.python.org/3/"])
        documents = WebPageReader(k=5).load_data(query="how tides work")

    A document's id is its address, as given or found, so that an ingestion pipeline updates it in
    place. Its metadata holds `url`, `source` and `chunk_id` (all the address), `provider` (who read
    it: the runtime's extract provider if it has one, else its fetch provider) and, where known,
    `title`, `published_at` and `updated_at`; models see title, address and dates, embeddings the
    title alone.

    `lazy_load_data` reads `concurrency` pages at a time and yields them before it reads more;
    `aload_data` is native. A page that was fetched is reported as `WebFetchEvent`, a search as
    `WebSearchEvent`.

    Args:
        runtime: Who searches and fetches. None: a runtime built from the environment at the first
            call.
        k: Most pages for a query, 1 or more.
        main_content: Of an HTML page, keep the main part only, without menus, footers and such.
        max_chars: Cap on the text of a page in code points; None: the fetch provider's own limits.
        concurrency: Most pages that are read at the same time, 1 or more.
        on_error: What a page does that cannot be indexed: it could not be fetched, the server
            answered with an error status, or it has no text. `"raise"`: its error is raised.
            `"skip"`: it is left out and reported, as `WebPageSkippedEvent` and to `on_skip`.
        on_skip: Called with the address and the error of each page that is left out.
        **options: Time limit (for the search, and for each `concurrency` pages), cancel token and
            filters of the search; see `SearchOptions`.

    Raises:
        InvalidRequestError: A number or a filter is out of range or of the wrong type.
    """

    def __init__(
        self,
        runtime: WebRuntime | None = None,
        *,
        k: int = DEFAULT_K,
        main_content: bool = False,
        max_chars: int | None = None,
        concurrency: int = DEFAULT_PAGE_CONCURRENCY,
        on_error: Literal["raise", "skip"] = "raise",
        on_skip: OnSkip | None = None,
        **options: Unpack[SearchOptions],
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise InvalidRequestError(f'on_error must be "raise" or "skip", not {on_error!r}')
        self._call = SearchCall(RuntimeHandle(runtime), k, options)
        self._pages = SourcePages(main_content, max_chars, concurrency)
        self._is_skipping = on_error == "skip"
        self._on_skip = on_skip

    def lazy_load_data(
        self, urls: Iterable[str] | None = None, *, query: str | None = None
    ) -> Iterator[Document]:
        """Yield one document per page, in order; nothing is read before the first `next`.

        Args:
            urls: Addresses; one that is given twice is read once.
            query: A search, instead of `urls`.

        Raises:
            InvalidRequestError: Not exactly one of the two is given.
            WebError: While iterating; see `on_error`.
        """
        _check_choice(urls, query)
        return self._documents(urls, query)

    async def alazy_load_data(
        self, urls: Iterable[str] | None = None, *, query: str | None = None
    ) -> list[Document]:
        """Return the documents; LlamaIndex has no lazy form for async readers."""
        return await self.aload_data(urls, query=query)

    def load_data(
        self, urls: Iterable[str] | None = None, *, query: str | None = None
    ) -> list[Document]:
        """Return one document per page, in order; see `lazy_load_data`."""
        return list(self.lazy_load_data(urls, query=query))

    async def aload_data(
        self, urls: Iterable[str] | None = None, *, query: str | None = None
    ) -> list[Document]:
        """Return one document per page, in order; see `lazy_load_data`."""
        _check_choice(urls, query)
        runtime = self._ready_runtime()
        if query is not None:
            found = await runtime.asearch(query, **self._call.arguments)
            sources = _found(query, found)
        else:
            sources = self._given(urls)
        documents: list[Document] = []
        for batch in self._batches(sources):
            outcomes = await self._pages.aread_urls(runtime, batch, **self._call.limits)
            documents += self._loaded(runtime, sources, batch, outcomes)
        return documents

    def _documents(self, urls: Iterable[str] | None, query: str | None) -> Iterator[Document]:
        runtime = self._ready_runtime()
        if query is not None:
            sources = _found(query, runtime.search(query, **self._call.arguments))
        else:
            sources = self._given(urls)
        for batch in self._batches(sources):
            outcomes = self._pages.read_urls(runtime, batch, **self._call.limits)
            yield from self._loaded(runtime, sources, batch, outcomes)

    def _ready_runtime(self) -> WebRuntime:
        runtime = self._call.runtime
        # Without a provider for pages a search would have been for nothing.
        self._pages.reader_id(runtime)
        return runtime

    def _given(self, urls: Iterable[str] | None) -> Sources:
        return dict.fromkeys(checked_urls(urls or (), self._pages.concurrency))

    def _batches(self, sources: Sources) -> Iterator[list[str]]:
        urls, size = list(sources), self._pages.concurrency
        for start in range(0, len(urls), size):
            yield urls[start : start + size]

    def _loaded(
        self,
        runtime: WebRuntime,
        sources: Sources,
        urls: Sequence[str],
        outcomes: Sequence[WebPage | WebError],
    ) -> Iterator[Document]:
        provider = self._pages.reader_id(runtime)
        for url, outcome in zip(urls, outcomes, strict=True):
            error = page_error(outcome)
            if isinstance(outcome, WebPage):
                dispatcher.event(WebFetchEvent.of(outcome))
                if error is None:
                    yield _document(url, outcome, provider, sources[url])
            if error is not None:
                self._report(url, error)

    def _report(self, url: str, error: WebError) -> None:
        if not self._is_skipping:
            raise error
        dispatcher.event(WebPageSkippedEvent.of(url, error))
        if self._on_skip is not None:
            self._on_skip(url, error)


def _check_choice(urls: Iterable[str] | None, query: str | None) -> None:
    if (urls is None) == (query is None):
        raise InvalidRequestError("give either urls or a query")


def _found(query: str, result: WebSearchResult) -> Sources:
    dispatcher.event(WebSearchEvent.of([query], result))
    sources: Sources = {}
    for source in result.sources:
        sources.setdefault(source.url, source)
    return sources


def _document(url: str, page: WebPage, provider: str, source: WebSearchSource | None) -> Document:
    passage = page_passage(url, page, provider, source)
    return Document(
        id_=passage.id,
        text=passage.text,
        metadata=dict(passage.metadata),
        excluded_llm_metadata_keys=list(HIDDEN_FROM_LLM),
        excluded_embed_metadata_keys=hidden_from_embedding(passage.metadata),
    )
