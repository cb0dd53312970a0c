"""Running one call per query at the same time, stopping the rest at the first failure."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from .blocking import wait_for_workers
from .cancel import CancelToken
from .errors import WebCancelledError, WebError
from .seam import WebSearchResult

__all__ = ["run_each", "run_each_async"]


class _SiblingFailed(Exception):
    """Why a search was cancelled: another of the same call has failed."""


def run_each(
    queries: Sequence[str],
    search: Callable[[str, CancelToken | None], WebSearchResult],
    cancel: CancelToken | None,
    *,
    keep_errors: bool,
) -> tuple[WebSearchResult | WebError, ...]:
    """Return one outcome per query, in order; one thread per query.

    Raises:
        WebError: The first failure, after all others have settled, unless `keep_errors`.
    """
    if len(queries) == 1 and not keep_errors:
        return (search(queries[0], cancel),)
    siblings = CancelToken.any(cancel)
    failures: list[BaseException] = []

    def run(query: str) -> WebSearchResult | WebError | None:
        try:
            return search(query, siblings)
        except BaseException as error:  # a programming error in one must not wait for the others
            if keep_errors and isinstance(error, WebError):
                return error
            failures.append(error)
            siblings.cancel(_SiblingFailed("another query of the same call failed"))
            return None

    with ThreadPoolExecutor(len(queries), thread_name_prefix="dsh-web-query") as threads:
        contexts = [contextvars.copy_context() for _ in queries]
        for context in contexts:
            context.run(wait_for_workers)
        futures = [
            threads.submit(context.run, run, query)
            for context, query in zip(contexts, queries, strict=True)
        ]
        try:
            outcomes = [future.result() for future in futures]
        except BaseException as error:  # Ctrl-C; the pool waits until all have settled
            siblings.cancel(error)
            raise
    if failures:
        raise failures[0]
    _raise_if_cancelled(outcomes, cancel)
    return tuple(outcome for outcome in outcomes if outcome is not None)


def _raise_if_cancelled(outcomes: Sequence[object], cancel: CancelToken | None) -> None:
    """Raise the error of a query that was cancelled with the whole call: that is no outcome."""
    if cancel is not None and cancel.cancelled:
        for outcome in outcomes:
            if isinstance(outcome, WebCancelledError):
                raise outcome


async def run_each_async(
    queries: Sequence[str],
    search: Callable[[str], Awaitable[WebSearchResult]],
    cancel: CancelToken | None,
    *,
    keep_errors: bool,
) -> tuple[WebSearchResult | WebError, ...]:
    """Return one outcome per query, in order; one task per query. See `run_each`."""
    failures: list[Exception] = []

    async def run(query: str) -> WebSearchResult | WebError:
        try:
            return await search(query)
        except Exception as error:
            if keep_errors and isinstance(error, WebError):
                return error
            failures.append(error)
            raise

    tasks = [asyncio.ensure_future(run(query)) for query in queries]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        # Also on the way out of a cancelled task: nothing is left running behind the caller.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if failures:
        raise failures[0]
    outcomes = tuple(task.result() for task in tasks)
    _raise_if_cancelled(outcomes, cancel)
    return outcomes
