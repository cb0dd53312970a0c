"""The Agent API's response object, with the 32 keys that every captured answer carried."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dsh_web.server.agent_request import AgentRequest
from dsh_web.server.agent_run import AgentRun
from dsh_web.server.billing import usage

_PRESET_TOOLS = {"fast": ("web_search",)}
_OTHER_PRESET_TOOLS = ("web_search", "fetch_url")


def opening(request: AgentRequest, response_id: str, status: str) -> dict[str, Any]:
    """Return the response object of a run that is not over."""
    tier = request.get("service_tier", "auto")
    return {
        "id": response_id,
        "object": "response",
        "created_at": int(time.time()),
        "completed_at": None,
        "status": status,
        # Until it is over, a run names the configuration that it was asked for.
        "model": request.model if request.preset is None else request.preset.name,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
        "background": request.get("background", False),
        "store": request.get("store", True),
        "parallel_tool_calls": request.get("parallel_tool_calls", True),
        "previous_response_id": request.get("previous_response_id", None),
        "instructions": request.get("instructions", None),
        "prompt_cache_key": request.get("prompt_cache_key", None),
        "safety_identifier": None,
        "user": None,
        "max_output_tokens": request.get("max_output_tokens", None),
        "max_tool_calls": request.get("max_tool_calls", None),
        "reasoning": _reasoning(request),
        "metadata": request.get("metadata", {}),
        "tools": _tools(request),
        "tool_choice": request.tool_choice.echo,
        "text": {"format": {"type": "text"}},
        "service_tier": tier if tier in {"fast", "flex", "priority"} else "default",
        "temperature": request.get("temperature", 1),
        "top_p": request.get("top_p", 1),
        "top_logprobs": 0,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "truncation": request.get("truncation", ""),
    }


def closing(
    begun: Mapping[str, Any], request: AgentRequest, run: AgentRun, finished_at: int
) -> dict[str, Any]:
    """Return the response object of a run that is over.

    Args:
        begun: What `opening` returned for it.
        request: What was asked.
        run: What came of it.
        finished_at: Unix second; the service reports it as the time of creation too.
    """
    reasons = {"incomplete": "max_output_tokens", "cancelled": "cancelled"}
    reason = reasons.get(run.outcome)
    is_cancelled = run.outcome == "cancelled"
    return {
        **begun,
        "created_at": finished_at,
        "completed_at": finished_at if run.outcome == "completed" else None,
        "status": run.outcome,
        "model": begun["model"] if is_cancelled else request.model,
        "output": run.output,
        "error": run.error,
        "incomplete_details": None if reason is None else {"reason": reason},
        "usage": None if is_cancelled else _usage(request, run),
    }


def _usage(request: AgentRequest, run: AgentRun) -> dict[str, Any]:
    return usage(
        model=request.model,
        tier=request.get("service_tier", "auto"),
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        reasoning_tokens=run.reasoning_tokens,
        tools=run.tools,
    )


def _reasoning(request: AgentRequest) -> dict[str, Any] | None:
    asked = request.get("reasoning", None)
    return None if asked is None else {"effort": asked.get("effort"), "summary": None}


def _tools(request: AgentRequest) -> list[dict[str, Any]]:
    """Return the tools that were listed, and those of the preset after them."""
    listed = list(request.tools.echo)
    if request.preset is None:
        return listed
    brought = _PRESET_TOOLS.get(request.preset.name, _OTHER_PRESET_TOOLS)
    types = {tool["type"] for tool in listed}
    return listed + [{"type": kind} for kind in brought if kind not in types]
