"""`WebSearchRetriever(content="page")`: whole pages in the place of snippets."""

from __future__ import annotations

import threading

import pytest
from llama_index.core.schema import MetadataMode

from dsh_web import (
    CancelToken,
    InvalidRequestError,
    ProviderError,
    SelectionError,
    WebCancelledError,
)
from llama_index_dsh_web import WebSearchRetriever
from tests.fetching import FakeFetcher, fetching, text

ALPHA, BETA = "https://alpha.example/a", "https://beta.example/b"
PAGES = {ALPHA: text(ALPHA, "All of alpha."), BETA: text(BETA, "All of beta.")}


@pytest.fixture
def retriever_of(runtime):
    def build(pages=PAGES, before=lambda url: None, **settings):
        fetcher = FakeFetcher(pages, before)
        reading = fetching(fetcher, runtime)
        return WebSearchRetriever(runtime=reading, content="page", **settings), fetcher

    return build


@pytest.fixture(params=["sync", "async"])
def retrieve(request):
    async def call(retriever, query="q"):
        if request.param == "sync":
            return retriever.retrieve(query)
        return await retriever.aretrieve(query)

    return call


async def test_the_text_is_the_whole_page_once_per_page(retriever_of, retrieve):
    retriever, fetcher = retriever_of()

    nodes = await retrieve(retriever)

    assert [node.text for node in nodes] == ["All of alpha.", "All of beta."]
    assert sorted(fetcher.asked) == [ALPHA, BETA]
    assert [node.score for node in nodes] == [1.0, 0.5]


async def test_metadata_says_what_the_text_is_and_hides_it_from_the_model(retriever_of, retrieve):
    retriever, _ = retriever_of()

    node = (await retrieve(retriever))[0].node

    assert node.metadata == {
        "source": ALPHA,
        "url": ALPHA,
        "title": "Alpha",
        "published_at": "2026-01-02",
        "provider": "fake",
        "chunk_id": node.node_id,
        "content": "page",
    }
    assert "content: page" not in node.get_content(MetadataMode.LLM)
    assert "content: page" not in node.get_content(MetadataMode.EMBED)


async def test_ids_stay_the_same_from_call_to_call(retriever_of, retrieve):
    retriever, _ = retriever_of()

    ids = [node.node_id for node in await retrieve(retriever)]

    assert [node.node_id for node in await retrieve(retriever)] == ids
    assert len(set(ids)) == 2


async def test_a_page_that_fails_leaves_its_snippets_and_says_so(retriever_of, retrieve, event_log):
    retriever, _ = retriever_of({**PAGES, ALPHA: ProviderError("down")})

    nodes = await retrieve(retriever)

    assert [node.text for node in nodes] == ["part one", "part two", "All of beta."]
    assert [node.metadata["content"] for node in nodes] == ["snippet", "snippet", "page"]
    told = (
        f"the snippet of {ALPHA} stands in for its page, which could not be used "
        "(WEB_PROVIDER_ERROR)"
    )
    (event,) = event_log.named("WebSearchEvent")
    assert event.warnings == ["one entry was skipped", told]


async def test_a_page_that_is_late_leaves_the_snippet(retriever_of, retrieve):
    release = threading.Event()

    def before(url):
        if url == BETA:
            release.wait(10)

    retriever, _ = retriever_of(before=before, timeout=0.3)

    nodes = await retrieve(retriever)
    release.set()

    assert [node.metadata["content"] for node in nodes] == ["page", "snippet"]


async def test_without_pages_nothing_is_fetched(retriever_of, retrieve):
    retriever, fetcher = retriever_of()

    nodes = await retrieve(retriever.with_options(content="snippet"))

    assert nodes[0].text == "part one"
    assert "content" not in nodes[0].metadata
    assert fetcher.asked == []


async def test_options_are_kept_and_changed_by_a_copy(retriever_of, retrieve):
    retriever, _ = retriever_of(max_page_chars=3)

    assert [node.text for node in await retrieve(retriever)] == ["All", "All"]
    longer = retriever.with_options(max_page_chars=6)
    assert [node.text for node in await retrieve(longer)] == ["All of", "All of"]


async def test_without_a_fetch_provider_the_search_is_not_even_sent(runtime, provider, retrieve):
    with pytest.raises(SelectionError):
        await retrieve(WebSearchRetriever(runtime=runtime, content="page"))

    assert provider.requests == []


async def test_a_cancel_while_pages_are_read_ends_the_call(retriever_of, retrieve):
    token, release = CancelToken(), threading.Event()

    def before(url):
        token.cancel("enough")
        release.wait(10)

    retriever, _ = retriever_of(before=before, cancel=token)

    with pytest.raises(WebCancelledError):
        await retrieve(retriever)
    release.set()


@pytest.mark.parametrize(
    "setting", [{"content": "html"}, {"max_page_chars": 0}, {"page_concurrency": 0}]
)
def test_a_wrong_setting_is_refused(setting):
    with pytest.raises(InvalidRequestError):
        WebSearchRetriever(**setting)
