"""The retriever and the tool inside LlamaIndex's own agents and engines."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent, ToolCallResult
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever

from dsh_web import ProviderError
from llama_index_dsh_web import WebSearchRetriever, WebToolSpec

# Making an agent walks over every attribute of its pydantic model, deprecated ones included.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


async def run_agent(llm: Any, tools: list[Any]) -> tuple[str, list[ToolCallResult]]:
    agent = FunctionAgent(tools=tools, llm=llm, streaming=False, timeout=20)
    handler = agent.run("When is high tide?")
    results = [e async for e in handler.stream_events() if isinstance(e, ToolCallResult)]
    return str(await handler), results


async def test_a_function_agent_reads_the_sources_and_keeps_the_structured_result(
    runtime, scripted_llm
):
    llm = scripted_llm(calls=[{"queries": ["high tide", "low tide"]}])

    answer, results = await run_agent(llm, WebToolSpec(runtime).to_tool_list())

    assert "- [Alpha](https://alpha.example/a) — part one (2026-01-02)" in answer
    (output,) = [result.tool_output for result in results]
    assert output.raw_output["queries"] == ["high tide", "low tide"]


async def test_a_function_agent_recovers_from_an_argument_fault(runtime, provider, scripted_llm):
    llm = scripted_llm(calls=[{"queries": [" "]}, {"query": "high tide"}])

    answer, results = await run_agent(llm, WebToolSpec(runtime).to_tool_list())

    assert llm.heard[0] == "each query must be a non-empty string"
    assert [result.tool_output.is_error for result in results] == [True, False]
    assert "https://beta.example/b" in answer
    assert [request.query for request in provider.requests] == ["high tide"]


async def test_a_function_agent_survives_a_failing_provider(runtime, provider, scripted_llm):
    provider.error = ProviderError("Fake answered HTTP 500: out of order", status_code=500)
    llm = scripted_llm(calls=[{"queries": ["high tide"]}])

    answer, (result,) = await run_agent(llm, WebToolSpec(runtime).to_tool_list())

    told = "web_search failed (WEB_PROVIDER_ERROR): Fake answered HTTP 500: out of order"
    assert answer == told
    assert result.tool_output.is_error
    assert result.tool_output.raw_output["error"]["status_code"] == 500
    assert result.tool_output.exception.status_code == 500
    assert len(provider.requests) == 1


async def test_a_react_agent_is_told_the_schema(runtime):
    agent = ReActAgent(tools=WebToolSpec(runtime).to_tool_list(), llm=MockLLM())

    assert '"queries"' in agent.tools[0].metadata.fn_schema_str


def test_a_query_engine_returns_sources_with_addresses(runtime):
    engine = RetrieverQueryEngine.from_args(WebSearchRetriever(runtime=runtime), llm=MockLLM())

    response = engine.query("high tide")

    assert [node.metadata["url"] for node in response.source_nodes] == [
        "https://alpha.example/a",
        "https://alpha.example/a",
        "https://beta.example/b",
    ]
    assert "url: https://alpha.example/a" in str(response)


async def test_a_citation_engine_numbers_the_passages(runtime):
    engine = CitationQueryEngine(WebSearchRetriever(runtime=runtime), llm=MockLLM())

    response = await engine.aquery("high tide")

    assert [node.text.splitlines()[0] for node in response.source_nodes] == [
        "Source 1:",
        "Source 2:",
        "Source 3:",
    ]
    assert response.source_nodes[2].metadata["url"] == "https://beta.example/b"


def test_fusion_runs_each_query_on_a_loop_of_its_own(loopback, loopback_runtime):
    fusion = QueryFusionRetriever(
        [
            WebSearchRetriever(runtime=loopback_runtime),
            WebSearchRetriever(runtime=loopback_runtime, k=1),
        ],
        llm=MockLLM(),
        num_queries=1,
        similarity_top_k=5,
        mode="reciprocal_rerank",
    )

    first, second = fusion.retrieve("one"), fusion.retrieve("two")

    assert [node.text for node in first] == ["on one", ""]
    assert [node.text for node in second] == ["on two", ""]
    assert loopback.queries == ["one", "one", "two", "two"]


async def test_fusion_by_relative_score_takes_the_scores(runtime):
    fusion = QueryFusionRetriever(
        [WebSearchRetriever(runtime=runtime), WebSearchRetriever(runtime=runtime, k=2)],
        llm=MockLLM(),
        num_queries=1,
        similarity_top_k=5,
        mode="relative_score",
    )

    found = await fusion.aretrieve("one")

    assert len(found) == 3
    assert found[0].text == "part one"
