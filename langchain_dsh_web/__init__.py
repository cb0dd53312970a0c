"""The web for LangChain: a retriever and agent tools on top of `dsh_web`.

    from langchain_dsh_web import WebSearchRetriever

    documents = WebSearchRetriever(k=5).invoke("how do I cancel an asyncio task?")

Names are loaded on first use: LangChain's own import costs far more than everything here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import WebToolException, is_retryable
    from .fetch_tool import WebFetchTool
    from .retriever import WebSearchRetriever
    from .search_tool import WebSearchTool
    from .toolkit import WebToolkit

_MODULE_OF = {
    "WebFetchTool": "fetch_tool",
    "WebSearchRetriever": "retriever",
    "WebSearchTool": "search_tool",
    "WebToolException": "errors",
    "WebToolkit": "toolkit",
    "is_retryable": "errors",
}

__all__ = [
    "WebFetchTool",
    "WebSearchRetriever",
    "WebSearchTool",
    "WebToolException",
    "WebToolkit",
    "is_retryable",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f".{module}", __name__), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        raise ImportError(
            f"{__name__}.{name} needs langchain-core, which is not installed: "
            'pip install "dsh-web[langchain]"'
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
