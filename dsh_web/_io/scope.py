"""The limits of one call: its deadline and its cancel token, and waiting under both."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

from ..cancel import CancelToken

__all__ = [
    "AsyncScope",
    "CallCancelled",
    "DeadlinePassed",
    "SyncScope",
    "sync_scope",
]


class DeadlinePassed(Exception):
    """The call's own time is over."""


class CallCancelled(Exception):
    """The call's token was cancelled."""


class _Limits:
    """A deadline on the monotonic clock and a token, either of which may be missing."""

    __slots__ = ("deadline", "token")

    def __init__(self, timeout: float | None, token: CancelToken | None) -> None:
        self.deadline = None if timeout is None else time.monotonic() + timeout
        self.token = token

    def check(self) -> None:
        """Raise if the call is cancelled or over; a cancel wins, since somebody asked for it."""
        if self.token is not None and self.token.cancelled:
            raise CallCancelled
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise DeadlinePassed

    def remaining(self) -> float | None:
        """Return the seconds left (0 at least), or None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def has_time_for(self, seconds: float) -> bool:
        """Return whether a wait of `seconds` would end before the deadline."""
        remaining = self.remaining()
        return remaining is None or seconds < remaining


class SyncScope(_Limits):
    """Limits for blocking code: every wait of the call goes through `wait` or `sleep`."""

    __slots__ = ("_wake_reader",)

    def __init__(
        self,
        timeout: float | None,
        token: CancelToken | None,
        wake_reader: socket.socket | None,
    ) -> None:
        super().__init__(timeout, token)
        self._wake_reader = wake_reader

    def wait(
        self, sock: socket.socket, *, for_write: bool = False, timeout: float | None = None
    ) -> None:
        """Block until `sock` is ready.

        Raises:
            CallCancelled, DeadlinePassed: A limit of the call came first.
            TimeoutError: `timeout` seconds came first.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            # Before the socket is looked at: a server that never stops sending is always ready.
            self.check()
            seconds = self.remaining()
            if end is not None:
                left = max(0.0, end - time.monotonic())
                seconds = left if seconds is None else min(left, seconds)
            if _poll(sock, for_write, self._wake_reader, seconds):
                return
            self.check()
            if end is not None and time.monotonic() >= end:
                raise TimeoutError("timed out")

    def wait_for(self, signal: CancelToken) -> None:
        """Block until `signal` is given.

        Raises:
            CallCancelled, DeadlinePassed: A limit of the call came first.
        """
        woken = threading.Event()
        unsubscribe = signal.add_callback(woken.set)
        forget = self.token.add_callback(woken.set) if self.token is not None else None
        try:
            remaining = self.remaining()
            woken.wait(None if remaining is None else min(remaining, threading.TIMEOUT_MAX))
        finally:
            unsubscribe()
            if forget is not None:
                forget()
        if not signal.cancelled:
            self.check()

    def sleep(self, seconds: float) -> None:
        """Wait `seconds`, less if a limit of the call comes first (which raises)."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            remaining = self.remaining()
            pause = left if remaining is None else min(left, remaining)
            if self._wake_reader is None:
                time.sleep(pause)
            else:
                _poll(self._wake_reader, False, None, pause)
        self.check()


_LONGEST_POLL = 2**31 - 1


def _poll(
    sock: socket.socket, for_write: bool, woken: socket.socket | None, timeout: float | None
) -> bool:
    """Return whether `sock` became ready in time; a wake-up counts as not ready."""
    if not hasattr(select, "poll"):  # Windows
        readers = [s for s in (woken, None if for_write else sock) if s is not None]
        readable, writable, broken = select.select(
            readers, [sock] if for_write else [], [sock], timeout
        )
        return sock in readable or sock in writable or sock in broken
    poller = select.poll()
    poller.register(sock, select.POLLOUT if for_write else select.POLLIN)
    if woken is not None:
        poller.register(woken, select.POLLIN)
    # Rounded up: a wait that ends a moment early would spin.
    events = poller.poll(None if timeout is None else min(int(timeout * 1000) + 1, _LONGEST_POLL))
    return any(fileno == sock.fileno() for fileno, _ in events)


@contextlib.contextmanager
def sync_scope(timeout: float | None, token: CancelToken | None) -> Iterator[SyncScope]:
    """Open the limits of one blocking call; a cancel from another thread wakes its waits."""
    if token is None:
        yield SyncScope(timeout, None, None)
        return
    alarm = _Alarm()
    unsubscribe = token.add_callback(alarm.ring)
    try:
        yield SyncScope(timeout, token, alarm.reader)
    finally:
        unsubscribe()
        alarm.close()


class _Alarm:
    """A socket that becomes readable when another thread rings."""

    __slots__ = ("_lock", "_writer", "reader")

    def __init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        # Re-entrant, since a signal handler may ring while this thread closes.
        self._lock = threading.RLock()

    def ring(self) -> None:
        # A cancel may come as the call ends. Without the lock its byte could go out on a
        # descriptor that by then belongs to somebody else's connection.
        with self._lock, contextlib.suppress(OSError):
            self._writer.send(b"\0")

    def close(self) -> None:
        with self._lock:
            self._writer.close()
            self.reader.close()


class AsyncScope(_Limits):
    """Limits for coroutines: they interrupt whatever is awaited inside `guard`."""

    __slots__ = ()

    @contextlib.asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """Run the body under the limits; interrupt it where it awaits when one is reached.

        Cancelling the task itself stays what it is: `asyncio.CancelledError` goes through. A call
        that works in several stretches, as a stream does, guards each of them.

        Raises:
            CallCancelled, DeadlinePassed: A limit of the call was reached.
        """
        self.check()
        token = self.token
        limit = asyncio.timeout(self.remaining())
        unsubscribe: Callable[[], None] | None = None
        is_inside = False
        try:
            async with limit:
                is_inside = True
                if token is not None:
                    loop = asyncio.get_running_loop()

                    def interrupt() -> None:
                        # An expired limit is interrupting already, and refuses to be moved.
                        if is_inside and not limit.expired():
                            limit.reschedule(loop.time())

                    unsubscribe = token.add_callback(lambda: _call_in_loop(loop, interrupt))
                try:
                    yield
                finally:
                    is_inside = False
                    if unsubscribe is not None:
                        unsubscribe()
        except TimeoutError:
            if limit.expired():
                # Classified by the token, never by the shape of the error.
                if token is not None and token.cancelled:
                    raise CallCancelled from None
                raise DeadlinePassed from None
            raise

    async def wait_for(self, signal: CancelToken) -> None:
        """Wait until `signal` is given; the limits of the call interrupt it inside `guard` only."""
        loop, given = asyncio.get_running_loop(), asyncio.Event()
        unsubscribe = signal.add_callback(lambda: _call_in_loop(loop, given.set))
        try:
            await given.wait()
        finally:
            unsubscribe()


def _call_in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    # A loop that is closed has no call left to interrupt.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)
