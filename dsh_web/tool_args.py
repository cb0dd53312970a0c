"""Arguments as models really write them, read the same way by every framework's tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, WithJsonSchema, create_model

from .merge import check_queries

__all__ = ["read_queries", "web_search_arguments", "web_search_description"]

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
    """Return the list or text that `value` means; text that is not JSON for one stays as it is."""
    inner = _opened(value)
    # Twice, since models also encode what they have already encoded.
    for _ in range(2):
        text = inner.value if isinstance(inner, _Opened) else inner
        if not isinstance(text, str):
            break
        decoded = _opened(_decoded(text))
        if decoded == text:
            break
        inner = decoded
    if isinstance(inner, _Opened):
        # Whatever its type: one that is no query has to fault, not to be searched for as JSON.
        return [None] if inner.value is None else inner.value
    is_list = isinstance(inner, list) and all(isinstance(member, str) for member in inner)
    return inner if is_list or not isinstance(value, str) else value


def _opened(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in ALIASES:
            return _Opened(inner)
    return value


class _Opened:
    """What came out of an object: it is meant, where a bare JSON string is a quoted phrase."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _decoded(text: str) -> Any:
    if not text.lstrip().startswith(("[", "{", '"')):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
