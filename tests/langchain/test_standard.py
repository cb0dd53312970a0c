"""LangChain's own suites, unmodified, against a loopback server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from dsh_web import (
    HttpFetchProvider,
    ParallelSearchProvider,
    PerplexitySearchProvider,
    WebRuntime,
)
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebFetchTool, WebSearchRetriever, WebSearchTool


@pytest.fixture(scope="module", params=[PerplexitySearchProvider, ParallelSearchProvider])
def provider(request: pytest.FixtureRequest) -> Any:
    """LangChain's suites run once per vendor."""
    return request.param


@pytest.fixture(scope="module")
def loopback() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


class _Served:
    """Gives the suites' properties a runtime that talks to the server of the running test."""

    @pytest.fixture(autouse=True)
    def _serve(self, loopback: LoopbackServer, provider: Any) -> None:
        self.runtime = WebRuntime()
        self.runtime.register_search_provider(
            provider(api_key=loopback.api_key, base_url=loopback.url)
        )
        self.runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
        self.page = f"{loopback.url}/pages/1"


class TestRetriever(_Served, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return WebSearchRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"runtime": self.runtime}

    @property
    def retriever_query_example(self) -> str:
        return "how do I cancel an asyncio task"


class TestTool(_Served, ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> type[BaseTool]:
        return WebSearchTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"runtime": self.runtime}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"queries": ["how do I cancel an asyncio task"]}


class TestToolWithoutNetwork(ToolsUnitTests):
    @property
    def tool_constructor(self) -> type[BaseTool]:
        return WebSearchTool

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"queries": ["how do I cancel an asyncio task"]}


class TestToolWithCitationBlocks(TestTool):
    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"runtime": self.runtime, "citation_blocks": "search_result"}


class TestToolWithCitationBlocksWithoutNetwork(TestToolWithoutNetwork):
    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"citation_blocks": "search_result"}


class TestFetchTool(_Served, ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> type[BaseTool]:
        return WebFetchTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"runtime": self.runtime}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"url": self.page}


class TestFetchToolWithoutNetwork(ToolsUnitTests):
    @property
    def tool_constructor(self) -> type[BaseTool]:
        return WebFetchTool

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"url": "https://a.example/"}
