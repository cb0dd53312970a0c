"""Pieces of request bodies and results that several vendors' APIs share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..seam import FilterSupport, Usage

__all__ = ["EXACT", "json_schema_format", "with_estimate"]

EXACT: Final = FilterSupport(level="exact")


def json_schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `response_format` field that asks for an answer of that schema."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(schema.get("title") or "answer"))[:64]
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}


def with_estimate(usage: Usage, cost: float | None) -> Usage:
    """Return `usage` with an estimated cost, if there is one."""
    if cost is None:
        return usage
    return usage.model_copy(update={"cost_usd": round(cost, 6), "cost_is_estimate": True})
