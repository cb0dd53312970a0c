"""`retriever`: the frameworks' retrievers and tools over the Search provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..calls import Mode, measured_call
from ..outcome import Outcome, Passage
from ..stage import Stage, UnknownWordError, refuse_unknown
from .tools import call_langchain_tool, call_llama_index_tool

INPUT = {"framework", "call", "http", "http_by_query", "options", "env", "secret"}
CALL = {"query", "both", "tool_call", "args", "kwargs", "k"}


def run_retriever(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Run the case with the retriever or tool that it names."""
    refuse_unknown("input", stage.input, INPUT)
    return run_framework(stage, stage.input["framework"], mode)


def run_framework(stage: Stage, framework: str, mode: Mode) -> Outcome:
    """Return the outcome of the case's `call`.

    Raises:
        UnknownWordError: There is no such framework here.
    """
    call = stage.input.get("call") or {}
    refuse_unknown("part of a call", call, CALL)
    run = FRAMEWORKS.get(framework)
    if run is None:
        raise UnknownWordError(f"unknown framework: {framework}")
    return run(stage, mode, call)


def retrieve_with(
    framework: str, runtime: Any, k: int | None = None
) -> tuple[Any, Callable[[str], Any], Callable[[str], Any]]:
    """Return a retriever of the framework with its sync and its async way to call it."""
    settings: dict[str, Any] = {} if k is None else {"k": k}
    if framework == "langchain":
        from langchain_dsh_web import WebSearchRetriever

        chain = WebSearchRetriever(runtime=runtime, **settings)
        return chain, chain.invoke, chain.ainvoke
    from llama_index_dsh_web import WebSearchRetriever as NodeRetriever

    index = NodeRetriever(runtime=runtime, **settings)
    return index, index.retrieve, index.aretrieve


def _retrieve(framework: str, stage: Stage, mode: Mode, call: Mapping[str, Any]) -> Outcome:
    runtime = stage.runtime()
    _, sync, make = retrieve_with(
        framework, runtime, call.get("k", stage.limits.get("max_results"))
    )
    query = call.get("query", "q")
    made = measured_call(mode, lambda: sync(query), lambda: make(query))
    outcome = stage.outcome(made, runtime)
    if made.value is None:
        return outcome

    def again(mode: Mode) -> list[Passage]:
        repeated = measured_call(mode, lambda: sync(query), lambda: make(query))
        if repeated.error is not None:
            raise repeated.error
        return [_passage(item) for item in repeated.value]

    outcome.passages = [_passage(item) for item in made.value]
    outcome.repeat = again
    if framework == "llama_index":
        outcome.stock_filter = lambda: _kept_by_stock_filter(made.value)
    return outcome


def _langchain(stage: Stage, mode: Mode, call: Mapping[str, Any]) -> Outcome:
    return _retrieve("langchain", stage, mode, call)


def _llama_index(stage: Stage, mode: Mode, call: Mapping[str, Any]) -> Outcome:
    return _retrieve("llama_index", stage, mode, call)


def _langchain_tool(stage: Stage, mode: Mode, call: Mapping[str, Any]) -> Outcome:
    return call_langchain_tool(stage, mode, _tool_call(call))


def _llama_index_tool(stage: Stage, mode: Mode, call: Mapping[str, Any]) -> Outcome:
    return call_llama_index_tool(stage, mode, _tool_call(call))


def _tool_call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    args = call.get("args") or call.get("kwargs") or {"queries": [call.get("query", "q")]}
    return {"args": args, **(call.get("tool_call") or {})}


FRAMEWORKS: Mapping[str, Callable[[Stage, Mode, Mapping[str, Any]], Outcome]] = {
    "langchain": _langchain,
    "langchain_retriever": _langchain,
    "langchain_tool": _langchain_tool,
    "llama_index": _llama_index,
    "llama_index_retriever": _llama_index,
    "llama_index_tool": _llama_index_tool,
    "llama_index_tool_spec": _llama_index_tool,
}
"""`framework` of a case to how it is called."""


def _passage(item: Any) -> Passage:
    if hasattr(item, "page_content"):
        return Passage(item.page_content, item.metadata, item.id)
    return Passage(item.node.get_content(), item.node.metadata, item.node.node_id, item.score)


def _kept_by_stock_filter(nodes: list[Any]) -> int:
    from llama_index.core.postprocessor import SimilarityPostprocessor

    return len(SimilarityPostprocessor(similarity_cutoff=0.0).postprocess_nodes(nodes))
