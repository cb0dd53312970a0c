"""`WebToolkit`: search and fetch for an agent, over one runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from langchain_core.tools import BaseTool
from langchain_core.tools.base import BaseToolkit
from pydantic import ConfigDict, Field, model_validator

from dsh_web import WebRuntime

from .fetch_tool import WebFetchTool
from .search_tool import WebSearchTool
from .settings import EnvironmentRuntime, RuntimeSettings

__all__ = ["WebToolkit"]


class WebToolkit(RuntimeSettings, BaseToolkit):
    """The tools `web_search` and `web_fetch`, which share one runtime and one rate limiter.

        toolkit = WebToolkit(search={"recency": "month"}, fetch={"main_content": True})
        agent = create_agent(model, tools=toolkit.get_tools())

    `timeout` holds for each call of either tool that does not set its own.

    Raises:
        ValidationError: An option is unknown, out of range or of the wrong type; here, not when
            the tools are first asked for.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    include: tuple[Literal["web_search", "web_fetch"], ...] = ("web_search", "web_fetch")
    """Which tools, and in which order."""
    search: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of `WebSearchTool`."""
    fetch: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of `WebFetchTool`."""

    @model_validator(mode="after")
    def _tools_can_be_built(self) -> Self:
        self.get_tools()
        return self

    def get_tools(self) -> list[BaseTool]:
        """Return new tools; those of one toolkit share its runtime."""
        return [self._tool(name) for name in self.include]

    def _tool(self, name: Literal["web_search", "web_fetch"]) -> BaseTool:
        shared = {"runtime": self.runtime, "rate_limiter": self.rate_limiter}
        common = {**shared, "timeout": self.timeout}
        tool: WebSearchTool | WebFetchTool
        if name == "web_search":
            tool = WebSearchTool(**{**common, **self.search})
        else:
            tool = WebFetchTool(**{**common, **self.fetch})
        if tool.runtime is None:
            tool._environment = self._shared_environment()
        return tool

    def _shared_environment(self) -> EnvironmentRuntime:
        if self._environment is None:
            self._environment = EnvironmentRuntime(self._runtime_from_env)
        return self._environment

    def _runtime_from_env(self) -> WebRuntime:
        most = WebSearchTool(**self.search).max_queries
        return WebRuntime.from_env(max_queries=most)
