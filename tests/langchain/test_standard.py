"""LangChain's own suites, unmodified, against a loopback server."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from dsh_web import PerplexitySearchProvider, WebRuntime
from langchain_dsh_web import WebSearchRetriever, WebSearchTool


class _Served:
    """Gives the suites' properties a runtime that talks to the server of the running test."""

    @pytest.fixture(autouse=True)
    def _serve(self, server: Any) -> None:
        self.runtime = WebRuntime()
        self.runtime.register_search_provider(
            PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
        )


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
