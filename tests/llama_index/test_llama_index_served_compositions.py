"""Retriever, answer engine and tools inside LlamaIndex's own parts, over real HTTP."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import pytest
from llama_index.core.agent.workflow import (
    AgentWorkflow,
    FunctionAgent,
    ReActAgent,
    ToolCall,
    ToolCallResult,
)
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
)
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from pydantic import Field
from workflows.errors import WorkflowCancelledByUser, WorkflowTimeoutError

from dsh_web import (
    HttpFetchProvider,
    ParallelChatProvider,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    WebError,
    WebRuntime,
)
from dsh_web.server import Fault, LoopbackServer
from llama_index_dsh_web import WebAnswerQueryEngine, WebSearchRetriever, WebToolSpec

QUESTION = "How do I shuffle a list?"

# Making an agent walks over every attribute of its pydantic model, deprecated ones included.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


@pytest.fixture
def server():
    with LoopbackServer() as server:
        yield server


ANSWERING: dict[str, Any] = {
    "perplexity": PerplexityAgentProvider,
    "parallel": ParallelChatProvider,
}
FINDING: dict[str, Any] = {
    "perplexity": PerplexitySearchProvider,
    "parallel": ParallelSearchProvider,
}


@dataclass
class Reach:
    """How a test reaches the server: by which vendor's API."""

    vendor: str = "perplexity"


REACH = Reach()


@pytest.fixture(params=["perplexity", "parallel"], autouse=True)
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything here runs once per vendor, and knows nothing of either."""
    monkeypatch.setattr(REACH, "vendor", request.param)
    return str(request.param)


def queries_of(server: LoopbackServer) -> list[str]:
    """Return what was searched for, whichever vendor's words it came in."""
    return [
        r.json["query"] if "query" in r.json else r.json["search_queries"][0]
        for r in server.requests
    ]


def answering_at(server: LoopbackServer, **options: Any) -> WebRuntime:
    return runtime_at(server, kind=ANSWERING[REACH.vendor], **options)


def runtime_at(
    server: LoopbackServer, *, kind: Any = None, fault: str = "", **options: Any
) -> WebRuntime:
    kind = kind or FINDING[REACH.vendor]
    base = f"{server.url}/_fault/{fault}" if fault else server.url
    settings = {"api_key": server.api_key, "base_url": base, "max_retries": 0, **options}
    runtime = WebRuntime()
    runtime.register_search_provider(kind(**settings))
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    return runtime


@pytest.fixture
def retriever(server):
    return WebSearchRetriever(runtime=runtime_at(server), k=4)


@pytest.fixture(params=["sync", "async"])
def both(request: pytest.FixtureRequest):
    """Call `thing.name(...)` or `thing.aname(...)`."""

    async def called(thing: Any, name: str, *arguments: Any, **options: Any) -> Any:
        if request.param == "sync":
            return await asyncio.to_thread(getattr(thing, name), *arguments, **options)
        return await getattr(thing, f"a{name}")(*arguments, **options)

    return called


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


# -- engines and retrievers ------------------------------------------------------------------------


async def test_a_query_engine_answers_from_the_passages(both, retriever) -> None:
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())

    response = await both(engine, "query", QUESTION)

    assert len(response.source_nodes) == 4
    assert "https://docs.python.org/" in str(response)
    assert set(response.metadata) == {node.node_id for node in response.source_nodes}


async def test_citation_numbers_lead_to_nodes_with_addresses(both, retriever) -> None:
    engine = CitationQueryEngine.from_args(None, retriever=retriever, llm=MockLLM())

    response = await both(engine, "query", QUESTION)

    for number, node in enumerate(response.source_nodes, start=1):
        assert node.text.startswith(f"Source {number}:")
        assert node.metadata["url"].startswith("https://docs.python.org/")


@pytest.mark.parametrize(
    "mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]
)
async def test_fusion_merges_rankings_in_every_mode(both, server, retriever, mode: str) -> None:
    other = WebSearchRetriever(runtime=runtime_at(server), k=2)
    fused = QueryFusionRetriever(
        [retriever, other], llm=MockLLM(), num_queries=1, similarity_top_k=10, mode=mode
    )

    nodes = await both(fused, "retrieve", QUESTION)

    assert len({node.node_id for node in nodes}) == len(nodes) == 4
    assert nodes[0].node_id == retriever.retrieve(QUESTION)[0].node_id


