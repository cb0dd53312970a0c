"""Blocking work that cannot be interrupted, done where leaving it behind hurts nobody."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from .scope import SyncScope

__all__ = ["Resolution", "call_in_thread", "call_in_thread_async"]

Result = TypeVar("Result")


class _Outcome(Generic[Result]):
    value: Result
    error: BaseException | None = None


def call_in_thread(scope: SyncScope, function: Callable[[], Result], *, name: str) -> Result:
    """Return what `function` returns, called in a daemon thread under the limits of `scope`.

    When a limit comes first the thread is left to finish by itself, and what it returns is lost.

    Raises:
        CallCancelled, DeadlinePassed: A limit of the call came first.
    """
    reader, writer = socket.socketpair()
    outcome: _Outcome[Result] = _Outcome()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.value = context.run(function)
        except BaseException as error:
            outcome.error = error
        finally:
            # Closing wakes the reader, and cannot fail when the reader is gone.
            writer.close()

    threading.Thread(target=work, name=name, daemon=True).start()
    try:
        scope.wait(reader)
    finally:
        reader.close()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


async def call_in_thread_async(function: Callable[[], Result], *, name: str) -> Result:
    """Return what `function` returns, called in a daemon thread.

    Not the loop's executor: `asyncio.run` waits for that one at its end, even for a call that was
    cancelled long before.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def finish(outcome: _Outcome[Result]) -> None:
        if future.done():
            late = getattr(outcome, "value", None)
            if inspect.iscoroutine(late):
                late.close()  # nobody is left to await it
            return
        if outcome.error is None:
            future.set_result(outcome.value)
        elif isinstance(outcome.error, StopIteration):
            # A future refuses it, and inside a coroutine it would mean something else.
            future.set_exception(RuntimeError(f"the callable raised {outcome.error!r}"))
        else:
            future.set_exception(outcome.error)

    def work() -> None:
        outcome: _Outcome[Result] = _Outcome()
        try:
            outcome.value = context.run(function)
        except BaseException as error:
            outcome.error = error
        # The loop may be closed by now, with nobody left to wait.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, outcome)

    threading.Thread(target=work, name=name, daemon=True).start()
    return await future


class Resolution:
    """A call of a function, sync or async, whose async part can be stopped from another thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._stop_waiting: Callable[[], None] = lambda: None
        self._is_stopped = False

    def run(self) -> Any:
        """Return what the function returns, awaited on an event loop of its own if need be."""
        value = self._function()
        return asyncio.run(self._wait(value)) if inspect.isawaitable(value) else value

    def stop(self) -> None:
        """Cancel what is being awaited, so that no loop runs on for a call that is over."""
        self._is_stopped = True
        self._stop_waiting()

    async def _wait(self, value: Awaitable[Any]) -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def stop_waiting() -> None:
            # The loop may have ended by itself in the meantime.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

        self._stop_waiting = stop_waiting
        if self._is_stopped:  # between the call of the function and this line
            stop_waiting()
        return await value
