"""What the vendors' products cost, for estimates where an answer does not say it itself.

Perplexity's pricing page (docs.perplexity.ai/docs/getting-started/pricing) and model list, read on
2026-10-09; Sonar's prices are the last ones before its retirement. Parallel's pricing page
(docs.parallel.ai/getting-started/pricing), read in 2026-11; its Chat is no longer on it, the prices
are those of 2026-08-14. US dollars. Prices change: the provider's own number always wins, and an
estimate is marked as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from .seam import Usage

__all__ = [
    "PARALLEL_PRICES_READ_ON",
    "PRICES_READ_ON",
    "ParallelMode",
    "agent_cost",
    "effort_cost",
    "parallel_chat_cost",
    "parallel_search_cost",
    "search_cost",
    "sonar_cost",
]

PRICES_READ_ON: Final = "2026-10-09"
PARALLEL_PRICES_READ_ON: Final = "2026-11"

SEARCH_REQUEST: Final = 0.005
SEARCH_REQUEST_FAST: Final = 0.001
AGENT_SEARCH: Final = 0.0025
AGENT_SEARCH_FAST: Final = 0.001

_AGENT_TOOLS: Final = {
    "search_people": 0.005,
    "finance_search": 0.005,
    "search_images": 0.0025,
    "fetch_url": 0.0005,
    "sandbox": 0.03,
}
"""Dollars per call, by the names of the bill."""

_AGENT_TOKENS: Final[dict[str, tuple[float, float]]] = {
    "perplexity/sonar": (0.25, 2.50),
    "openai/gpt-6-luna": (0.10, 0.50),
    "openai/gpt-5.6-luna": (0.20, 1.20),
    "openai/gpt-5.6-sol": (4, 20),
    "openai/gpt-6-sol": (2, 10),
    "anthropic/claude-haiku-5-5": (0.10, 0.50),
    "anthropic/claude-sonnet-5": (2, 10),
    "anthropic/claude-opus-5-5": (4, 20),
    "google/gemini-3.8-flash": (0.75, 3.75),
}
"""Dollars per million input and output tokens."""

_SONAR_TOKENS: Final[dict[str, tuple[float, float]]] = {
    "sonar": (1, 1),
    "sonar-pro": (3, 15),
    "sonar-reasoning-pro": (2, 8),
    "sonar-deep-research": (2, 8),
}
_SONAR_REQUEST: Final[dict[str, dict[str, float]]] = {
    "sonar": {"low": 0.005, "medium": 0.008, "high": 0.012},
    "sonar-pro": {"low": 0.006, "medium": 0.010, "high": 0.014},
    "sonar-reasoning-pro": {"low": 0.006, "medium": 0.010, "high": 0.014},
    "sonar-deep-research": {"low": 0.0, "medium": 0.0, "high": 0.0},
}

_RESEARCH_REASONING: Final = 3.0
"""Dollars per million reasoning tokens of deep research, which stand beside its output tokens."""
_RESEARCH_SEARCH: Final = 0.005

_EFFORTS: Final[dict[str, float]] = {"fast": 0.0015, "low": 0.004, "medium": 0.016}
"""Observed totals of one answer; the other efforts were not measured."""

ParallelMode: TypeAlias = Literal["turbo", "fast", "basic", "advanced"]

_PARALLEL_SEARCH: Final[dict[str, float]] = {
    "turbo": 0.001,
    "fast": 0.001,
    "basic": 0.005,
    "advanced": 0.005,
}
"""Dollars per request, with ten results."""
_PARALLEL_COUNTERS: Final = {"sku_search_additional_results": 0.001, "sku_extract_excerpts": 0.001}
"""Dollars per count, by the names of the counters that an answer holds."""
_PARALLEL_CHAT: Final = {"speed": 0.005, "lite": 0.005, "base": 0.010, "core": 0.025}
"""Dollars per request."""


def search_cost(*, is_fast: bool = False) -> float:
    """Return the price of one Search API request, however many queries and results it has."""
    return SEARCH_REQUEST_FAST if is_fast else SEARCH_REQUEST


def agent_cost(
    model: str | None,
    usage: Usage,
    *,
    is_fast: bool,
    tool_calls: Mapping[str, int] | None = None,
) -> float | None:
    """Return the estimated price of an Agent run, or None for a model that is not in the table.

    Args:
        model: The model that answered.
        usage: Its tokens and searches.
        is_fast: Whether web searches were of the fast kind.
        tool_calls: Calls per tool, by the names of the bill; None: all searches were of the web.
    """
    tokens = _token_cost(_AGENT_TOKENS, model, usage)
    if tokens is None:
        return None
    prices = {**_AGENT_TOOLS, "search_web": AGENT_SEARCH_FAST if is_fast else AGENT_SEARCH}
    calls = {"search_web": usage.searches or 0} if tool_calls is None else tool_calls
    return tokens + sum(count * prices.get(name, 0.0) for name, count in calls.items())


def effort_cost(effort: str | None) -> float | None:
    """Return what an answer at `effort` has cost when observed, or None if nobody measured it."""
    return _EFFORTS.get((effort or "").partition("@")[0])


def sonar_cost(model: str | None, usage: Usage | None, context_size: str | None) -> float | None:
    """Return the estimated price of a Sonar answer; without `usage`, of the request alone."""
    name = (model or "").rpartition("/")[2]
    fees = _SONAR_REQUEST.get(name)
    if fees is None:
        return None
    tokens = 0.0 if usage is None else _token_cost(_SONAR_TOKENS, name, usage)
    if tokens is None:
        return None
    if name == "sonar-deep-research" and usage is not None:
        tokens += (usage.reasoning_tokens or 0) * _RESEARCH_REASONING / 1e6
        tokens += (usage.searches or 0) * _RESEARCH_SEARCH
    return fees.get(context_size or "low", fees["low"]) + tokens


def parallel_search_cost(mode: str, counts: Mapping[str, int]) -> float:
    """Return the price of what a Parallel search counts, by the names of its counters.

    A counter of another name adds nothing: what it stands for is not on the price list.
    """
    prices = {**_PARALLEL_COUNTERS, "sku_search": _PARALLEL_SEARCH.get(mode, 0.0)}
    return sum(count * prices.get(name, 0.0) for name, count in counts.items())


def parallel_extract_cost(urls: int) -> float:
    """Return the price of reading so many pages; those that cannot be read count too."""
    return urls * _PARALLEL_COUNTERS["sku_extract_excerpts"]


def parallel_chat_cost(model: str) -> float | None:
    """Return the price of one answer, or None for a model that is not in the table."""
    return _PARALLEL_CHAT.get(model)


def _token_cost(
    table: dict[str, tuple[float, float]], model: str | None, usage: Usage
) -> float | None:
    prices = table.get(model or "")
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    return (usage.input_tokens * prices[0] + usage.output_tokens * prices[1]) / 1e6
