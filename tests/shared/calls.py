"""One call into the package, sync or async, measured from outside."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["sync", "async"]
MODES: tuple[Mode, Mode] = ("sync", "async")

_OURS = ("PERPLEXITY_", "PPLX_", "PARALLEL_", "DSH_WEB_")
_KEPT = ("DSH_WEB_SHARED",)


@dataclass(frozen=True, slots=True)
class Call:
    """What one call returned or raised, how long it took, and what it left running."""

    value: Any
    error: BaseException | None
    seconds: float
    pending: int
    """Tasks (async) or non-daemon threads (sync) that did not exist before."""


def measured_call(
    mode: Mode, sync: Callable[[], Any], make: Callable[[], Coroutine[Any, Any, Any]]
) -> Call:
    """Run `sync()`, or the coroutine of `make()` in an event loop of its own, and measure it."""
    return _measured_sync(sync) if mode == "sync" else asyncio.run(_measured_async(make))


def _measured_sync(function: Callable[[], Any]) -> Call:
    before = set(threading.enumerate())
    started = time.monotonic()
    value, error = None, None
    try:
        value = function()
    except Exception as raised:  # the outcome that the expectations look at
        error = raised
    seconds = time.monotonic() - started
    left = [t for t in threading.enumerate() if t not in before and not t.daemon]
    return Call(value, error, seconds, len(left))


async def _measured_async(make: Callable[[], Coroutine[Any, Any, Any]]) -> Call:
    before = asyncio.all_tasks()
    started = time.monotonic()
    value, error = None, None
    try:
        value = await make()
    except (Exception, asyncio.CancelledError) as raised:  # likewise
        error = raised
    return Call(value, error, time.monotonic() - started, len(asyncio.all_tasks() - before))


@contextlib.contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Run a block with only these of the variables that the package and HTTP clients read."""
    saved = dict(os.environ)
    for name in saved:
        is_ours = name.startswith(_OURS) and name not in _KEPT
        if is_ours or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)


@contextlib.contextmanager
def captured_logs() -> Iterator[list[str]]:
    """Collect every log record of a block, of all levels, as text."""
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, root = Collect(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
