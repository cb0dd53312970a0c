"""Reads the `input` of an Agent request: a text, or a list of items."""

from __future__ import annotations

from typing import Any

from dsh_web.server.api_errors import ApiError, join_path
from dsh_web.server.fields import Fields

_ROLES = ("user", "assistant", "system", "developer")
_OTHER_ITEMS: dict[str, tuple[str, ...]] = {
    "function_call": (
        "type",
        "id",
        "status",
        "call_id",
        "name",
        "arguments",
        "thought_signature",
    ),
    "function_call_output": (
        *("type", "id", "status", "call_id", "name", "output", "thought_signature"),
    ),
    "reasoning": ("type", "id", "status", "summary", "content", "encrypted_content"),
    "mcp_approval_response": ("type", "id", "approval_request_id", "approve", "reason"),
    "mcp_approval_request": (
        *(
            "type",
            "id",
            "server_label",
            "name",
            "arguments",
            "thought_signature",
            "connector_id",
        ),
    ),
    "mcp_call": (
        *("type", "id", "server_label", "name", "arguments", "output", "error"),
        *("approval_request_id", "connector_id"),
    ),
    "mcp_list_tools": ("type", "id", "server_label", "tools", "error", "connector_id"),
}
_NEEDED = {
    "function_call": ("call_id", "name"),
    "function_call_output": ("call_id", "output"),
}
_PARTS = {
    "input_text": ("type", "text"),
    "output_text": ("type", "text", "annotations"),
    "input_image": ("type", "image_url", "detail"),
    "input_file": ("type", "file_data", "file_url", "filename"),
}


def read_question(value: Any) -> tuple[str, str]:
    """Return `(question, all text)` of an input.

    The question is the last user message, or the last message of any role; both may be empty if the
    items carry no text, such as an image alone.

    Raises:
        ApiError: 400 if the input is empty, of the wrong type, or holds unknown items or fields.
    """
    if value == "":
        raise ApiError(400, "input must not be an empty string", param="input")
    if isinstance(value, str):
        return value, value
    if not isinstance(value, list) or not value:
        # The service speaks of an array whatever else was sent.
        raise ApiError(400, "input must not be an empty array", param="input")
    texts: list[tuple[str, str]] = []
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            raise ApiError(400, f"input[{position}] must be an object", param=f"input[{position}]")
        texts.append(_read_item(Fields(item, ("input", position))))
    asked = [text for role, text in texts if role == "user" and text]
    said = [text for _, text in texts if text]
    question = asked[-1] if asked else said[-1] if said else ""
    return question, "\n".join(said)


def _read_item(fields: Fields) -> tuple[str, str]:
    kind = fields.values.get("type", "message")
    if kind == "message":
        fields.refuse_unknown(("type", "id", "status", "role", "content"))
        role = fields.word("role", _ROLES)
        if not fields.has("role"):
            fields.note("role", "is required", "missing")
        text = _read_content(fields, "content")
        fields.raise_invalid_parameter()
        return role or "user", text
    if not isinstance(kind, str) or kind not in _OTHER_ITEMS:
        where = join_path((*fields.path, "type"))
        raise ApiError(400, f"unknown input item type {kind!r:.80}", param=where)
    fields.refuse_unknown(_OTHER_ITEMS[kind])
    for name in _NEEDED.get(kind, ()):
        if not fields.has(name):
            fields.note(name, "is required", "missing")
    text = _read_content(fields, "output") if kind == "function_call_output" else ""
    fields.raise_invalid_parameter()
    return kind, text


def _read_content(fields: Fields, name: str) -> str:
    value = fields.values.get(name)
    if isinstance(value, str):
        return value
    if value is None:
        fields.note(name, "is required", "missing")
        return ""
    texts = []
    for part in fields.objects(name):
        kind = part.values.get("type")
        if not isinstance(kind, str) or kind not in _PARTS:
            part.note("type", f"must be one of: {', '.join(_PARTS)}", "enum")
            continue
        part.refuse_unknown(_PARTS[kind])
        for field in _PARTS[kind]:
            if field not in {"type", "annotations"}:
                part.text(field)
        if kind.endswith("_text"):
            if not part.has("text"):
                part.note("text", "is required", "missing")
            texts.append(part.text("text") or "")
    return "\n".join(texts)