async def test_fusion_asks_the_questions_that_a_model_adds(both, server, retriever) -> None:
    class Rephrasing(MockLLM):
        def complete(self, *args: Any, **kwargs: Any) -> Any:
            response = super().complete(*args, **kwargs)
            response.text = "shuffle a list\nshuffle list in place"
            return response

        async def acomplete(self, *args: Any, **kwargs: Any) -> Any:
            return self.complete(*args, **kwargs)

    fused = QueryFusionRetriever(
        [retriever], llm=Rephrasing(), num_queries=3, similarity_top_k=10, mode="reciprocal_rerank"
    )

    nodes = await both(fused, "retrieve", QUESTION)

    assert sorted(queries_of(server)) == sorted(
        [QUESTION, "shuffle a list", "shuffle list in place"]
    )
    assert len({node.node_id for node in nodes}) == len(nodes)


async def test_a_router_picks_the_web(both, retriever) -> None:
    tool = RetrieverTool.from_defaults(retriever, name="web", description="the web")
    router = RouterRetriever(selector=FirstSelector(), retriever_tools=[tool], llm=MockLLM())

    nodes = await both(router, "retrieve", QUESTION)

    assert sorted(n.node_id for n in nodes) == sorted(
        n.node_id for n in retriever.retrieve(QUESTION)
    )


async def test_the_frame_of_a_retriever_tool_never_reaches_the_provider(server, retriever) -> None:
    tool = RetrieverTool.from_defaults(retriever, name="web", description="the web")

    await tool.acall(input=QUESTION)
    await asyncio.to_thread(lambda: tool.call(QUESTION))

    assert queries_of(server) == [QUESTION, QUESTION]


async def test_scores_pass_a_similarity_cut(both, retriever) -> None:
    engine = RetrieverQueryEngine.from_args(
        retriever,
        llm=MockLLM(),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.4)],
    )

    response = await both(engine, "query", QUESTION)

    assert [node.score for node in response.source_nodes] == [1.0, 0.5]


async def test_an_answer_engine_is_a_tool_and_a_route(both, server) -> None:
    engine = WebAnswerQueryEngine(runtime=answering_at(server))
    tool = QueryEngineTool.from_defaults(engine, name="web", description="the web")
    router = RouterQueryEngine(selector=FirstSelector(), query_engine_tools=[tool], llm=MockLLM())

    response = await both(router, "query", QUESTION)

    assert "[1]" in str(response)
    assert response.source_nodes[0].metadata["citation_number"] == 1


@pytest.mark.parametrize("fault", ["status=401", "status=500", "body=oops"])
async def test_a_failing_retriever_raises_through_every_engine(both, server, fault: str) -> None:
    failing = WebSearchRetriever(runtime=runtime_at(server, fault=fault))
    engine = RetrieverQueryEngine.from_args(failing, llm=MockLLM())

    with pytest.raises(WebError):
        await both(engine, "query", QUESTION)


# -- agents ----------------------------------------------------------------------------------------


