"""The tool inside `create_agent`, driven by a scripted model."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware, ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from dsh_web import ProviderError, WebSearchResult
from langchain_dsh_web import WebSearchTool, WebToolException, is_retryable


class ScriptedModel(GenericFakeChatModel):
    disable_streaming: bool = True

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self


def turn(*queries: str) -> AIMessage:
    calls = [
        {"name": "web_search", "args": {"queries": [query]}, "id": f"call-{query}"}
        for query in queries
    ]
    return AIMessage(content="", tool_calls=calls)


def agent(tool: WebSearchTool, *turns: AIMessage, **settings: Any) -> Any:
    script = iter([*turns, AIMessage(content="done")])
    return create_agent(ScriptedModel(messages=script), tools=[tool], **settings)


def tool_messages(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


ASK = {"messages": [("user", "?")]}


async def test_an_agent_goes_on_after_a_failed_search(invoke, runtime_of):
    def answer(request):
        if request.query == "bad":
            raise ProviderError("the provider is down")
        return WebSearchResult(provider="fake", content="An answer.")

    state = await invoke(
        agent(WebSearchTool(runtime=runtime_of(answer)), turn("bad"), turn("good")), ASK
    )

    failed, found = tool_messages(state)
    assert (failed.status, found.status) == ("error", "success")
    assert failed.content == "web_search failed (WEB_PROVIDER_ERROR): the provider is down"
    assert state["messages"][-1].content == "done"


async def test_parallel_tool_calls_each_get_their_answer(invoke, runtime_of):
    def answer(request):
        return WebSearchResult(provider="fake", content=f"About {request.query}.")

    state = await invoke(agent(WebSearchTool(runtime=runtime_of(answer)), turn("a", "b", "c")), ASK)

    assert {
        message.tool_call_id: message.artifact["result"]["content"]
        for message in tool_messages(state)
    } == {"call-a": "About a.", "call-b": "About b.", "call-c": "About c."}


async def test_the_artifact_survives_a_checkpointer(invoke, runtime):
    asked = agent(WebSearchTool(runtime=runtime), turn("a"), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    await invoke(asked, ASK, thread)

    stored = tool_messages(asked.get_state(thread).values)[0].artifact

    assert runtime.search("a", max_results=8) == WebSearchResult.model_validate(stored["result"])


@pytest.mark.parametrize(("retryable", "attempts"), [(True, 3), (False, 1)])
async def test_retry_middleware_repeats_what_may_succeed(invoke, runtime_of, retryable, attempts):
    made = []

    def answer(request):
        made.append(request)
        raise ProviderError("no", retryable=retryable)

    def tell_the_model(error, request):
        return str(error) if isinstance(error, WebToolException) else None

    tool = WebSearchTool(runtime=runtime_of(answer), handle_tool_error=False)
    retries = ToolRetryMiddleware(
        max_retries=2, retry_on=is_retryable, on_failure="error", initial_delay=0.0, jitter=False
    )

    state = await invoke(
        agent(tool, turn("a"), middleware=[ToolErrorMiddleware(tell_the_model), retries]), ASK
    )

    assert len(made) == attempts
    assert tool_messages(state)[0].content.startswith("web_search failed (WEB_PROVIDER_ERROR): no")
