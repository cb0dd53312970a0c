"""Keys about time, event loops, copies and what a call leaves behind."""

from __future__ import annotations

from typing import Any, Final

from ..outcome import Outcome
from .compare import (
    Check,
    at_least,
    at_most,
    equal,
    measured,
)


def _documents(outcome: Outcome) -> Any:
    counted = outcome.measured.get("documents")
    return len(outcome.need("passages")) if counted is None else counted


CHECKS: Final[dict[str, Check]] = {
    "seconds_max": at_most(lambda o: o.need("seconds")),
    "pending_tasks_after": equal(lambda o: o.need("pending")),
    "open_connections": equal(lambda o: o.need("open_connections")),
    "server_sees_close_within_ms": at_most(measured("server_sees_close_ms")),
    "server_sees_sibling_close_within_ms": at_most(measured("server_sees_sibling_close_ms")),
    "last_call_seconds_max": at_most(measured("last_call_seconds")),
    "ticks_min": at_least(measured("ticks")),
    "calls_ok": equal(measured("calls_ok")),
    "stderr_empty": equal(measured("stderr_empty")),
    "documents": equal(_documents),
    "nest_asyncio_imported": equal(measured("nest_asyncio_imported")),
    "copy_works": equal(measured("copy_works")),
    "pickle_round_trip_works_or_raises_type_error_without_key": equal(
        measured("pickle_round_trip_works_or_raises_type_error_without_key")
    ),
}
