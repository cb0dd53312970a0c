from __future__ import annotations

import json

import pytest
import respx
from httpx import Response
from langchain_core.documents import Document
from langchain_core.load import dumps
from pydantic import ValidationError

from dsh_web import (
    InvalidRequestError,
    PerplexitySearchProvider,
    ProviderError,
    WebError,
    WebSearchResult,
    WebSearchSource,
)
from langchain_dsh_web import WebSearchRetriever

SEARCH_URL = "https://api.perplexity.ai/search"
TWO_RESULTS = {
    "id": "r-1",
    "results": [
        {
            "title": "Ta",
            "url": "https://alpha.example/a",
            "snippet": "Alpha text",
            "date": "2026-01-02",
            "last_updated": None,
        },
        {
            "title": None,
            "url": "https://beta.example/b",
            "snippet": None,
            "date": None,
            "last_updated": None,
        },
    ],
}


async def test_the_constructor_sets_how_many_documents_come(invoke, runtime, provider):
    documents = await invoke(WebSearchRetriever(runtime=runtime, k=3), "q")

    assert [document.page_content for document in documents] == ["Text 0", "Text 1", "Text 2"]
    assert [request.max_results for request in provider.requests] == [3]


async def test_a_call_overrides_how_many_documents_come(invoke, runtime):
    assert len(await invoke(WebSearchRetriever(runtime=runtime), "q", k=2)) == 2


async def test_a_call_with_k_none_keeps_the_retrievers_own(invoke, runtime):
    assert len(await invoke(WebSearchRetriever(runtime=runtime, k=4), "q", k=None)) == 4


async def test_bind_keeps_an_override(invoke, runtime):
    assert len(await invoke(WebSearchRetriever(runtime=runtime).bind(k=1), "q")) == 1


def test_batch_passes_an_override_to_every_query(runtime):
    batches = WebSearchRetriever(runtime=runtime).batch(["a", "b", "c"], k=2)

    assert [len(documents) for documents in batches] == [2, 2, 2]


async def test_abatch_passes_an_override_to_every_query(runtime):
    batches = await WebSearchRetriever(runtime=runtime).abatch(["a", "b", "c"], k=2)

    assert [len(documents) for documents in batches] == [2, 2, 2]


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "3"])
async def test_an_override_that_is_no_count_is_refused_before_any_search(
    invoke, runtime, provider, k
):
    with pytest.raises(InvalidRequestError, match="k must be a whole number of 1 or more"):
        await invoke(WebSearchRetriever(runtime=runtime), "q", k=k)

    assert provider.requests == []


async def test_a_misspelt_argument_of_a_call_is_an_error(invoke, runtime):
    with pytest.raises(TypeError, match="kk"):
        await invoke(WebSearchRetriever(runtime=runtime), "q", kk=3)


@pytest.mark.parametrize(
    "settings",
    [
        {"include_domain": ["a.example"]},
        {"k": 0},
        {"k": "5"},
        {"country": "Norway"},
        {"recency": "fortnight"},
        {"published_after": "last week"},
        {"max_tokens": 0},
        {"published_after": "2026-02-01", "published_before": "2026-01-01"},
        {"timeout": -1},
        {"on_unsupported": "ignore"},
    ],
)
def test_a_constructor_argument_at_fault_is_refused(settings):
    with pytest.raises(ValidationError):
        WebSearchRetriever(**settings)


def test_filters_are_normalized_as_the_core_does():
    retriever = WebSearchRetriever(
        country="nz", languages=["EN"], include_domains="https://Example.com/"
    )

    assert retriever.country == "NZ"
    assert retriever.languages == ("en",)
    assert retriever.include_domains == ("example.com",)


async def test_filters_reach_the_request(invoke, runtime, provider):
    retriever = WebSearchRetriever(runtime=runtime, recency="week", include_domains=["a.example"])

    await invoke(retriever, "q")

    assert provider.requests[0].recency == "week"
    assert provider.requests[0].include_domains == ("a.example",)


async def test_a_filter_that_the_provider_lacks_is_an_error_unless_told_otherwise(invoke, runtime):
    strict = WebSearchRetriever(runtime=runtime, country="NZ")
    lenient = WebSearchRetriever(runtime=runtime, country="NZ", on_unsupported="warn")

    assert len(await invoke(lenient, "q")) == 5
    with pytest.raises(WebError) as caught:
        await invoke(strict, "q")
    assert caught.value.code == "WEB_UNSUPPORTED_FILTER"


async def test_the_query_is_stripped(invoke, runtime, provider):
    await invoke(WebSearchRetriever(runtime=runtime), "  tides \n")

    assert provider.requests[0].query == "tides"


async def test_a_blank_query_is_refused_before_any_search(invoke, runtime, provider):
    with pytest.raises(InvalidRequestError, match="query must be a non-empty string"):
        await invoke(WebSearchRetriever(runtime=runtime), " \n")

    assert provider.requests == []


async def test_a_query_that_is_no_text_is_refused(invoke, runtime):
    with pytest.raises(InvalidRequestError, match="query: Input should be a valid string"):
        await invoke(WebSearchRetriever(runtime=runtime), {"question": "tides"})


@respx.mock
async def test_metadata_holds_what_is_known_and_nothing_else(invoke, runtime_of):
    respx.post(SEARCH_URL).mock(return_value=Response(200, json=TWO_RESULTS))
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key="test-key-000"))

    full, bare = await invoke(WebSearchRetriever(runtime=runtime), "q")

    assert full.page_content == "Alpha text"
    assert {
        "source": "https://alpha.example/a",
        "url": "https://alpha.example/a",
        "title": "Ta",
        "published_at": "2026-01-02",
        "provider": "perplexity-search",
        "chunk_id": full.id,
    } == full.metadata
    assert bare.page_content == ""
    assert {
        "source": "https://beta.example/b",
        "url": "https://beta.example/b",
        "title": "",
        "provider": "perplexity-search",
        "chunk_id": bare.id,
    } == bare.metadata


