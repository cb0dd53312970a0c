"""`WebSearchRetriever(content="page")`: whole pages in the place of snippets."""

from __future__ import annotations

import asyncio
import threading

import pytest
from pydantic import ValidationError

from dsh_web import (
    CancelToken,
    InvalidRequestError,
    ProviderError,
    SelectionError,
    WebCancelledError,
    WebSearchResult,
    WebSearchSource,
)
from langchain_dsh_web import WebSearchRetriever
from tests.fetching import FakeFetcher, fetching, html, text

A, B, C = (f"https://{name}.example/" for name in "abc")
FOUND = WebSearchResult(
    provider="fake",
    content="An answer.",
    sources=(
        WebSearchSource(url=A, title="A", snippet="Snippet A", published_at="2026-01-02"),
        WebSearchSource(url=B, snippet="Snippet B"),
        WebSearchSource(url=C, title="C", snippet="Snippet C"),
    ),
    warnings=("one entry was skipped",),
)
PAGES = {
    A: html(A, "<title>Own A</title><p>Whole page A.</p>"),
    B: html(B, "<title>Own B</title><p>Whole page B.</p>"),
    C: text(C, "Whole page C."),
}


@pytest.fixture
def retriever_of(runtime_of):
    def build(pages=PAGES, before=lambda url: None, found=FOUND, **settings):
        fetcher = FakeFetcher(pages, before)
        runtime = fetching(fetcher, runtime_of(lambda request: found))
        retriever = WebSearchRetriever(runtime=runtime, content="page", **settings)
        return retriever, fetcher

    return build


async def warnings_of(retriever):
    return [
        event["data"]["warnings"]
        async for event in retriever.astream_events("q")
        if event["event"] == "on_custom_event" and event["name"] == "dsh_web.search"
    ]


async def test_the_text_is_the_whole_page(invoke, retriever_of):
    retriever, _ = retriever_of()

    documents = await invoke(retriever, "q")

    assert [document.page_content.strip() for document in documents] == [
        "Whole page A.",
        "Whole page B.",
        "Whole page C.",
    ]


async def test_metadata_stays_what_it_is_and_says_what_the_text_is(invoke, retriever_of):
    retriever, _ = retriever_of()

    first, second, _ = await invoke(retriever, "q")

    assert first.metadata == {
        "source": A,
        "url": A,
        "title": "A",
        "published_at": "2026-01-02",
        "provider": "fake",
        "chunk_id": first.id,
        "content": "page",
    }
    # A title that the search did not know comes from the page.
    assert second.metadata["title"] == "Own B"


async def test_the_same_page_is_an_equal_document_in_every_call(invoke, retriever_of):
    retriever, _ = retriever_of()

    documents = await invoke(retriever, "q")

    assert await invoke(retriever, "another") == documents
    assert retriever.invoke("q") == await retriever.ainvoke("q")
    assert len({document.id for document in documents}) == 3


@pytest.mark.parametrize(
    ("instead", "reason"),
    [
        (ProviderError("down"), "WEB_PROVIDER_ERROR"),
        (text(B, "Not here.", status=404), "HTTP 404"),
        (html(B, "<title>Empty</title> "), "no text"),
    ],
)
async def test_a_page_that_cannot_be_used_leaves_the_snippet_and_says_so(
    invoke, retriever_of, instead, reason
):
    retriever, _ = retriever_of({**PAGES, B: instead})

    documents = await invoke(retriever, "q")

    assert documents[1].page_content == "Snippet B"
    assert [document.metadata["content"] for document in documents] == ["page", "snippet", "page"]
    told = f"the snippet of {B} stands in for its page, which could not be used ({reason})"
    assert await warnings_of(retriever) == [["one entry was skipped", told]]


async def test_a_page_that_is_late_leaves_the_snippet(invoke, retriever_of):
    release = threading.Event()

    def before(url):
        if url == B:
            release.wait(10)

    retriever, _ = retriever_of(before=before, timeout=0.3)

    documents = await invoke(retriever, "q")
    release.set()

    assert [document.metadata["content"] for document in documents] == ["page", "snippet", "page"]


async def test_without_pages_nothing_is_fetched_and_no_document_says_so(invoke, retriever_of):
    retriever, fetcher = retriever_of()
    snippets = retriever.model_copy(update={"content": "snippet"})

    documents = await invoke(snippets, "q")

    assert documents[0].page_content == "Snippet A"
    assert "content" not in documents[0].metadata
    assert fetcher.asked == []


async def test_the_answer_stays_the_first_document(invoke, retriever_of):
    retriever, _ = retriever_of(include_answer=True)

    answer, first, *_ = await invoke(retriever, "q")

    assert (answer.page_content, answer.metadata["kind"]) == ("An answer.", "answer")
    assert first.metadata["content"] == "page"


async def test_passages_of_one_page_are_one_document_and_one_fetch(invoke, retriever_of):
    twice = FOUND.model_copy(
        update={
            "sources": (
                WebSearchSource(url=A, snippet="part one"),
                WebSearchSource(url=A, snippet="part two"),
            )
        }
    )
    retriever, fetcher = retriever_of(found=twice)

    assert len(await invoke(retriever, "q")) == 1
    assert fetcher.asked == [A]


async def test_bounds_hold_for_the_pages(invoke, retriever_of):
    retriever, fetcher = retriever_of(max_page_chars=5, page_concurrency=1)

    documents = await invoke(retriever, "q")

    assert max(len(document.page_content) for document in documents) <= 5
    assert fetcher.most_at_once == 1
    assert len(await invoke(retriever, "q", k=1)) == 1


async def test_without_a_fetch_provider_the_search_is_not_even_sent(invoke, runtime_of, provider):
    retriever = WebSearchRetriever(runtime=runtime_of(provider=provider), content="page")

    with pytest.raises(SelectionError) as caught:
        await invoke(retriever, "q")

    assert caught.value.code == "WEB_PROVIDER_UNAVAILABLE"
    assert provider.requests == []


async def test_a_cancel_while_pages_are_read_ends_the_call(invoke, retriever_of):
    token, release = CancelToken(), threading.Event()

    def before(url):
        token.cancel("enough")
        release.wait(10)

    retriever, _ = retriever_of(before=before)

    with pytest.raises(WebCancelledError):
        await invoke(retriever, "q", cancel=token)
    release.set()


async def test_the_event_loop_runs_on_while_pages_are_read(retriever_of):
    asked, release = threading.Event(), threading.Event()

    def before(url):
        asked.set()
        release.wait(10)

    retriever, _ = retriever_of(before=before)
    task = asyncio.ensure_future(retriever.ainvoke("q"))
    assert await asyncio.to_thread(asked.wait, 10)
    release.set()

    assert len(await task) == 3


@pytest.mark.parametrize(
    "setting", [{"content": "html"}, {"max_page_chars": 0}, {"page_concurrency": 0}]
)
def test_a_wrong_setting_is_refused(setting):
    with pytest.raises(ValidationError):
        WebSearchRetriever(**setting)


def test_a_bound_that_is_set_later_is_checked_all_the_same(retriever_of):
    retriever, _ = retriever_of()
    retriever.page_concurrency = 0

    with pytest.raises(InvalidRequestError, match="concurrency"):
        retriever.invoke("q")
