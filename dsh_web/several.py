"""Running one call per item at the same time, stopping the rest at the first failure."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeAlias, TypeVar

from .blocking import wait_for_workers
from .cancel import CancelToken
from .errors import WebCancelledError, WebError
from .progress import Advance

__all__ = ["per_item", "run_each", "run_each_async"]

Result = TypeVar("Result")
Outcome = TypeVar("Outcome")
Failure = TypeVar("Failure", bound=BaseException)
Salvage: TypeAlias = Callable[[Mapping[str, Result]], Any]


class _SiblingFailed(Exception):
    """Why a call was cancelled: another of the same group has failed."""


def run_each(
    items: Sequence[str],
    call: Callable[[str, CancelToken | None], Result],
    cancel: CancelToken | None,
    *,
    keep_errors: bool,
    advance: Advance,
    salvage: Salvage[Result] | None = None,
    concurrency: int | None = None,
) -> tuple[Result | WebError, ...]:
    """Return one outcome per query or address, in order.

    Args:
        items: Any number of them.
        call: Makes the call for one of them.
        cancel: Stops them all.
        keep_errors: Return a `WebError` in the place of its item instead of raising it.
        advance: Called in this thread whenever one of them has an outcome.
        salvage: Returns what a failure keeps as `partial`, from the outcomes of the items that
            were done by then; None: nothing.
        concurrency: Most calls at the same time, each in a thread of its own; None: all.

    Raises:
        WebError: The first failure, after all others have settled, unless `keep_errors`.
    """
    if not items:
        return ()
    if len(items) == 1 and not keep_errors:
        only = call(items[0], cancel)
        advance()
        return (only,)
    siblings = CancelToken.any(cancel)
    failures: list[BaseException] = []

    def run(item: str) -> Result | WebError | None:
        try:
            return call(item, siblings)
        except BaseException as error:  # a programming error in one must not wait for the others
            if keep_errors and isinstance(error, WebError):
                return error
            failures.append(error)
            siblings.cancel(_SiblingFailed("another call of the same group failed"))
            return None

    size = min(len(items), concurrency or len(items))
    with ThreadPoolExecutor(size, thread_name_prefix="dsh-web-each") as threads:
        contexts = [contextvars.copy_context() for _ in items]
        for context in contexts:
            context.run(wait_for_workers)
        futures = [
            threads.submit(context.run, run, item)
            for context, item in zip(contexts, items, strict=True)
        ]
        try:
            for _ in as_completed(futures):
                advance()
            outcomes = [future.result() for future in futures]
        except BaseException as error:  # Ctrl-C; the pool waits until all have settled
            siblings.cancel(error)
            raise
    if failures:
        raise _with_partial(failures[0], dict(zip(items, outcomes, strict=True)), salvage)
    _raise_if_cancelled(outcomes, cancel)
    return tuple(outcome for outcome in outcomes if outcome is not None)


def _with_partial(
    failure: Failure,
    outcomes: Mapping[str, Result | WebError | None],
    salvage: Salvage[Result] | None,
) -> Failure:
    """Return `failure` with what was done before it, unless it has something of its own."""
    done = {
        item: outcome
        for item, outcome in outcomes.items()
        if outcome is not None and not isinstance(outcome, WebError)
    }
    if salvage is not None and done and isinstance(failure, WebError) and failure.partial is None:
        failure.partial = salvage(done)
    return failure


def _raise_if_cancelled(outcomes: Sequence[object], cancel: CancelToken | None) -> None:
    """Raise the error of an item that was cancelled with the whole call: that is no outcome."""
    if cancel is not None and cancel.cancelled:
        for outcome in outcomes:
            if isinstance(outcome, WebCancelledError):
                raise outcome


async def run_each_async(
    items: Sequence[str],
    call: Callable[[str], Awaitable[Result]],
    cancel: CancelToken | None,
    *,
    keep_errors: bool,
    advance: Advance,
    salvage: Salvage[Result] | None = None,
    concurrency: int | None = None,
) -> tuple[Result | WebError, ...]:
    """Return one outcome per item, in order; one task per item. See `run_each`."""
    if not items:
        return ()
    failures: list[Exception] = []
    turns = asyncio.Semaphore(concurrency or len(items))

    async def outcome_of(item: str) -> Result | WebError:
        try:
            async with turns:
                return await call(item)
        except WebError as error:
            if keep_errors:
                return error
            raise

    async def run(item: str) -> Result | WebError:
        try:
            outcome = await outcome_of(item)
            advance()
        except Exception as error:
            failures.append(error)
            raise
        return outcome

    tasks = [asyncio.ensure_future(run(item)) for item in items]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        # Also on the way out of a cancelled task: nothing is left running behind the caller.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if failures:
        done = [task.result() if _is_done_well(task) else None for task in tasks]
        raise _with_partial(failures[0], dict(zip(items, done, strict=True)), salvage)
    outcomes = tuple(task.result() for task in tasks)
    _raise_if_cancelled(outcomes, cancel)
    return outcomes


def _is_done_well(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def per_item(
    asked: Sequence[object], unique: Sequence[str], outcomes: Sequence[Outcome]
) -> tuple[Outcome, ...]:
    """Return the outcome of each item that was asked for, where repeats have run once."""
    of_item: dict[object, Outcome] = dict(zip(unique, outcomes, strict=True))
    return tuple(of_item[item] for item in asked)