class Script(MockFunctionCallingLLM):
    """Calls tools turn by turn, then repeats the last thing it was told."""

    turns: list[list[tuple[str, dict[str, Any]]]] = Field(default_factory=list)
    heard: list[str] = Field(default_factory=list)

    def _turn(self, messages: Any) -> int:
        return sum(m.role == "assistant" and bool(m.additional_kwargs) for m in messages)

    async def achat(self, messages: Any, **kwargs: Any) -> Any:
        from llama_index.core.base.llms.types import ChatMessage, ChatResponse

        told = [str(m.content) for m in messages if m.role == "tool"]
        self.heard[:] = told
        turn = self._turn(messages)
        calls = self.turns[turn] if turn < len(self.turns) else []
        extra = {"turn": turn} if calls else {}
        text = "" if calls else (told[-1] if told else "nothing to say")
        message = ChatMessage(role="assistant", content=text, additional_kwargs=extra)
        return ChatResponse(message=message, raw={"calls": calls})

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        return {"messages": list(chat_history or [])}

    def get_tool_calls_from_response(
        self, response: Any, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> Any:
        from llama_index.core.tools import ToolSelection

        return [
            ToolSelection(tool_id=f"{name}-{number}", tool_name=name, tool_kwargs=arguments)
            for number, (name, arguments) in enumerate((response.raw or {}).get("calls", []))
        ]


def agent_at(runtime: WebRuntime, *turns: Any, **settings: Any) -> FunctionAgent:
    return FunctionAgent(
        tools=WebToolSpec(runtime, max_results=3).to_tool_list(),
        llm=Script(turns=list(turns)),
        streaming=False,
        **settings,
    )


def search(query: str) -> tuple[str, dict[str, Any]]:
    return ("web_search", {"queries": [query]})


async def followed(handler: Any) -> tuple[str, list[Any]]:
    events = [event async for event in handler.stream_events()]
    return str(await handler), events


async def test_an_agent_searches_then_reads_a_page(server) -> None:
    page = ("web_fetch", {"url": f"{server.url}/pages/1"})

    answer, events = await followed(
        agent_at(runtime_at(server), [search(QUESTION)], [page]).run("?")
    )

    results = [event for event in events if isinstance(event, ToolCallResult)]
    assert [result.tool_name for result in results] == ["web_search", "web_fetch"]
    assert results[0].tool_output.raw_output["result"]["sources"]
    assert answer.startswith(f"Fetched {server.url}/pages/1 (HTTP 200)")
    assert len([event for event in events if isinstance(event, ToolCall)]) >= 2


async def test_calls_of_one_turn_run_at_the_same_time() -> None:
    with LoopbackServer(latency=0.3) as server:
        start = time.monotonic()

        _, events = await followed(
            agent_at(runtime_at(server), [search("a"), search("b"), search("c")]).run("?")
        )

        assert time.monotonic() - start < 3 * 0.3
        results = [event for event in events if isinstance(event, ToolCallResult)]
        assert [r.tool_output.is_error for r in results] == [False] * 3


async def test_an_error_is_told_to_the_model_which_recovers(server) -> None:
    server.add_fault(Fault(status=429, headers={"retry-after": "3"}))
    agent = agent_at(runtime_at(server), [search("first")], [search("second")])

    answer, events = await followed(agent.run("?"))

    failed, found = (e.tool_output for e in events if isinstance(e, ToolCallResult))
    assert (failed.is_error, found.is_error) == (True, False)
    assert failed.content.endswith("(try again in 3 s)")
    assert agent.llm.heard[0] == failed.content
    assert failed.raw_output["error"]["retry_after"] == 3
    assert "Sources:" in answer


FAILURES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "wrong key": ({"api_key": "sk-not-the-key"}, {}, "WEB_PROVIDER_ERROR"),
    "server error": ({"fault": "status=500"}, {}, "WEB_PROVIDER_ERROR"),
    "nobody there": ({"base_url": "http://127.0.0.1:9"}, {}, "WEB_PROVIDER_ERROR"),
    "filter refused": ({}, {"mode": "finance"}, "WEB_UNSUPPORTED_FILTER"),
    "too slow": ({"fault": "delay=5"}, {"timeout": 0.2}, "WEB_TIMEOUT"),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failing_provider_never_ends_the_run(server, name: str) -> None:
    reach, options, code = FAILURES[name]
    spec = WebToolSpec(runtime_at(server, **reach), **options)
    agent = FunctionAgent(
        tools=spec.to_tool_list(), llm=Script(turns=[[search("q")]]), streaming=False
    )

    answer, events = await followed(agent.run("?"))

    (result,) = (e.tool_output for e in events if isinstance(e, ToolCallResult))
    assert result.is_error
    assert result.raw_output["error"]["code"] == code
    assert answer == result.content
    assert answer.startswith(f"web_search failed ({code}): ")
    assert "sk-not-the-key" not in str(result) + repr(result.raw_output)


async def test_a_workflow_of_agents_uses_the_tools(server) -> None:
    agent = agent_at(runtime_at(server), [search(QUESTION)], name="reader", description="reads")

    answer, events = await followed(AgentWorkflow(agents=[agent], root_agent="reader").run("?"))

    assert any(isinstance(event, ToolCallResult) for event in events)
    assert "https://docs.python.org/" in answer


# LlamaIndex's own ReActAgent asks its context something that its workflows deprecate.
@pytest.mark.filterwarnings("ignore:is_running called:DeprecationWarning")
async def test_a_react_agent_reads_the_text_of_the_tool(server) -> None:
    class Reasoning(MockLLM):
        async def achat(self, messages: Any, **kwargs: Any) -> Any:
            from llama_index.core.base.llms.types import ChatMessage, ChatResponse

            # The first message explains how to reason; what the tools said comes after it.
            seen = [str(m.content) for m in messages[1:] if "Observation:" in str(m.content)]
            text = (
                f"Thought: I can answer.\nAnswer: {seen[-1]}"
                if seen
                else 'Thought: I need the web.\nAction: web_search\nAction Input: {"queries": ["list"]}'
            )
            return ChatResponse(message=ChatMessage(role="assistant", content=text))

    tools = WebToolSpec(runtime_at(server), max_results=2).to_tool_list()
    agent = ReActAgent(tools=tools, llm=Reasoning(), streaming=False)

    answer, _ = await followed(agent.run("?"))

    assert "Sources:" in answer
    assert "https://docs.python.org/" in answer


async def test_cancelling_a_run_closes_the_connection_and_leaves_the_runtime_usable() -> None:
    with LoopbackServer(latency=20) as slow:
        handler = agent_at(runtime_at(slow), [search("a"), search("b")]).run("?")
        await asyncio.to_thread(_until, lambda: len(slow.requests) == 2)

        await handler.cancel_run()
        with pytest.raises(WorkflowCancelledByUser):
            await handler

        assert await asyncio.to_thread(slow.wait_until_closed, 2.0)


async def test_a_run_out_of_time_closes_the_connection() -> None:
    with LoopbackServer(latency=20) as slow:
        handler = agent_at(runtime_at(slow), [search("a")], timeout=0.5).run("?")

        with pytest.raises(WorkflowTimeoutError):
            await handler

        assert len(slow.requests) == 1
        assert await asyncio.to_thread(slow.wait_until_closed, 2.0)


def _until(is_true: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


# -- instrumentation -------------------------------------------------------------------------------


class Heard(BaseEventHandler):
    events: list[Any] = Field(default_factory=list)

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.events.append(event)


@pytest.fixture
def watched():
    root = get_dispatcher()
    events, spans = Heard(), SimpleSpanHandler()
    root.add_event_handler(events)
    root.add_span_handler(spans)
    yield events, spans
    root.event_handlers.remove(events)
    root.span_handlers.remove(spans)


async def test_events_and_spans_of_an_answer_nest_and_hold_no_key(both, server, watched) -> None:
    events, spans = watched
    engine = WebAnswerQueryEngine(runtime=answering_at(server))

    await both(engine, "query", QUESTION)

    names = [event.class_name() for event in events.events]
    assert names[0] == "QueryStartEvent"
    assert names[-1] == "QueryEndEvent"
    assert names.index("WebSearchEvent") < names.index("QueryEndEvent")
    parents = {span.id_: span.parent_id for span in spans.completed_spans}
    inner = [name for name in parents if "WebAnswerQueryEngine._" in name]
    assert inner
    assert all("WebAnswerQueryEngine." in str(parents[name]) for name in inner)
    assert server.api_key not in repr(events.events) + repr(spans.completed_spans)


async def test_a_failed_query_drops_its_span_with_the_reason(both, server, watched) -> None:
    events, spans = watched
    engine = WebAnswerQueryEngine(runtime=answering_at(server, api_key="sk-very-secret"))

    with pytest.raises(WebError):
        await both(engine, "query", QUESTION)

    assert spans.dropped_spans
    assert "QueryEndEvent" not in [event.class_name() for event in events.events]
    assert "sk-very-secret" not in repr(events.events) + repr(spans.dropped_spans)
