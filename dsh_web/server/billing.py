"""The `usage` object of an Agent response: tokens, tool calls and a cost that adds up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsh_web.server.catalogue import token_price

# Factor on token prices, by service tier.
_TIERS = {"flex": 0.5, "priority": 2.0, "fast": 2.0}
_DECIMALS = 5


@dataclass(frozen=True)
class ToolUse:
    """Calls of one billed tool."""

    calls: int
    price: float
    """USD per call."""

    @property
    def cost(self) -> float:
        """USD for all calls."""
        return round(self.calls * self.price, _DECIMALS)


def usage(
    *,
    model: str,
    tier: str,
    input_tokens: int,
    output_tokens: int,
    reasoning_tokens: int,
    tools: Mapping[str, ToolUse],
) -> dict[str, Any]:
    """Return the usage object; keys about tools are absent if none was called.

    Args:
        model: The model that was billed.
        tier: The service tier that was asked for.
        input_tokens: Tokens read, sources included.
        output_tokens: Tokens written, reasoning included.
        reasoning_tokens: The part of `output_tokens` that is reasoning.
        tools: Billing name of each tool and its calls; those without calls are left out.
    """
    price = token_price(model)
    factor = _TIERS.get(tier, 1.0)
    input_cost = round(input_tokens * price.input * factor / 1e6, _DECIMALS)
    output_cost = round(output_tokens * price.output * factor / 1e6, _DECIMALS)
    called = {name: use for name, use in tools.items() if use.calls}
    tool_costs = {name: use.cost for name, use in called.items()}
    tools_cost = round(sum(tool_costs.values()), _DECIMALS)
    cost: dict[str, Any] = {
        "currency": "USD",
        "input_cost": input_cost,
        "output_cost": output_cost,
    }
    result: dict[str, Any] = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
    }
    if called:
        cost["tool_calls_cost"] = tools_cost
        cost["tool_calls_cost_details"] = tool_costs
        result["tool_calls_details"] = {
            name: {"invocation": use.calls, "cost_usd": use.cost} for name, use in called.items()
        }
    cost["total_cost"] = round(input_cost + output_cost + tools_cost, _DECIMALS)
    result["cost"] = cost
    return result
