"""Citations from a served answer to what LlamaIndex's users hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dsh_web import PerplexityAgentProvider, WebRuntime, WebSearchResult
from dsh_web.citations import normalize_citations
from dsh_web.server import LoopbackServer
from llama_index_dsh_web import WebSearchRetriever, WebToolSpec
from llama_index_dsh_web.citations import answer_response, citations_of

QUERY = "how do I cancel an asyncio task"


@pytest.fixture
def served() -> Iterator[WebRuntime]:
    with LoopbackServer() as loopback, WebRuntime() as runtime:
        runtime.register_search_provider(
            PerplexityAgentProvider(api_key=loopback.api_key, base_url=loopback.url)
        )
        yield runtime


async def test_the_answer_node_and_the_tool_carry_the_same_records(served, retrieve, run_tool):
    tool = WebToolSpec(served, citation_blocks="citable").to_tool_list()[0]

    answer, *_ = await retrieve(WebSearchRetriever(runtime=served, include_answer=True), QUERY)
    output = await run_tool(tool, queries=[QUERY])

    result = WebSearchResult.model_validate(output.raw_output["result"])
    assert result.citations == citations_of(answer.node)
    assert [1, 1, 2] == [record.source_index for record in result.citations]
    for record in result.citations:
        assert record.raw_marker == answer.text[slice(*record.marker_span)]


@pytest.mark.parametrize("cited_only", [False, True])
async def test_the_numbers_of_the_response_read_back_to_the_pages_cited(served, cited_only):
    result = await served.asearch(QUERY)

    response = answer_response(result, cited_only=cited_only)

    nodes = [found.node.metadata["url"] for found in response.source_nodes]
    read = normalize_citations(response.response, nodes)
    assert [record.url for record in result.citations] == [record.url for record in read]
    assert all(nodes[record.source_index - 1] == record.url for record in read)
