"""How far a call has come that does several things: a bar, or a function of the caller's."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from .errors import InvalidRequestError

__all__ = ["Advance", "ProgressSetting", "tracked"]

ProgressSetting: TypeAlias = bool | Callable[[int, int], None]
"""False: none. True: a tqdm bar, in notebooks one of their own. A function: called with how many
are done and how many there are, in the calling thread, from 0 on."""

Advance: TypeAlias = Callable[[], None]
"""To be called when one more is done."""


@contextmanager
def tracked(progress: ProgressSetting, total: int, unit: str) -> Iterator[Advance]:
    """Show that `total` things are to be done, and yield what to call after each.

    Args:
        progress: How to show it.
        total: How many there are.
        unit: What one of them is called.

    Raises:
        InvalidRequestError: A bar is asked for and tqdm is not installed, or `progress` is neither.
    """
    if progress is False:
        yield _nothing
        return
    if progress is True:
        bar = _bar(total, unit)
        try:
            yield lambda: bar.update() and None
        finally:
            bar.close()
        return
    if not callable(progress):
        raise InvalidRequestError(
            f"progress must be True, False or a function of two numbers, not {progress!r}"
        )
    done = 0
    progress(done, total)

    def advance() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    yield advance


def _nothing() -> None:
    return None


def _bar(total: int, unit: str) -> Any:
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ModuleNotFoundError as error:
        raise InvalidRequestError(
            'progress=True needs tqdm: run pip install "dsh-web[notebook]", or give a function '
            "that takes how many are done and how many there are"
        ) from error
    return tqdm(total=total, unit=f" {unit}", leave=True)
