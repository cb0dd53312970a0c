"""Arguments as models really write them, read the same way by every framework's tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, WithJsonSchema, create_model

from .merge import check_queries

__all__ = ["read_queries", "web_search_arguments"]

ALIASES: Final = ("query", "queries", "input", "search_query")
"""Names under which models pass the query, whatever the schema says."""


def web_search_description(max_queries: int) -> str:
    """Return what a model is told about the `web_search` tool."""
    most = "one query" if max_queries == 1 else f"up to {max_queries} queries"
    return (
        "Search the web and get an answer or ranked sources with their URLs. "
        f"Give {most}; several queries run at the same time and are merged. "
        "Use it for anything recent, specific or worth citing."
    )


@lru_cache(maxsize=16)
def web_search_arguments(max_queries: int) -> type[BaseModel]:
    """Return the argument schema of `web_search`: `queries`, a list of 1 to `max_queries` texts.

    The model is shown a strict schema. What it then sends is taken as it is and left to
    `read_queries`, so that a slip in its JSON costs neither a failed call nor a turn.
    """
    shown = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": max_queries,
        "description": "Search queries, each a complete question or a few key words.",
    }
    return create_model(
        "WebSearchArguments",
        __config__=ConfigDict(extra="allow", json_schema_extra=_require_queries),
        queries=(Annotated[Any, WithJsonSchema(shown)], None),
    )


def _require_queries(schema: dict[str, Any]) -> None:
    schema["required"] = ["queries"]
    schema["properties"]["queries"].pop("default", None)
    schema["additionalProperties"] = False


def read_queries(arguments: Mapping[str, Any], max_queries: int) -> tuple[str, ...]:
    """Return the queries that a tool call means.

    Args:
        arguments: The call's arguments by name; `queries` may hold a list, one text, or either
            as JSON text, and another usual name may stand in for it.
        max_queries: Most queries allowed after exact repeats are dropped.

    Raises:
        InvalidRequestError: There is no query, one too many, or one that is not a non-empty text.
    """
    value = arguments.get("queries")
    if value is None:
        value = next((arguments[name] for name in ALIASES if arguments.get(name) is not None), None)
    value = _unwrap(value)
    if value is None:
        members: list[object] = []
    elif isinstance(value, list | tuple):
        members = list(value)
    else:
        members = [value]
    return check_queries(members, max_queries)


def _unwrap(value: Any) -> Any:
    """Return `value` with JSON text decoded, twice at most, and single-key objects opened."""
    for _ in range(2):
        value = _opened(value)
        if not isinstance(value, str):
            return value
        decoded = _decoded(value)
        if decoded is None:
            return value
        value = decoded
    return _opened(value)


def _opened(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in ALIASES:
            return inner
    return value


def _decoded(text: str) -> Any:
    """Return the JSON value of `text` if it is one that can mean queries, else None."""
    stripped = text.strip()
    if not stripped.startswith(("[", "{", '"')):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(value, list) and all(isinstance(member, str) for member in value)
    is_object = isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ALIASES
    return value if is_list or is_object or isinstance(value, str) else None
