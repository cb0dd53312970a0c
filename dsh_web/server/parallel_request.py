"""Reads what Parallel's Search and Extract have in common. Strict: unknown fields are refused."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dsh_web.server.api_errors import ApiError, InvalidBodyError, read_json_object
from dsh_web.server.fields import Fields
from dsh_web.server.parallel_errors import ParallelError, note_unknown

LONGEST_OBJECTIVE: Final = 5_000
MOST_QUERIES: Final = 5
LONGEST_QUERY: Final = 200
_LONGEST_SESSION: Final = 1_000
_MOST_CHARS: Final = 10_000_000
LEAST_AGE: Final = 600


@dataclass(frozen=True)
class Wanted:
    """What pages are read for, and how much of them is wanted."""

    objective: str | None
    queries: tuple[str, ...]
    dropped_queries: int
    chars_total: int | None
    chars_per_result: int | None
    session_id: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The queries, and the objective last."""
        return self.queries + ((self.objective,) if self.objective else ())


def new_id(kind: str) -> str:
    """Return an id as the service makes them: `search_` and 32 hexadecimal digits."""
    return f"{kind}_{uuid.uuid4().hex}"


def read_body(body: bytes, reference: str) -> Mapping[str, Any]:
    """Return the JSON object of a request.

    Raises:
        ParallelError: 422 if there is none.
    """
    try:
        return read_json_object(body)
    except (ApiError, InvalidBodyError) as error:
        raise ParallelError(
            422, f"Request validation error: {error}", reference=reference
        ) from error


def read_wanted(fields: Fields, settings: Fields | None) -> Wanted:
    """Return what Search and Extract share; what is wrong is noted."""
    queries = fields.texts("search_queries", most_items=_MOST_CHARS, least=1, most=LONGEST_QUERY)
    objective = fields.text("objective", most=LONGEST_OBJECTIVE)
    session = fields.text("session_id", most=_LONGEST_SESSION)
    fields.text("client_model")
    total = fields.integer("max_chars_total", least=1, most=_MOST_CHARS)
    excerpts = settings.object("excerpt_settings") if settings else None
    per_result = None
    if excerpts is not None:
        note_unknown(excerpts, ("max_chars_per_result",))
        per_result = excerpts.integer("max_chars_per_result", least=1, most=_MOST_CHARS)
    if settings is not None:
        _check_fetch_policy(settings.object("fetch_policy"))
    return Wanted(
        objective=objective if objective and objective.strip() else None,
        queries=tuple(queries[:MOST_QUERIES]),
        dropped_queries=max(0, len(queries) - MOST_QUERIES),
        chars_total=total,
        chars_per_result=per_result,
        session_id=session or new_id("session"),
    )


def _check_fetch_policy(policy: Fields | None) -> None:
    if policy is None:
        return
    policy.integer("max_age_seconds", least=LEAST_AGE)
    policy.number("timeout_seconds", least=0, most=3_600)
    policy.boolean("disable_cache_fallback")


def warning(kind: str, message: str, **detail: Any) -> dict[str, Any]:
    """Return one entry of `warnings`."""
    entry: dict[str, Any] = {"type": kind, "message": message}
    return entry | ({"detail": detail} if detail else {})
