"""The provider's own answer as a LlamaIndex query engine, over real HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool

from dsh_web import (
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    ProviderError,
    WebError,
    WebRuntime,
    WebSearchResult,
)
from dsh_web.server import LoopbackServer, StreamStyle
from llama_index_dsh_web import WebAnswerQueryEngine

QUESTION = "How do I shuffle and sample from a list?"


@pytest.fixture
def server():
    with LoopbackServer() as server:
        yield server


def answering(server: LoopbackServer, fault: str = "", **options: Any) -> WebRuntime:
    base = f"{server.url}/_fault/{fault}" if fault else server.url
    settings = {"api_key": server.api_key, "base_url": base, "max_retries": 0, **options}
    runtime = WebRuntime()
    runtime.register_search_provider(PerplexityAgentProvider(**settings))
    return runtime


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest):
    async def asked(engine: WebAnswerQueryEngine, query: str = QUESTION) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(engine.query, query)
        return await engine.aquery(query)

    return asked


async def test_numbers_in_the_answer_are_positions_of_source_nodes(server, ask) -> None:
    response = await ask(WebAnswerQueryEngine(runtime=answering(server), max_results=4))

    stored = WebSearchResult.model_validate(response.metadata["result"])
    assert response.response.startswith("Shuffle list x in place, and return None.[1]")
    assert len(response.source_nodes) == 4
    for record in stored.citations:
        node = next(n for n in response.source_nodes if n.metadata["url"] == record.url)
        assert f"[{response.source_nodes.index(node) + 1}]" in response.response
        assert node.metadata["citation_number"] == response.source_nodes.index(node) + 1


async def test_only_cited_nodes_are_numbered_without_gaps(server, ask) -> None:
    response = await ask(
        WebAnswerQueryEngine(runtime=answering(server), max_results=8, cited_only=True)
    )

    numbers = [node.metadata["citation_number"] for node in response.source_nodes]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(f"[{number}]" in response.response for number in numbers)


async def test_web_markers_become_the_same_numbers(server, ask) -> None:
    response = await ask(WebAnswerQueryEngine(runtime=answering(server, effort="low")))

    assert "[web:" in response.metadata["result"]["content"]
    assert "[web:" not in response.response
    assert "[1]" in response.response


async def test_a_provider_that_writes_no_answer_is_an_error_that_says_what_to_use(
    server, ask
) -> None:
    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    )

    with pytest.raises(ProviderError, match="writes answers, such as 'perplexity'"):
        await ask(WebAnswerQueryEngine(runtime=runtime))


@pytest.mark.parametrize(
    ("fault", "options", "status"),
    [
        ("", {"api_key": "wrong-secret-key"}, 401),
        ("status=429,retry-after=9", {}, 429),
        ("status=500", {}, 500),
        ("body=%5B%5D", {}, 200),
    ],
)
async def test_failures_are_web_errors_and_show_no_key(server, ask, fault, options, status) -> None:
    engine = WebAnswerQueryEngine(runtime=answering(server, fault, **options))

    with pytest.raises(WebError) as caught:
        await ask(engine)

    assert caught.value.code == "WEB_PROVIDER_ERROR"
    assert caught.value.status_code in (status, None)
    assert "key" not in str(caught.value) or "wrong-secret-key" not in str(caught.value)
    if status == 429:
        assert caught.value.retry_after == 9


def test_a_filter_that_cannot_be_honoured_is_refused_before_anything_is_sent(server) -> None:
    engine = WebAnswerQueryEngine(runtime=answering(server), mode="academic")

    with pytest.raises(WebError) as caught:
        engine.query(QUESTION)

    assert caught.value.code == "WEB_UNSUPPORTED_FILTER"
    assert server.requests == []


def test_options_are_checked_when_the_engine_is_built() -> None:
    with pytest.raises(InvalidRequestError):
        WebAnswerQueryEngine(max_results=0)
    with pytest.raises(TypeError, match="colour"):
        WebAnswerQueryEngine(colour="red")  # type: ignore[call-arg]


def test_a_streamed_answer_has_its_nodes_at_the_end(server) -> None:
    engine = WebAnswerQueryEngine(runtime=answering(server), streaming=True, max_results=3)
    plain = WebAnswerQueryEngine(runtime=answering(server), max_results=3).query(QUESTION)

    response = engine.query(QUESTION)
    assert isinstance(response, StreamingResponse)
    assert response.source_nodes == []
    pieces = list(response.response_gen)

    assert len(pieces) > 3
    assert "".join(pieces) == response.metadata["result"]["content"]
    assert response.metadata["answer"] == plain.response
    assert [n.node_id for n in response.source_nodes] == [n.node_id for n in plain.source_nodes]


async def test_a_streamed_answer_has_its_nodes_at_the_end_async(server) -> None:
    engine = WebAnswerQueryEngine(runtime=answering(server), streaming=True, max_results=3)

    response = await engine.aquery(QUESTION)
    assert isinstance(response, AsyncStreamingResponse)
    pieces = [piece async for piece in response.response_gen]

    assert "".join(pieces) == response.metadata["result"]["content"]
    assert len(response.source_nodes) == 3


def test_leaving_a_streamed_answer_closes_its_connection() -> None:
    with LoopbackServer(stream=StreamStyle(chunk_delay=0.05)) as server:
        engine = WebAnswerQueryEngine(runtime=answering(server), streaming=True)
        response = engine.query(QUESTION)
        next(response.response_gen)
        assert server.open_streams == 1

        response.response_gen.close()

        assert _soon(lambda: server.open_streams == 0)
        assert response.source_nodes == []


async def test_leaving_a_streamed_answer_closes_its_connection_async() -> None:
    with LoopbackServer(stream=StreamStyle(chunk_delay=0.05)) as server:
        engine = WebAnswerQueryEngine(runtime=answering(server), streaming=True)
        response = await engine.aquery(QUESTION)
        await anext(response.response_gen)

        await response.response_gen.aclose()

        assert await asyncio.to_thread(_soon, lambda: server.open_streams == 0)


def _soon(is_true: Any, seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(is_true())


async def test_its_nodes_can_be_had_without_the_answer(server) -> None:
    engine = WebAnswerQueryEngine(runtime=answering(server), max_results=2)

    sync = await asyncio.to_thread(engine.retrieve, QueryBundle(QUESTION))
    native = await engine.aretrieve(QueryBundle(QUESTION))

    assert [node.node_id for node in sync] == [node.node_id for node in native]
    assert len(sync) == 2


class FirstSelector(BaseSelector):
    """Takes the first choice, without asking a model."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        pass

    def _select(self, choices: Any, query: QueryBundle) -> SelectorResult:
        return SelectorResult(selections=[SingleSelection(index=0, reason="it is the first")])

    async def _aselect(self, choices: Any, query: QueryBundle) -> SelectorResult:
        return self._select(choices, query)


async def test_it_serves_as_a_tool_and_behind_a_router(server, ask) -> None:
    engine = WebAnswerQueryEngine(runtime=answering(server), max_results=2)
    tool = QueryEngineTool.from_defaults(engine, name="web", description="answers from the web")

    output = await tool.acall(input=QUESTION)
    routed = await ask(
        RouterQueryEngine(selector=FirstSelector(), query_engine_tools=[tool], llm=MockLLM())
    )

    assert output.content.startswith("Shuffle list x in place")
    assert str(routed) == output.content
    assert len(routed.source_nodes) == 2
