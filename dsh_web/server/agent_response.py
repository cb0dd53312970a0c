"""The Agent API's response object, with the 32 keys that every captured answer carried."""

from __future__ import annotations

import time
from typing import Any

from dsh_web.server.agent_request import AgentRequest
from dsh_web.server.agent_run import AgentRun
from dsh_web.server.billing import usage

_PRESET_TOOLS = {"fast": ("web_search",)}
_OTHER_PRESET_TOOLS = ("web_search", "fetch_url")


def response_object(request: AgentRequest, run: AgentRun, response_id: str) -> dict[str, Any]:
    """Return the answer to a finished run."""
    now = int(time.time())
    tier = request.get("service_tier", "auto")
    return {
        "id": response_id,
        "object": "response",
        "created_at": now,
        "completed_at": now if run.is_complete else None,
        "status": "completed" if run.is_complete else "incomplete",
        "model": request.model,
        "output": run.output,
        "error": None,
        "incomplete_details": None if run.is_complete else {"reason": "max_output_tokens"},
        "usage": usage(
            model=request.model,
            tier=tier,
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            reasoning_tokens=run.reasoning_tokens,
            tools=run.tools,
        ),
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
