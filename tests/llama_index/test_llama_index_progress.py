"""What a search does becomes known while it runs, and changes nothing about its outcome."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent
from llama_index.core.instrumentation.event_handlers import NullEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, step
from llama_index.core.workflow.errors import WorkflowCancelledByUser

from dsh_web import ProviderError
from llama_index_dsh_web import WebSearchProgress, WebSearchRetriever, WebToolSpec
from llama_index_dsh_web.events import dispatcher

# Making an agent walks over every attribute of its pydantic model, deprecated ones included.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")

needs_step = pytest.mark.skipif(
    not hasattr(Context, "get_step_context"), reason="needs llama-index-workflows 2.18"
)
TICK = 0.02
NOTHING = {"stage": None, "queries": [], "urls": [], "note": None, "sources": []}
FIRST, FOUND, READING = [
    {**NOTHING, "query": "q", "kind": kind, **facts}
    for kind, facts in [
        ("progress", {"stage": "searching", "queries": ["inner query"], "note": "Hm."}),
        (
            "sources",
            {
                "sources": [
                    {"url": "https://alpha.example/a", "title": "Alpha"},
                    {"url": "https://alpha.example/a", "title": "Alpha"},
                    {"url": "https://beta.example/b"},
                ]
            },
        ),
        ("progress", {"stage": "fetching", "urls": ["https://alpha.example/a"]}),
    ]
]


def told(events):
    """Return what progress events say, without what the framework adds to them."""
    return [{name: getattr(event, name) for name in FIRST} for event in events]


def web_search_tool(runtime):
    return WebToolSpec(runtime).to_tool_list()[0]


@pytest.fixture(params=["one agent", "several agents"])
def run_agent(request, scripted_llm):
    """Start an agent that makes the given tool calls."""

    def run(runtime, *calls):
        llm = scripted_llm(calls=list(calls))
        tools = WebToolSpec(runtime).to_tool_list()
        agent = FunctionAgent(
            name="a", description="d", tools=tools, llm=llm, streaming=False, timeout=20
        )
        started = agent if request.param == "one agent" else AgentWorkflow(agents=[agent])
        return started.run(user_msg="?")

    return run


async def progress_of(handler):
    return [event async for event in handler.stream_events() if type(event) is WebSearchProgress]


# -- instrumentation events ------------------------------------------------------------------------


async def test_a_handler_is_told_of_a_retrieval_in_its_span(
    streaming_runtime, retrieve, event_log, span_log
):
    await retrieve(WebSearchRetriever(runtime=streaming_runtime), "q")

    progress = event_log.named("WebSearchProgressEvent")
    (closing,) = event_log.named("WebSearchEvent")
    assert [FIRST, FOUND, READING] == told(progress)
    assert {closing.span_id} == {event.span_id for event in progress}
    assert event_log.events.index(progress[-1]) < event_log.events.index(closing)
    json.loads(progress[0].model_dump_json())


async def test_a_handler_is_told_of_a_tool_call(streaming_runtime, run_tool, event_log):
    await run_tool(web_search_tool(streaming_runtime), queries=["q"])

    assert [FIRST, FOUND, READING] == told(event_log.named("WebSearchProgressEvent"))
    assert len(event_log.named("WebSearchEvent")) == 1


async def test_a_handler_is_told_of_a_direct_call(streaming_runtime, event_log):
    spec = WebToolSpec(streaming_runtime)

    spec.web_search(["q"])
    await spec.aweb_search(["q"])

    assert [FIRST, FOUND, READING] * 2 == told(event_log.named("WebSearchProgressEvent"))


async def test_of_several_queries_only_the_end_is_told(
    streaming_runtime, streaming_provider, run_tool, event_log
):
    await run_tool(web_search_tool(streaming_runtime), queries=["a", "b"])

    assert event_log.named("WebSearchProgressEvent") == []
    assert len(event_log.named("WebSearchEvent")) == 1
    assert streaming_provider.streamed == 0


async def test_what_was_told_before_a_failure_stays_told(
    streaming_runtime, streaming_provider, retrieve, event_log
):
    streaming_provider.error = ProviderError("the stream broke")

    with pytest.raises(ProviderError, match="the stream broke"):
        await retrieve(WebSearchRetriever(runtime=streaming_runtime), "q")

    assert [FIRST, FOUND] == told(event_log.named("WebSearchProgressEvent"))
    assert event_log.named("WebSearchEvent") == []


# -- nobody listens --------------------------------------------------------------------------------


async def test_without_a_listener_nothing_is_streamed(
    streaming_runtime, streaming_provider, retrieve, run_tool
):
    dispatcher.add_event_handler(NullEventHandler())
    try:
        await retrieve(WebSearchRetriever(runtime=streaming_runtime), "q")
        await run_tool(web_search_tool(streaming_runtime), queries=["q"])
    finally:
        dispatcher.event_handlers.pop()

    assert (len(streaming_provider.requests), streaming_provider.streamed) == (2, 0)


async def test_a_handler_that_events_do_not_reach_does_not_listen(
    streaming_runtime, streaming_provider, retrieve, event_log, monkeypatch
):
    monkeypatch.setattr(dispatcher, "propagate", False)

    await retrieve(WebSearchRetriever(runtime=streaming_runtime), "q")

    assert streaming_provider.streamed == 0


# -- the outcome -----------------------------------------------------------------------------------


async def test_nodes_and_outputs_are_the_unstreamed_ones(agent_runtime, retrieve, run_tool):
    retriever = WebSearchRetriever(runtime=agent_runtime, include_answer=True)
    tool = web_search_tool(agent_runtime)
    plain = await retrieve(retriever, "q"), await run_tool(tool, queries=["q"])

    heard = []

    class Handler(NullEventHandler.__base__):
        def handle(self, event, **kwargs):
            heard.append(event.class_name())

    dispatcher.add_event_handler(Handler())
    try:
        streamed = await retrieve(retriever, "q"), await run_tool(tool, queries=["q"])
    finally:
        dispatcher.event_handlers.pop()

    assert plain == streamed
    assert heard.count("WebSearchProgressEvent") == 6


# -- agents and workflows --------------------------------------------------------------------------


@needs_step
async def test_an_agents_event_stream_shows_progress(streaming_runtime, run_agent):
    handler = run_agent(streaming_runtime, {"queries": ["q"]})

    progress = await progress_of(handler)

    assert [FIRST, FOUND, READING] == told(progress)
    assert FIRST == json.loads(progress[0].model_dump_json())
    assert "https://beta.example/b" in str(await handler)


async def test_the_tool_declares_no_context(streaming_runtime):
    tool = web_search_tool(streaming_runtime)

    assert not tool.requires_context
    assert list(tool.metadata.get_parameters_dict()["properties"]) == ["queries"]
    # It would refuse a tool that does.
    agent = CodeActAgent(tools=[tool], llm=MockLLM(), code_execute_fn=lambda code: code)
    assert len(agent._get_tool_fns([tool])) == 1


@needs_step
async def test_an_argument_called_ctx_is_the_models_own_slip(streaming_runtime, run_agent):
    handler = run_agent(streaming_runtime, {"queries": ["q"], "ctx": "none"})

    assert len(await progress_of(handler)) == 3
    assert "https://beta.example/b" in str(await handler)


class Asking(Workflow):
    def __init__(self, search):
        super().__init__()
        self._search = search

    @step
    async def ask(self, ctx: Context, ev: StartEvent) -> StopEvent:
        return StopEvent(result=await self._search())


@needs_step
async def test_a_workflow_of_ones_own_shows_progress(streaming_runtime):
    spec = WebToolSpec(streaming_runtime)
    handler = Asking(lambda: spec.aweb_search(["q"])).run()

    assert [FIRST, FOUND, READING] == told(await progress_of(handler))
    assert (await handler).raw_output["queries"] == ["q"]


async def test_a_blocking_call_in_a_step_writes_nothing_and_works(
    streaming_runtime, streaming_provider
):
    tool = web_search_tool(streaming_runtime)
    handler = Asking(lambda: asyncio.to_thread(tool.call, queries=["q"])).run()

    assert [] == await progress_of(handler)
    assert (await handler).raw_output["queries"] == ["q"]
    assert streaming_provider.streamed == 0


async def test_a_workflow_without_a_way_to_ask_for_its_step_shows_nothing(
    streaming_runtime, run_agent, monkeypatch
):
    monkeypatch.delattr(Context, "get_step_context", raising=False)
    handler = run_agent(streaming_runtime, {"queries": ["q"]})

    assert [] == await progress_of(handler)
    assert "https://beta.example/b" in str(await handler)


@needs_step
async def test_an_agents_loop_stays_free_and_progress_comes_at_once(
    loopback, agent_runtime, run_agent
):
    loopback.delay = 12 * TICK
    late, came, ended = [], [], []

    async def tick():
        while True:
            started = time.monotonic()
            await asyncio.sleep(TICK)
            late.append(time.monotonic() - started - TICK)

    handler = run_agent(agent_runtime, {"queries": ["q"]})
    async for event in handler.stream_events():
        if type(event) is WebSearchProgress:
            came.append((event.stage or event.kind, time.monotonic()))
            if len(came) == 1:
                # Making an agent itself takes long; what counts is the search.
                ticker = asyncio.ensure_future(tick())
            if event.kind == "sources":
                ticker.cancel()
                ended.append(len(late))

    assert ["searching", "searched", "sources"] == [name for name, _ in came]
    assert came[1][1] - came[0][1] > 6 * TICK
    assert ended[0] >= 5
    assert max(late) < 5 * TICK


@needs_step
async def test_cancelling_an_agent_closes_the_stream(loopback, agent_runtime, run_agent):
    loopback.delay = 10
    handler = run_agent(agent_runtime, {"queries": ["q"]})
    async for event in handler.stream_events():
        if type(event) is WebSearchProgress:
            break

    cancelled = asyncio.ensure_future(handler.cancel_run())
    assert await asyncio.to_thread(loopback.hung_up.wait, 0.2)

    await cancelled
    with pytest.raises(WorkflowCancelledByUser):
        await handler


async def test_cancelling_the_task_of_a_tool_call_closes_the_stream(
    loopback, agent_runtime, event_log
):
    loopback.delay = 10
    task = asyncio.ensure_future(web_search_tool(agent_runtime).acall(queries=["q"]))
    assert await asyncio.to_thread(loopback.asked.wait, 5)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await asyncio.to_thread(loopback.hung_up.wait, 0.2)
