"""Reads and checks the body of an Agent request. Strict: unknown fields are refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dsh_web.server.agent_input import read_question
from dsh_web.server.agent_tools import ToolChoice, Tools, read_tool_choice, read_tools
from dsh_web.server.api_errors import ApiError
from dsh_web.server.catalogue import (
    EFFORTS,
    MODEL_IDS,
    PRESETS,
    Preset,
    find_effort,
    find_preset,
)
from dsh_web.server.fields import Fields

_FIELDS = frozenset(
    {
        "input",
        "model",
        "models",
        "effort",
        "preset",
        "profile",
        "instructions",
        "language_preference",
    }
    | {
        "max_output_tokens",
        "max_steps",
        "max_tool_calls",
        "reasoning",
        "response_format",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    }
    | {
        "stream",
        "stream_options",
        "background",
        "previous_response_id",
        "store",
        "temperature",
        "top_p",
        "service_tier",
    }
    | {"prompt_cache_key", "skills", "step_budget_reminder", "metadata", "truncation"}
)
_REASONING = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TIERS = ("auto", "default", "flex", "priority", "fast")
_SKILL_FIELDS = {
    "builtin": ("type", "name"),
    "inline": ("type", "name", "description", "instructions"),
    "custom": ("type", "id", "version"),
}
_LEAST_OUTPUT_TOKENS = 16


@dataclass(frozen=True)
class AgentRequest:
    """A valid request."""

    values: Mapping[str, Any]
    """The body as sent, for what the response repeats."""
    question: str
    all_text: str
    model: str
    preset: Preset | None
    tools: Tools
    tool_choice: ToolChoice
    max_output_tokens: int | None
    """The cap in force: at least 16, from the request or else from the preset."""
    max_steps: int | None
    max_tool_calls: int | None

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the answer is to follow."""
        wanted = self.values.get("response_format")
        schema: Mapping[str, Any] | None = wanted and wanted["json_schema"]["schema"]
        return schema

    def get(self, name: str, default: Any) -> Any:
        """Return a field as sent, or `default` if it is absent or null."""
        value = self.values.get(name)
        return default if value is None else value


def read_agent_request(values: Any, may_be_continued: Callable[[str], bool]) -> AgentRequest:
    """Check a decoded body.

    Args:
        values: The decoded JSON.
        may_be_continued: Tells whether `previous_response_id` may hold an id.

    Raises:
        ApiError: 400 with the first thing that is wrong.
    """
    if not isinstance(values, dict):
        raise ApiError(400, "invalid request body: json: the body must be an object")
    fields = Fields(values)
    fields.refuse_unknown(_FIELDS)
    question, all_text = read_question(values.get("input"))
    preset, model = _read_configuration(fields)
    cap = fields.integer("max_output_tokens", least=1)
    if preset is None and model.startswith("anthropic/") and not fields.has("max_output_tokens"):
        raise ApiError(
            400,
            "max_output_tokens is required for Anthropic models",
            param="max_output_tokens",
        )
    max_steps = fields.integer("max_steps", least=1, most=100)
    max_tool_calls = fields.integer("max_tool_calls", least=0)
    _check_plain_fields(fields)
    _check_structures(fields)
    fields.raise_invalid_parameter()
    tools = read_tools(fields)
    tool_choice = read_tool_choice(fields, tools)
    previous = fields.text("previous_response_id")
    if previous is not None and not may_be_continued(previous):
        # The service gives no reason here either.
        raise ApiError(400)
    if cap is not None:
        cap = max(cap, _LEAST_OUTPUT_TOKENS)
    elif preset is not None:
        cap = preset.max_output_tokens
    return AgentRequest(
        values,
        question,
        all_text,
        model,
        preset,
        tools,
        tool_choice,
        cap,
        max_steps,
        max_tool_calls,
    )


