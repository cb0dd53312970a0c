"""The web for LlamaIndex: a retriever, a query engine and a reader for pipelines, tools for agents.

    from llama_index_dsh_web import WebSearchRetriever

    nodes = WebSearchRetriever(k=5).retrieve("how do I cancel an asyncio task?")

Names are loaded on first use, since importing LlamaIndex takes over a second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events import (
        WebFetchEvent,
        WebPageSkippedEvent,
        WebSearchEvent,
        WebSearchProgress,
        WebSearchProgressEvent,
    )
    from .query_engine import WebAnswerQueryEngine
    from .reader import WebPageReader
    from .retriever import WebSearchRetriever
    from .search_call import SearchOptions
    from .tool_spec import WebToolSpec

__all__ = [
    "SearchOptions",
    "WebAnswerQueryEngine",
    "WebFetchEvent",
    "WebPageReader",
    "WebPageSkippedEvent",
    "WebSearchEvent",
    "WebSearchProgress",
    "WebSearchProgressEvent",
    "WebSearchRetriever",
    "WebToolSpec",
]

_MODULE_OF = {
    "SearchOptions": "search_call",
    "WebAnswerQueryEngine": "query_engine",
    "WebFetchEvent": "events",
    "WebPageReader": "reader",
    "WebPageSkippedEvent": "events",
    "WebSearchEvent": "events",
    "WebSearchProgress": "events",
    "WebSearchProgressEvent": "events",
    "WebSearchRetriever": "retriever",
    "WebToolSpec": "tool_spec",
}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f".{module}", __name__), name)
    except ModuleNotFoundError as error:
        # Only LlamaIndex itself is optional; any other missing module is a broken installation.
        if not (error.name or "").startswith("llama_index"):
            raise
        raise ImportError(
            f"{name} needs llama-index-core, which is not installed: "
            'pip install "dsh-web[llama-index]"'
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
