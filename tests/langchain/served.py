"""Runtimes that reach a loopback server, and chat models that follow a script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from dsh_web import (
    HttpFetchProvider,
    ParallelChatProvider,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    WebRuntime,
)
from dsh_web.server import LoopbackServer

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


def runtime_at(
    server: LoopbackServer, *, kind: Any = None, fault: str = "", **options: Any
) -> WebRuntime:
    """Return a runtime whose searches and pages come from `server`; `fault` as its urls name it."""
    kind = kind or ANSWERING[REACH.vendor]
    base = f"{server.url}/_fault/{fault}" if fault else server.url
    settings = {"api_key": server.api_key, "base_url": base, "max_retries": 0, **options}
    runtime = WebRuntime()
    runtime.register_search_provider(kind(**settings))
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    return runtime


def searching_at(server: LoopbackServer, **options: Any) -> WebRuntime:
    """Return the same with the Search API, which is what retrievers want."""
    return runtime_at(server, kind=FINDING[REACH.vendor], **options)


class ScriptedModel(GenericFakeChatModel):
    """Says one message of its script after the other, and keeps what it was told."""

    heard: list[list[BaseMessage]]
    disable_streaming: bool = True

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.heard.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def scripted(*turns: AIMessage | str) -> ScriptedModel:
    """Return a model that says `turns`, then "done" for ever."""

    def script() -> Iterator[AIMessage]:
        for turn in turns:
            yield AIMessage(turn) if isinstance(turn, str) else turn
        while True:
            yield AIMessage("done")

    return ScriptedModel(messages=script(), heard=[])


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    """Return a turn that calls several tools at once."""
    made = [
        {"name": name, "args": arguments, "id": f"{name}-{number}"}
        for number, (name, arguments) in enumerate(wanted)
    ]
    return AIMessage("", tool_calls=made)


def searches(*queries: str) -> AIMessage:
    """Return a turn with one `web_search` call for each query."""
    return calls(*(("web_search", {"queries": [query]}) for query in queries))


def tool_messages(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


ASK: dict[str, Any] = {"messages": [("user", "?")]}
