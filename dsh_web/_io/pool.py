"""Idle connections, kept for the next call to their origin: constant time, last in first out."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Generic, Protocol, TypeAlias, TypeVar

from ..flow import Guard
from .route import Origin

__all__ = ["Pool"]

Key: TypeAlias = tuple[Origin, Guard | None]
"""Where a connection leads, and which guard has admitted it."""

MOST_KEYS = 64
"""Origins to keep connections to: a program that fetches pages visits them without end."""


class Poolable(Protocol):
    """A connection that is used by one call at a time."""

    def is_reusable(self) -> bool:
        """Return whether it is idle, fresh enough, and not closed by the other side."""
        ...

    def abort(self) -> None:
        """Close its socket at once, without talking to the server or to an event loop."""
        ...


Connection = TypeVar("Connection", bound=Poolable)


class Pool(Generic[Connection]):
    """A stack of idle connections per key, safe to use from any thread and after a fork.

    It hands out the most recently used connection and never closes a healthy one for being one
    too many; there are as many as calls were under way at the same time. Connections that idled
    too long are dropped as newer ones come back, and so are those to the origin that was not
    used for the longest time when there are too many origins.
    """

    def __init__(self) -> None:
        self._idle: dict[Key, list[Connection]] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._generation = 0
        # Also closes what is left at interpreter exit, so that nothing warns of open sockets.
        weakref.finalize(self, _abort_all, self._idle)

    @property
    def generation(self) -> int:
        """Grows when the pool is closed; a connection of an older generation is not kept."""
        return self._generation

    def take(self, key: Key) -> Connection | None:
        """Remove and return an idle connection that still works, or None."""
        self._leave_parent_behind()
        while True:
            with self._lock:
                stack = self._idle.get(key)
                if not stack:
                    return None
                connection = stack.pop()
                if not stack:
                    del self._idle[key]
            if connection.is_reusable():
                return connection
            connection.abort()

    def give(self, key: Key, connection: Connection, generation: int) -> None:
        """Keep `connection` for the next call, or close it if it cannot be used again."""
        if generation != self._generation or not connection.is_reusable():
            connection.abort()
            return
        with self._lock:
            # Put back at the end: the first key is the one that was not used for longest.
            stack = self._idle[key] = self._idle.pop(key, [])
            stack.append(connection)
            # The bottom of the stack has idled longest; one look per return keeps this constant.
            dropped = [stack.pop(0)] if len(stack) > 1 and not stack[0].is_reusable() else []
            if len(self._idle) > MOST_KEYS:
                dropped += self._idle.pop(next(iter(self._idle)))
        for unused in dropped:
            unused.abort()

    def close(self) -> None:
        """Close every idle connection. The pool stays usable."""
        self._leave_parent_behind()
        self._generation += 1
        with self._lock:
            stacks = list(self._idle.values())
            self._idle.clear()
        for stack in stacks:
            for connection in stack:
                connection.abort()

    def idle_count(self) -> int:
        """Return how many connections wait for a next call."""
        return sum(len(stack) for stack in self._idle.values())

    def _leave_parent_behind(self) -> None:
        # After a fork both processes hold the same sockets; only one may speak on them. The lock
        # is replaced too, since another thread of the parent may have held it at that moment.
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.Lock()
            _abort_all(self._idle)


def _abort_all(idle: dict[Key, list[Connection]]) -> None:
    for stack in list(idle.values()):
        for connection in stack:
            connection.abort()
    idle.clear()