def _read_configuration(fields: Fields) -> tuple[Preset | None, str]:
    effort, name = fields.text("effort"), fields.text("preset")
    model = fields.text("model", least=1)
    models = fields.texts("models", most_items=5, least=1)
    profile = fields.object("profile")
    if fields.values.get("models") == []:
        fields.note("models", "List should have at least 1 item", "too_short")
    preset = None
    if effort is not None:
        preset = find_effort(effort)
        if preset is None:
            fields.note("effort", f"must be one of: {', '.join(EFFORTS)}", "enum")
    elif name is not None:
        preset = find_preset(name)
        if preset is None:
            fields.note("preset", f"must be one of: {', '.join(PRESETS)}", "enum")
    if profile is not None:
        configured = _read_profile(fields, profile)
        preset = preset or configured
    fields.raise_invalid_parameter()
    wanted = models[0] if models else model
    if wanted is None and preset is None:
        raise ApiError(400, "one of model, models, effort, preset or profile is required")
    for candidate in models or filter(None, [model]):
        if candidate not in MODEL_IDS:
            raise ApiError(
                400,
                f"Invalid model {candidate!r:.100}; GET /v1/models lists the models",
                kind="invalid_model",
                param="models" if models else "model",
            )
    if wanted is not None:
        return preset, wanted
    assert preset is not None
    return preset, preset.model


def _read_profile(fields: Fields, profile: Fields) -> Preset:
    profile.refuse_unknown(("type", "id", "version"))
    if fields.has("preset"):
        raise ApiError(400, "profile cannot be used together with preset", param="profile")
    profile.word("type", ("custom",))
    profile.text("id", least=1, most=128)
    profile.text("version")
    if not profile.has("id"):
        profile.note("id", "is required", "missing")
    # What a profile holds is known to the real service only; it behaves like `low` here.
    return PRESETS["low"]


def _check_plain_fields(fields: Fields) -> None:
    for name in ("instructions", "prompt_cache_key", "previous_response_id"):
        fields.text(name)
    for name in (
        "stream",
        "background",
        "store",
        "parallel_tool_calls",
        "step_budget_reminder",
    ):
        fields.boolean(name)
    fields.number("temperature", least=0, most=2)
    fields.number("top_p", least=0, most=1)
    fields.word("service_tier", _TIERS)
    fields.word("truncation", ("auto", "disabled"))
    language = fields.text("language_preference")
    if language is not None and not re.fullmatch(r"[A-Za-z]{2}", language):
        fields.note(
            "language_preference",
            "must be a code of 2 letters",
            "string_pattern_mismatch",
        )


def _check_structures(fields: Fields) -> None:
    reasoning = fields.object("reasoning")
    if reasoning is not None:
        reasoning.refuse_unknown(("effort",))
        reasoning.word("effort", _REASONING)
    options = fields.object("stream_options")
    if options is not None:
        options.refuse_unknown(("include_usage",))
        options.boolean("include_usage")
    metadata = fields.object("metadata")
    if metadata is not None:
        if len(metadata.values) > 16 or any(len(key) > 64 for key in metadata.values):
            fields.note("metadata", "may hold at most 16 keys of 64 characters", "too_long")
        for key in metadata.values:
            metadata.text(key, most=512)
    for skill in fields.objects("skills", most_items=16):
        kind = skill.values.get("type")
        if not isinstance(kind, str) or kind not in _SKILL_FIELDS:
            skill.note("type", f"must be one of: {', '.join(_SKILL_FIELDS)}", "enum")
        else:
            skill.refuse_unknown(_SKILL_FIELDS[kind])
    _check_response_format(fields)


def _check_response_format(fields: Fields) -> None:
    wanted = fields.object("response_format")
    if wanted is None:
        return
    wanted.refuse_unknown(("type", "json_schema"))
    wanted.word("type", ("json_schema",))
    schema = wanted.object("json_schema")
    if schema is None:
        wanted.note("json_schema", "is required", "missing")
        return
    schema.refuse_unknown(("name", "schema", "strict", "description"))
    schema.text("name", least=1, most=64)
    body = schema.object("schema")
    if body is None or body.values.get("type") != "object":
        schema.note("schema", "must be an object schema", "schema")