@respx.mock
async def test_sync_and_async_give_equal_documents(runtime_of):
    respx.post(SEARCH_URL).mock(return_value=Response(200, json=TWO_RESULTS))
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key="test-key-000"))
    retriever = WebSearchRetriever(runtime=runtime)

    assert retriever.invoke("q") == await retriever.ainvoke("q")


def test_the_same_passage_is_an_equal_document_in_every_call(runtime):
    """Retrievers that merge lists compare whole documents."""
    retriever = WebSearchRetriever(runtime=runtime)

    assert retriever.invoke("one wording") == retriever.invoke("another wording", k=5)


def test_two_passages_of_one_page_have_two_ids(runtime_of):
    def two_passages(request):
        sources = [
            WebSearchSource(url="https://a.example/", snippet=text) for text in ("first", "second")
        ]
        return WebSearchResult(provider="fake", sources=tuple(sources))

    first, second = WebSearchRetriever(runtime=runtime_of(two_passages)).invoke("q")

    assert first.id != second.id
    assert (first.id, second.id) == (first.metadata["chunk_id"], second.metadata["chunk_id"])


async def test_the_answer_comes_first_and_does_not_count(invoke, runtime_of):
    def answered(request):
        sources = [WebSearchSource(url=f"https://a.example/{i}", snippet="s") for i in range(5)]
        return WebSearchResult(provider="fake", content="An answer.", sources=tuple(sources))

    retriever = WebSearchRetriever(runtime=runtime_of(answered), k=2, include_answer=True)

    answer, *sources = await invoke(retriever, "q")

    assert answer.page_content == "An answer."
    assert answer.metadata["kind"] == "answer"
    assert answer.metadata["title"] == ""
    assert len(sources) == 2


async def test_no_sources_are_an_empty_list(invoke, runtime_of):
    runtime = runtime_of(lambda request: WebSearchResult(provider="fake"))

    assert await invoke(WebSearchRetriever(runtime=runtime, include_answer=True), "q") == []


@respx.mock
async def test_errors_of_the_core_come_through_unchanged(invoke, runtime_of):
    respx.post(SEARCH_URL).mock(
        return_value=Response(401, json={"error": {"message": "Invalid API key test-key-000"}})
    )
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key="test-key-000"))

    with pytest.raises(ProviderError) as caught:
        await invoke(WebSearchRetriever(runtime=runtime), "q")

    assert caught.value.status_code == 401
    assert "test-key-000" not in str(caught.value)


@respx.mock
async def test_without_a_runtime_the_environment_decides(invoke, monkeypatch):
    route = respx.post(SEARCH_URL).mock(return_value=Response(200, json=TWO_RESULTS))
    retriever = WebSearchRetriever()
    with pytest.raises(WebError) as caught:
        await invoke(retriever, "q")
    assert caught.value.code == "WEB_PROVIDER_UNAVAILABLE"
    monkeypatch.setenv("PERPLEXITY_API_KEY", "test-key-000")
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "perplexity-search")

    assert len(await invoke(retriever, "q")) == 2
    assert len(await invoke(retriever, "q")) == 2
    assert json.loads(route.calls[0].request.content) == {"query": "q", "max_results": 5}


async def test_with_retry_tries_again(invoke, runtime_of):
    attempts = []

    def flaky(request):
        attempts.append(request)
        if len(attempts) == 1:
            raise ProviderError("busy", retryable=True)
        return WebSearchResult(
            provider="fake", sources=(WebSearchSource(url="https://a.example/", snippet="s"),)
        )

    retriever = WebSearchRetriever(runtime=runtime_of(flaky)).with_retry(
        retry_if_exception_type=(ProviderError,), wait_exponential_jitter=False
    )

    assert len(await invoke(retriever, "q", k=1)) == 1
    assert len(attempts) == 2


async def test_works_in_a_chain(invoke, runtime):
    def first_text(documents: list[Document]) -> str:
        return documents[0].page_content

    assert await invoke(WebSearchRetriever(runtime=runtime) | first_text, "q") == "Text 0"


def test_dumps_and_repr_hold_no_runtime_and_no_key(runtime_of):
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key="test-key-000"))
    retriever = WebSearchRetriever(runtime=runtime, k=3)

    assert not WebSearchRetriever.is_lc_serializable()
    assert "runtime" not in retriever.model_dump()
    for text in (repr(retriever), dumps(retriever), retriever.model_dump_json()):
        assert "test-key-000" not in text
        assert "WebRuntime" not in text


@pytest.mark.parametrize(
    ("pinned", "expected"),
    [
        (None, {"ls_retriever_name": "dsh_web"}),
        ("fake", {"ls_retriever_name": "dsh_web", "ls_provider": "fake"}),
    ],
)
def test_traces_name_the_retriever_and_a_pinned_provider(runtime_of, pinned, expected):
    retriever = WebSearchRetriever(runtime=runtime_of(search_provider=pinned))

    assert expected == retriever._get_ls_params(k=3)


def test_tracing_does_not_read_the_environment(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", "test-key-000")
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "perplexity-search")

    assert WebSearchRetriever()._get_ls_params() == {"ls_retriever_name": "dsh_web"}


def test_every_neutral_filter_is_a_setting():
    from dsh_web.filters import FILTERS

    assert [] == [name for name in FILTERS if name not in WebSearchRetriever.model_fields]
