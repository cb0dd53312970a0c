"""Citations from a served answer to what LangChain's users hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage

from dsh_web import PerplexityAgentProvider, WebRuntime, WebSearchResult
from dsh_web.citations import numbers_by_url
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebSearchRetriever, WebSearchTool
from langchain_dsh_web.citations import answer_block, citations_of, from_blocks

QUERY = "how do I cancel an asyncio task"


class Ears(BaseCallbackHandler):
    """A listener, for which a search is streamed."""

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        """Listen."""


@pytest.fixture
def served() -> Iterator[WebRuntime]:
    with LoopbackServer() as loopback, WebRuntime() as runtime:
        runtime.register_search_provider(
            PerplexityAgentProvider(api_key=loopback.api_key, base_url=loopback.url)
        )
        yield runtime


def tool_call(*queries: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": "c", "name": "web_search", "args": {"queries": [*queries]}}


@pytest.mark.parametrize("config", [{}, {"callbacks": [Ears()]}], ids=["plain", "streamed"])
@pytest.mark.parametrize("blocks", ["none", "search_result"])
async def test_the_records_of_the_artifact_lead_to_its_sources(invoke, served, config, blocks):
    tool = WebSearchTool(runtime=served, citation_blocks=blocks)

    message = await invoke(tool, tool_call(QUERY), config)

    result = WebSearchResult.model_validate(message.artifact["result"])
    assert result.citation_contract == "perplexity-agent/2026-10"
    assert [1, 1, 2] == [record.source_index for record in result.citations]
    by_number = {number: source.url for source in result.sources for number in source.ids}
    for record in result.citations:
        assert by_number[record.source_index] == record.url
        assert record.raw_marker == result.content[slice(*record.marker_span)]
        assert "[" not in result.content[slice(*record.claim_span)]


async def test_the_numbers_of_the_answer_lead_to_the_documents(invoke, served):
    retriever = WebSearchRetriever(runtime=served, include_answer=True)

    answer, *sources = await invoke(retriever, QUERY)

    numbers = numbers_by_url(citations_of(answer))
    assert [(1,), (2,)] == [numbers[document.metadata["url"]] for document in sources[:2]]
    assert len(numbers) == 2


async def test_the_answer_becomes_an_annotated_message_and_comes_back(served):
    result = await served.asearch(QUERY)

    message = AIMessage(content_blocks=[answer_block(result)])

    assert (result.content, result.citations) == from_blocks(message.content_blocks)
    assert len(result.citations) == 3


async def test_records_of_several_queries_point_into_the_joined_answer(invoke, served):
    message = await invoke(
        WebSearchTool(runtime=served), tool_call(QUERY, "what is an asyncio task group")
    )

    result = WebSearchResult.model_validate(message.artifact["result"])
    assert {0, 1} == {record.answer_index for record in result.citations}
    for record in result.citations:
        assert record.raw_marker == result.content[slice(*record.marker_span)]
        start, end = result.answer_spans[record.answer_index]
        assert start <= record.marker_span[0] <= record.marker_span[1] <= end
