"""Which threads stand still for the work that is being done here."""

from __future__ import annotations

import threading
from contextvars import ContextVar

__all__ = ["blocked_threads", "wait_for_workers"]

_waiting: ContextVar[frozenset[int]] = ContextVar("dsh_web_waiting_threads", default=frozenset())


def blocked_threads() -> frozenset[int]:
    """Return this thread and those that wait for it, none of which can do anything else now."""
    return _waiting.get() | {threading.get_ident()}


def wait_for_workers() -> None:
    """Note, for workers that get a copy of this context, that this thread will wait for them."""
    _waiting.set(blocked_threads())
