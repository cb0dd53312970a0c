"""A one-shot cancel signal that works from any thread, in sync and async calls alike."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

__all__ = ["CancelReason", "CancelToken"]


class CancelReason(Exception):
    """Stands in as the cause of a cancelled call when the given reason is not an exception."""

    def __init__(self, reason: object) -> None:
        super().__init__("cancelled" if reason is None else str(reason))
        self.reason = reason


class CancelToken:
    """Stop one or many calls from anywhere.

    Hand the token to a call as `cancel=`; `token.cancel()` makes that call raise `WebError` with
    code `WEB_ABORTED` within 100 ms. One-shot: a cancelled token stays cancelled.
    """

    def __init__(self) -> None:
        # Re-entrant: a signal handler may cancel while its own thread is inside this class, and
        # the garbage collector may unsubscribe a child there.
        self._lock = threading.RLock()
        self._cancelled = False
        self._reason: object = None
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next_key = 0

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled

    @property
    def reason(self) -> object:
        """What `cancel` was given; None before, or when no reason was given."""
        return self._reason

    @property
    def cause(self) -> BaseException:
        """The reason as an exception, ready for `raise ... from`."""
        reason = self._reason
        return reason if isinstance(reason, BaseException) else CancelReason(reason)

    def cancel(self, reason: object = None) -> bool:
        """Cancel every call that holds this token; return False if it was cancelled before.

        Args:
            reason: Kept as the cause of the error: an exception, or anything that prints well.
        """
        with self._lock:
            if self._cancelled:
                return False
            self._reason = reason
            self._cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()
        return True

    def add_callback(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once, in the cancelling thread, and return a function that unsubscribes.

        A token that is already cancelled calls it at once. Callbacks must not raise or block.
        """
        with self._lock:
            key = self._next_key
            self._next_key += 1
            self._callbacks[key] = callback
            # Looked at afterwards: a signal handler may have cancelled between the lines above.
            is_late = self._cancelled and self._callbacks.pop(key, None) is not None
        if is_late:
            callback()
        return lambda: self._discard(key)

    def _discard(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    @classmethod
    def any(cls, *tokens: CancelToken | None) -> CancelToken:
        """Return a token that is cancelled, with the same reason, as soon as one of `tokens` is.

        None members are skipped, so an optional token can be passed on as it is. A long-lived
        parent keeps nothing of a child that is no longer used.
        """
        child = cls()
        reference = weakref.ref(child)
        for token in tokens:
            if token is not None:
                unsubscribe = token.add_callback(_Follower(reference, token))
                weakref.finalize(child, unsubscribe).atexit = False
        return child

    def __deepcopy__(self, memo: dict[int, object]) -> CancelToken:
        # Copying whatever holds a token must not cut it off from whoever cancels it.
        return self

    def __repr__(self) -> str:
        state = f"cancelled, reason={self._reason!r}" if self._cancelled else "live"
        return f"<CancelToken {state}>"


class _Follower:
    """Cancels a child token, if it still exists, with its parent's reason."""

    def __init__(self, child: weakref.ref[CancelToken], parent: CancelToken) -> None:
        self._child = child
        self._parent = parent

    def __call__(self) -> None:
        child = self._child()
        if child is not None:
            child.cancel(self._parent.reason)
