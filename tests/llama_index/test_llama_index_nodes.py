"""What a retrieved node is made of."""

from __future__ import annotations

import json

import pytest
import respx
from httpx import Response
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

from dsh_web import PerplexitySearchProvider, WebRuntime, WebSearchResult, WebSearchSource
from llama_index_dsh_web import WebSearchRetriever


async def test_metadata_holds_known_values_only(runtime, retrieve):
    first, _, third = [
        found.node for found in await retrieve(WebSearchRetriever(runtime=runtime), "q")
    ]

    assert isinstance(first, TextNode)
    assert first.text == "part one"
    assert {
        "source": "https://alpha.example/a",
        "url": "https://alpha.example/a",
        "title": "Alpha",
        "published_at": "2026-01-02",
        "provider": "fake",
        "chunk_id": first.node_id,
    } == first.metadata
    assert {"source", "url", "provider", "chunk_id"} == third.metadata.keys()
    assert json.loads(json.dumps(first.metadata)) == first.metadata


async def test_two_passages_of_a_page_are_two_nodes_with_ids_that_stay(runtime, retrieve):
    retriever = WebSearchRetriever(runtime=runtime)

    nodes = [found.node for found in await retrieve(retriever, "q")]
    again = [found.node for found in await retrieve(retriever, "another query")]

    assert len({node.node_id for node in nodes}) == 3
    assert [node.node_id for node in nodes] == [node.node_id for node in again]
    assert [node.hash for node in nodes] == [node.hash for node in again]
    assert nodes[0].ref_doc_id == nodes[1].ref_doc_id != nodes[2].ref_doc_id
    assert NodeRelationship.SOURCE in nodes[0].relationships


async def test_a_reader_sees_title_url_and_date_and_an_index_only_the_title(runtime, retrieve):
    node = (await retrieve(WebSearchRetriever(runtime=runtime), "q"))[0].node

    assert (
        node.get_content(MetadataMode.LLM)
        == "url: https://alpha.example/a\ntitle: Alpha\npublished_at: 2026-01-02\n\npart one"
    )
    assert node.get_content(MetadataMode.EMBED) == "title: Alpha\n\npart one"


async def test_scores_are_one_over_the_rank_and_survive_a_cutoff(runtime, retrieve):
    found = await retrieve(WebSearchRetriever(runtime=runtime), "q")

    kept = SimilarityPostprocessor(similarity_cutoff=0.0).postprocess_nodes(found)

    assert [node.score for node in kept] == [1.0, 1 / 2, 1 / 3]


async def test_scores_can_be_left_out(runtime, retrieve):
    found = await retrieve(WebSearchRetriever(runtime=runtime, score_from_rank=False), "q")

    assert [node.score for node in found] == [None, None, None]


async def test_the_answer_comes_first_only_when_asked_for(runtime, retrieve):
    retriever = WebSearchRetriever(runtime=runtime, k=2)

    without = await retrieve(retriever, "q")
    with_answer = await retrieve(retriever.with_options(include_answer=True), "q")

    assert [found.text for found in without] == ["part one", "part two"]
    assert [f.text for f in with_answer] == ["The tide is high [1].", "part one", "part two"]
    assert with_answer[0].metadata["kind"] == "answer"
    assert [found.score for found in with_answer] == [1.0, 1 / 2, 1 / 3]


async def test_a_bare_address_has_its_host_as_text(runtime, provider, retrieve):
    bare = WebSearchSource(url="https://gamma.example/c", origin="link")
    provider.result = WebSearchResult(provider="fake", sources=(bare,))

    found = await retrieve(WebSearchRetriever(runtime=runtime), "q")

    assert [node.text for node in found] == ["gamma.example"]


async def test_nothing_found_is_an_empty_list(runtime, provider, retrieve):
    provider.result = WebSearchResult(provider="fake")

    assert await retrieve(WebSearchRetriever(runtime=runtime), "q") == []


@pytest.mark.parametrize("snippet", ["Alpha text", None])
async def test_a_vendor_answer_becomes_nodes(retrieve, snippet):
    runtime = WebRuntime()
    runtime.register_search_provider(PerplexitySearchProvider(api_key="k-0123456789"))
    page = {"title": "Ta", "url": "https://alpha.example/a", "snippet": snippet, "date": None}
    with respx.mock:
        api = respx.post("https://api.perplexity.ai/search").mock(
            return_value=Response(200, json={"id": "r-1", "results": [page]})
        )

        found = await retrieve(WebSearchRetriever(runtime=runtime, k=5, country="nz"), " tides ")

    sent = json.loads(api.calls.last.request.content)
    assert sent == {"query": "tides", "max_results": 5, "country": "NZ"}
    assert [(snippet or "", "Ta")] == [(node.text, node.metadata["title"]) for node in found]
