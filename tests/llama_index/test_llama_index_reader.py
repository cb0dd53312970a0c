"""`WebPageReader`: pages as documents."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
import threading

import pytest
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import MetadataMode

from dsh_web import (
    CancelToken,
    InvalidRequestError,
    ProviderError,
    SelectionError,
    WebCancelledError,
    WebError,
    WebRuntime,
)
from llama_index_dsh_web import WebPageReader
from tests.fetching import FakeFetcher, fetching, html, pdf, text

A, B, C = (f"https://{name}.example/" for name in "abc")
PAGES = {
    A: html(A, "<title>Tides</title><p>High at noon.</p>"),
    B: text(B, "Low at six."),
    C: pdf(C, "Harbour dues", 2),
}


@pytest.fixture
def fetcher() -> FakeFetcher:
    return FakeFetcher(PAGES)


@pytest.fixture
def pages(fetcher: FakeFetcher) -> WebRuntime:
    return fetching(fetcher)


@pytest.fixture(params=["load_data", "lazy_load_data", "aload_data", "alazy_load_data"])
def load(request):
    """Every way to load, as one coroutine function that returns a list."""

    async def call(reader, *args, **kwargs):
        loaded = getattr(reader, request.param)(*args, **kwargs)
        return list(await loaded if inspect.isawaitable(loaded) else loaded)

    return call


def test_it_is_a_llama_index_reader():
    assert issubclass(WebPageReader, BaseReader)


# -- documents -------------------------------------------------------------------------------------


async def test_each_address_gives_its_page_in_order(pages, load):
    documents = await load(WebPageReader(pages), urls=[B, A, C])

    assert [document.id_ for document in documents] == [B, A, C]
    assert [document.text.strip() for document in documents] == [
        "Low at six.",
        "High at noon.",
        "Harbour dues",
    ]


async def test_metadata_is_exactly_what_is_known(pages, load):
    with_title, without = await load(WebPageReader(pages), urls=[A, B])

    assert with_title.metadata == {
        "source": A,
        "url": A,
        "title": "Tides",
        "provider": "fake-fetch",
        "chunk_id": A,
    }
    assert "title" not in without.metadata
    json.dumps(with_title.metadata)


async def test_a_model_sees_title_and_address_and_an_embedding_the_title_alone(pages, load):
    (document,) = await load(WebPageReader(pages), urls=[A])

    shown = document.get_content(MetadataMode.LLM)
    assert f"url: {A}" in shown
    assert "title: Tides" in shown
    assert "provider" not in shown
    embedded = document.get_content(MetadataMode.EMBED)
    assert "title: Tides" in embedded
    assert A not in embedded


async def test_an_address_that_moved_keeps_its_id(load):
    moved = html("https://a.example/new", "<p>Moved.</p>")
    runtime = fetching(FakeFetcher({A: moved}))

    (document,) = await load(WebPageReader(runtime), urls=[A])

    assert (document.id_, document.metadata["url"]) == (A, A)


async def test_an_address_that_is_given_twice_is_read_once(pages, fetcher, load):
    assert len(await load(WebPageReader(pages), urls=[A, A])) == 1
    assert fetcher.asked == [A]


async def test_the_cap_holds_for_each_page(pages, load):
    documents = await load(WebPageReader(pages, max_chars=5), urls=[A, B])

    assert max(len(document.text) for document in documents) <= 5


async def test_no_addresses_give_no_documents(pages, load):
    assert await load(WebPageReader(pages), urls=[]) == []


async def test_documents_go_through_an_ingestion_pipeline(pages, load):
    documents = await load(WebPageReader(pages), urls=[A, B])

    nodes = IngestionPipeline(transformations=[SentenceSplitter()]).run(documents=documents)

    assert [node.ref_doc_id for node in nodes] == [A, B]


# -- a query ---------------------------------------------------------------------------------------


async def test_a_query_loads_the_pages_that_it_finds(runtime, provider, load, event_log):
    alpha, beta = (source.url for source in provider.result.sources[1:])
    fetching(FakeFetcher({alpha: text(alpha, "All of alpha."), beta: PAGES[A]}), runtime)

    first, second = await load(WebPageReader(runtime, k=3, recency="month"), query="tides")

    assert (first.id_, first.text) == (alpha, "All of alpha.")
    # What the search knows goes with the page.
    assert first.metadata["title"] == "Alpha"
    assert first.metadata["published_at"] == "2026-01-02"
    assert second.metadata["title"] == "Tides"
    (request,) = provider.requests
    assert (request.query, request.max_results, request.recency) == ("tides", 3, "month")
    assert [event.queries for event in event_log.named("WebSearchEvent")] == [["tides"]]


@pytest.mark.parametrize("arguments", [{}, {"urls": [A], "query": "q"}])
async def test_either_addresses_or_a_query_must_be_given(pages, load, arguments):
    with pytest.raises(InvalidRequestError, match="give either urls or a query"):
        await load(WebPageReader(pages), **arguments)


def test_a_lazy_reader_complains_before_it_is_iterated(pages):
    with pytest.raises(InvalidRequestError):
        WebPageReader(pages).lazy_load_data()


async def test_without_a_fetch_provider_the_search_is_not_even_sent(runtime, provider, load):
    with pytest.raises(SelectionError):
        await load(WebPageReader(runtime), query="q")

    assert provider.requests == []


# -- failures --------------------------------------------------------------------------------------

FAILURES = {
    "failed": (ProviderError("down"), "down"),
    "missing": (text(B, "Not here.", status=404), "cannot be used as a page: HTTP 404"),
    "empty": (html(B, "<title>Empty</title>"), "cannot be used as a page: no text"),
}


@pytest.mark.parametrize("instead", FAILURES.values(), ids=FAILURES)
async def test_a_page_that_cannot_be_indexed_is_an_error(fetcher, pages, load, instead):
    fetcher.pages[B], why = instead

    with pytest.raises(WebError, match=why):
        await load(WebPageReader(pages), urls=[A, B, C])


@pytest.mark.parametrize("instead", FAILURES.values(), ids=FAILURES)
async def test_a_page_that_cannot_be_indexed_can_be_left_out_and_is_reported(
    fetcher, pages, load, event_log, instead
):
    fetcher.pages[B], why = instead
    skipped = []
    reader = WebPageReader(
        pages, on_error="skip", on_skip=lambda url, error: skipped.append((url, error))
    )

    documents = await load(reader, urls=[A, B, C])

    assert [document.id_ for document in documents] == [A, C]
    ((url, error),) = skipped
    assert url == B
    assert why in str(error)
    (event,) = event_log.named("WebPageSkippedEvent")
    assert (event.url, event.error["code"]) == (B, "WEB_PROVIDER_ERROR")


def test_good_pages_come_before_the_error_of_a_later_one(fetcher, pages):
    fetcher.pages[B] = ProviderError("down")
    documents = WebPageReader(pages).lazy_load_data(urls=[A, B, C])

    assert next(documents).id_ == A
    with pytest.raises(ProviderError):
        next(documents)


async def test_a_cancel_is_raised_even_where_pages_may_be_left_out(load):
    token, release = CancelToken(), threading.Event()

    def before(url):
        token.cancel("enough")
        release.wait(10)

    reader = WebPageReader(fetching(FakeFetcher({}, before)), on_error="skip", cancel=token)

    with pytest.raises(WebCancelledError):
        await load(reader, urls=[A, B])
    release.set()


# -- how it goes about it --------------------------------------------------------------------------


def test_a_lazy_reader_reads_no_further_than_it_is_asked(pages, fetcher):
    documents = WebPageReader(pages, concurrency=2).lazy_load_data(urls=[A, B, C])
    assert fetcher.asked == []

    next(documents)

    assert sorted(fetcher.asked) == [A, B]


async def test_no_more_pages_are_read_at_once_than_allowed(load):
    together = threading.Barrier(2)
    urls = [f"https://a.example/{number}" for number in range(4)]
    fetcher = FakeFetcher({url: text(url, "x") for url in urls}, lambda url: together.wait(10))

    await load(WebPageReader(fetching(fetcher), concurrency=2), urls=urls)

    assert fetcher.most_at_once == 2


async def test_the_event_loop_runs_on_while_pages_are_read():
    asked, release = threading.Event(), threading.Event()

    def before(url):
        asked.set()
        release.wait(10)

    reader = WebPageReader(fetching(FakeFetcher(PAGES, before)))
    task = asyncio.ensure_future(reader.aload_data(urls=[A]))
    assert await asyncio.to_thread(asked.wait, 10)
    release.set()

    assert len(await task) == 1


@pytest.mark.parametrize(
    "setting",
    [{"k": 0}, {"max_chars": 0}, {"concurrency": 0}, {"on_error": "ignore"}, {"recency": "eon"}],
)
def test_a_wrong_setting_is_refused(setting):
    with pytest.raises(InvalidRequestError):
        WebPageReader(**setting)


def test_an_unknown_setting_is_a_type_error():
    with pytest.raises(TypeError, match="colour"):
        WebPageReader(colour="red")


def test_a_reader_can_be_copied_and_pickled(pages):
    reader = WebPageReader(pages, max_chars=5)

    assert copy.deepcopy(reader).load_data(urls=[B])[0].text == "Low a"
    assert pickle.loads(pickle.dumps(WebPageReader(max_chars=5)))._pages.max_chars == 5
