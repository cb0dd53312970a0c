"""Waiting for one's turn: at most so many at a time for each key, the others in order."""

from __future__ import annotations

import os
import threading
from collections import deque

from .cancel import CancelToken
from .flow import Flow, WaitFor

__all__ = ["Stay", "Turn", "Turns"]


class Turns:
    """Hands out turns; safe to use from any thread and event loop, and after a fork.

    Args:
        limit: Turns that may be taken at the same time for one key; None: any number.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._taken: dict[str, int] = {}
        self._waiting: dict[str, deque[Turn]] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def ask(self, key: str) -> Turn:
        """Return a turn for `key`; it may begin once its `signal` is given, and must be ended."""
        self._leave_parent_behind()
        turn = Turn(self, key)
        with self._lock:
            if self._limit is None or self._taken.get(key, 0) < self._limit:
                self._taken[key] = self._taken.get(key, 0) + 1
                turn.signal.cancel()
            else:
                self._waiting.setdefault(key, deque()).append(turn)
        return turn

    def end(self, turn: Turn) -> None:
        """Take a turn back, whether it had begun or not, and let the next one begin."""
        self._leave_parent_behind()
        follower = None
        with self._lock:
            waiting = self._waiting.get(turn.key, deque())
            if turn in waiting:
                waiting.remove(turn)
            elif waiting:
                follower = waiting.popleft()
            elif turn.key in self._taken:
                self._taken[turn.key] -= 1
                if not self._taken[turn.key]:
                    del self._taken[turn.key]
            if not waiting:
                self._waiting.pop(turn.key, None)
        if follower is not None:
            # Outside the lock: it wakes others, which may ask for turns of their own.
            follower.signal.cancel()

    def _leave_parent_behind(self) -> None:
        # The turns that were under way belong to the parent; nobody here would ever end them.
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.Lock()
            self._taken, self._waiting = {}, {}


class Turn:
    """One turn. Use it as a context manager, which ends it."""

    def __init__(self, turns: Turns, key: str) -> None:
        self._turns = turns
        self.key = key
        self.signal = CancelToken()
        """Given when the turn may begin."""

    def __enter__(self) -> Turn:
        return self

    def __exit__(self, *exc: object) -> None:
        self._turns.end(self)


class Stay:
    """A fetch's stay with a host. Its turn is asked for once a connection is needed."""

    def __init__(self, turns: Turns, host: str) -> None:
        self._turns = turns
        self._host = host
        self._turn: Turn | None = None

    def begin(self) -> Flow[bool]:
        """Wait for the turn, unless it has come already; return whether that took its time."""
        if self._turn is not None:
            return False
        self._turn = self._turns.ask(self._host)
        if self._turn.signal.cancelled:
            return False
        yield WaitFor(self._turn.signal)
        return True

    def __enter__(self) -> Stay:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._turn is not None:
            self._turns.end(self._turn)
