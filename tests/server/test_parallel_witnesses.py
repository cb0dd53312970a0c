"""Clients that other people wrote for Parallel work against the loopback server, unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import parallel
import pytest

from dsh_web.server import LoopbackServer

TIDES = "https://energy.example/articles/tides"
WIND = "https://www.wind.example.org/farms"
ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(os.environ.get("DSH_WEB_PEERS", ROOT / ".venv-peers")) / "bin" / "python"


def test_the_vendors_sdk_searches_and_extracts(server: LoopbackServer) -> None:
    with parallel.Parallel(api_key=server.api_key, base_url=server.url) as client:
        found = client.search(
            search_queries=["tidal turbines"],
            objective="How long do they last?",
            mode="basic",
            advanced_settings={"max_results": 2, "location": "uk"},
        )
        pages = client.extract(
            urls=[WIND, TIDES, "https://nowhere.example/"],
            advanced_settings={"full_content": True},
        )

    assert found.results[0].url == TIDES
    assert found.results[0].excerpts
    assert found.warnings is not None
    assert found.usage is not None
    assert {page.url for page in pages.results} == {WIND, TIDES}
    assert all(page.full_content for page in pages.results)
    assert [error.url for error in pages.errors] == ["https://nowhere.example/"]


async def test_the_vendors_sdk_searches_async(server: LoopbackServer) -> None:
    async with parallel.AsyncParallel(api_key=server.api_key, base_url=server.url) as client:
        found = await client.search(search_queries=["tidal turbines"])

    assert found.results[0].url == TIDES


def test_the_vendors_sdk_raises_its_own_errors(server: LoopbackServer) -> None:
    with (
        parallel.Parallel(api_key="wrong", base_url=server.url) as client,
        pytest.raises(parallel.AuthenticationError),
    ):
        client.search(search_queries=["tides"])
    with (
        parallel.Parallel(api_key=server.api_key, base_url=server.url, max_retries=0) as client,
        pytest.raises(parallel.UnprocessableEntityError),
    ):
        client.search(search_queries=["x" * 300])


SCRIPT = """
import asyncio, sys
from langchain_parallel import ParallelExtractTool, ParallelSearchRetriever, ParallelSearchTool

url, key = sys.argv[1:]
retriever = ParallelSearchRetriever(api_key=key, base_url=url, max_results=2)
documents = retriever.invoke("tidal turbines")
assert documents == asyncio.run(retriever.ainvoke("tidal turbines")) or len(documents) == 2
assert documents[0].metadata["url"] == "https://energy.example/articles/tides", documents
assert documents[0].page_content
tool = ParallelSearchTool(api_key=key, base_url=url)
found = tool.invoke({"search_queries": ["tidal turbines"], "objective": "how long they last"})
assert found["results"][0]["excerpts"], found
pages = ParallelExtractTool(api_key=key, base_url=url)
read = pages.invoke({"urls": ["https://energy.example/articles/tides"]})
assert "turbines" in str(read), read
print("ok")
"""


def test_langchain_parallel_retrieves_searches_and_extracts(server: LoopbackServer) -> None:
    if not PEERS.exists():
        pytest.skip(
            "langchain-parallel wants an older SDK: `make peers` gives it a place of its own"
        )
    run = subprocess.run(
        [PEERS, "-c", SCRIPT, server.url, server.api_key],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )

    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.strip() == "ok"
    assert {request.path for request in server.requests} == {"/v1/search", "/v1/extract"}


def test_the_peers_are_elsewhere_than_this_interpreter() -> None:
    assert Path(sys.executable).parent != PEERS.parent
