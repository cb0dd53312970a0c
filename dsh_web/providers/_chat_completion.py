"""The part of a chat completion that every vendor shares: one choice with one message."""

from __future__ import annotations

from typing import Any

from ._shape import Reader

__all__ = ["content_of", "first_choice"]


def first_choice(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """Return the choice with the index 0 (or none), or an empty one; the others are rivals."""
    for choice in reader.records(data, "choices"):
        if choice.get("index") in (None, 0):
            return choice
    return {}


def content_of(reader: Reader, message: dict[str, Any]) -> str | None:
    """Return the answer; gateways may send it as a list of typed parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        parts += [part for part in content if isinstance(part, str)]
        return "".join(part for part in parts if isinstance(part, str)) or None
    return reader.text(message, "content") or None
