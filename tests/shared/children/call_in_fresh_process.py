"""Runs one scenario in an interpreter of its own and prints what it saw as JSON.

python call_in_fresh_process.py <scenario> <framework or core> <sync or async> <base url>
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sized
from typing import Any


def caller(framework: str, mode: str, base_url: str) -> Callable[[], Any]:
    """Return a coroutine function that makes one search call, always with the same object."""
    from dsh_web import PerplexitySearchProvider, WebRuntime

    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexitySearchProvider(api_key="stub-key-0123456789", base_url=base_url)
    )
    sync: Any = runtime.search
    make: Any = runtime.asearch
    if framework == "langchain":
        from langchain_dsh_web import WebSearchRetriever

        chain = WebSearchRetriever(runtime=runtime)
        sync, make = chain.invoke, chain.ainvoke
    elif framework == "llama_index":
        from llama_index_dsh_web import WebSearchRetriever as NodeRetriever

        index = NodeRetriever(runtime=runtime)
        sync, make = index.retrieve, index.aretrieve

    async def call() -> Any:
        # The sync way too is called while a loop runs in this thread, as a notebook does.
        return sync("q") if mode == "sync" else await make("q")

    return call


def asyncio_run_twice(call: Callable[[], Any]) -> dict[str, Any]:
    """Call three times, each time in an event loop of its own."""
    answers = [asyncio.run(call()) for _ in range(3)]
    return {"calls_ok": sum(answer is not None for answer in answers)}


def sync_call_inside_running_loop(call: Callable[[], Any]) -> dict[str, Any]:
    """Call once while a loop is running."""
    answer = asyncio.run(call())
    documents: Sized = answer.sources if hasattr(answer, "sources") else answer
    return {"documents": len(documents), "nest_asyncio_imported": "nest_asyncio" in sys.modules}


if __name__ == "__main__":
    scenario, framework, mode, base_url = sys.argv[1:]
    seen = globals()[scenario](caller(framework, mode, base_url))
    sys.stdout.write(json.dumps(seen))
