"""The built-in providers. Adding one takes a file beside this one and a line in a list below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BUILT_IN", "BUILT_IN_EXTRACT", "BUILT_IN_FETCH", "BuiltIn"]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One built-in provider. Named, not imported, so that importing stays cheap."""

    id: str
    location: str
    """`module:class`; the class is called without arguments."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that make this its vendor's default; empty: only by name."""


PERPLEXITY_KEYS: Final = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")

PARALLEL_KEYS: Final = ("PARALLEL_API_KEY",)

BUILT_IN: Final = (
    BuiltIn("perplexity", f"{__name__}.perplexity_agent:PerplexityAgentProvider", PERPLEXITY_KEYS),
    BuiltIn("perplexity-search", f"{__name__}.perplexity_search:PerplexitySearchProvider"),
    BuiltIn("perplexity-sonar", f"{__name__}.perplexity_sonar:PerplexitySonarProvider"),
    BuiltIn("parallel", f"{__name__}.parallel_search:ParallelSearchProvider", PARALLEL_KEYS),
    BuiltIn("parallel-chat", f"{__name__}.parallel_chat:ParallelChatProvider"),
)
"""Those that search."""

BUILT_IN_FETCH: Final = (BuiltIn("http", f"{__name__}.http_fetch:HttpFetchProvider"),)
"""Those that fetch; `WebRuntime.from_env` registers them all."""

BUILT_IN_EXTRACT: Final = (
    BuiltIn("parallel-extract", f"{__name__}.parallel_extract:ParallelExtractProvider"),
)
"""Those that extract; registered by name only: a key alone does not say that pages are to be read
by its vendor."""
