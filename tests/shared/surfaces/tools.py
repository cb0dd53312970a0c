"""`tool_args`, and the two frameworks' tools that it calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls import Call, Mode, measured_call
from ..outcome import Outcome, ToolReply
from ..stage import Stage, UnknownWordError, refuse_unknown, web_error_in
from .fetch import Network

INPUT = {"tool", "args", "max_queries", "http", "http_by_query", "options"}
FETCH_INPUT = {"tool", "args", "http", "dns", "routes", "limits", "options"}


def run_tool_args(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Call one framework's tool with the arguments as a model wrote them."""
    tool = stage.input.get("tool", "web_search")
    if tool not in ("web_search", "web_fetch"):
        raise UnknownWordError(f"unknown tool: {tool}")
    refuse_unknown("input", stage.input, INPUT if tool == "web_search" else FETCH_INPUT)
    call_tool = {"langchain": call_langchain_tool, "llama_index": call_llama_index_tool}[variant]
    return call_tool(stage, mode, {"args": stage.input["args"]}, name=tool)


def call_langchain_tool(
    stage: Stage, mode: Mode, tool_call: Mapping[str, Any], *, name: str = "web_search"
) -> Outcome:
    """Return the outcome of a tool call as a LangChain agent makes it."""
    from langchain_dsh_web import WebFetchTool, WebSearchTool

    kind = {"web_search": WebSearchTool, "web_fetch": WebFetchTool}[name]
    runtime, settings = _runtime(stage, name), _settings(stage, name)
    tool = kind(runtime=runtime, **settings)
    whole = {"type": "tool_call", "id": "call_1", "name": tool.name, **tool_call}
    call = measured_call(mode, lambda: tool.invoke(whole), lambda: tool.ainvoke(whole))
    outcome = stage.outcome(call, runtime)
    message = call.value
    if message is None:
        return outcome
    outcome.tool = ToolReply(
        type=type(message).__name__,
        text=str(getattr(message, "content", message)),
        payload=getattr(message, "artifact", None),
        state=getattr(message, "status", None),
        call_id=getattr(message, "tool_call_id", None),
    )
    if outcome.tool.state == "error":
        # A model is told in text; the typed error is what a caller gets who asks for it.
        raising = kind(runtime=runtime, handle_tool_error=False, **settings)
        typed = measured_call(mode, lambda: raising.invoke(whole), lambda: raising.ainvoke(whole))
        runtime.close()
        outcome.error, outcome.visible_error = web_error_in(typed.error), typed.error
    else:
        outcome.result = _result(outcome.tool.payload)
    return outcome


def call_llama_index_tool(
    stage: Stage, mode: Mode, tool_call: Mapping[str, Any], *, name: str = "web_search"
) -> Outcome:
    """Return the outcome of a tool call as a LlamaIndex agent makes it."""
    from llama_index_dsh_web import WebToolSpec

    runtime = _runtime(stage, name)
    spec = WebToolSpec(runtime=runtime, **_settings(stage, name))
    tool = next(t for t in spec.to_tool_list() if t.metadata.name == name)
    arguments = tool_call["args"]
    call: Call = measured_call(
        mode, lambda: tool.call(**arguments), lambda: tool.acall(**arguments)
    )
    outcome = stage.outcome(call, runtime)
    output = call.value
    if output is not None:
        outcome.tool = ToolReply(
            type=type(output).__name__,
            text=str(output.content),
            payload=output.raw_output if isinstance(output.raw_output, Mapping) else None,
            state="error" if output.is_error else "success",
        )
        if output.is_error:
            outcome.error = outcome.visible_error = output.exception
        else:
            outcome.result = _result(outcome.tool.payload)
    return outcome


def _runtime(stage: Stage, name: str) -> Any:
    return stage.runtime() if name == "web_search" else Network(stage).runtime()


def _settings(stage: Stage, name: str) -> dict[str, Any]:
    said = {**stage.input, **stage.options}
    names = ("max_queries", "max_results") if name == "web_search" else ()
    settings = {name: said[name] for name in names if name in said}
    if "tool_text_limit" in said:
        settings["max_output_chars"] = said["tool_text_limit"]
    return settings


def _result(payload: Mapping[str, Any] | None) -> Any:
    from dsh_web import WebPage, WebSearchResult

    if payload is None:
        return None
    kind = {"web_search": WebSearchResult, "web_fetch": WebPage}[payload["kind"]]
    return kind.model_validate(payload["result"])
