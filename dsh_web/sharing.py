"""One request for identical calls: those under way at the same time, and those asked again soon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeAlias

from .errors import WebCancelledError, WebError, WebTimeoutError
from .seam import WebSearchResult

if TYPE_CHECKING:
    from ._io.scope import AsyncScope, SyncScope

__all__ = ["ResultCache", "SharedCalls"]

ResultCache: TypeAlias = MutableMapping[str, Any]
"""Any mapping; `cachetools.TTLCache` brings a size and a time to live."""

_Flight: TypeAlias = "Future[WebSearchResult]"


class SharedCalls:
    """Lets identical calls share one request.

    Args:
        coalesce: Calls that are identical to one under way wait for its result.
        cache: Where good results are kept; None: nowhere. Access to it is serialized here.
    """

    def __init__(self, *, coalesce: bool, cache: ResultCache | None) -> None:
        self._coalesce = coalesce
        self._cache = cache
        self._flights: dict[str, _Flight] = {}
        self._lock = threading.Lock()

    @property
    def is_off(self) -> bool:
        """Whether every call simply runs."""
        return not self._coalesce and self._cache is None

    def run(
        self, key: str, call: Callable[[], WebSearchResult], scope: SyncScope
    ) -> WebSearchResult:
        """Return the result of `call`, or that of an identical one.

        A caller that waits keeps its own limits. If the call it waits for is cancelled or out of
        time by limits of its own, one of those that wait runs instead.
        """
        while True:
            known, flight = self._join(key)
            if known is not None:
                return known
            if flight is None:
                return self._lead(key, call)
            _wait(flight, scope)
            result = _landed(flight)
            if result is not None:
                return result

    async def run_async(
        self, key: str, call: Callable[[], Awaitable[WebSearchResult]], scope: AsyncScope
    ) -> WebSearchResult:
        """Return the result of `call`, or that of an identical one; see `run`."""
        while True:
            known, flight = self._join(key)
            if known is not None:
                return known
            if flight is None:
                return await self._lead_async(key, call)
            async with scope.guard():
                # A copy of the future: cancelling one that waits must not touch the others.
                await asyncio.wait([asyncio.wrap_future(flight)])
            result = _landed(flight)
            if result is not None:
                return result

    def _join(self, key: str) -> tuple[WebSearchResult | None, _Flight | None]:
        """Return a kept result, or the flight to wait for; neither: the caller leads now."""
        with self._lock:
            if self._cache is not None and key in self._cache:
                return _shared(self._cache[key]), None
            flight = self._flights.get(key)
            if flight is None and self._coalesce:
                self._flights[key] = Future()
            return None, flight

    def _lead(self, key: str, call: Callable[[], WebSearchResult]) -> WebSearchResult:
        try:
            result = call()
        except BaseException as error:
            self._land(key, None, error)
            raise
        self._land(key, result, None)
        return result

    async def _lead_async(
        self, key: str, call: Callable[[], Awaitable[WebSearchResult]]
    ) -> WebSearchResult:
        try:
            result = await call()
        except BaseException as error:
            self._land(key, None, error)
            raise
        self._land(key, result, None)
        return result

    def _land(self, key: str, result: WebSearchResult | None, error: BaseException | None) -> None:
        with self._lock:
            flight = self._flights.pop(key, None)
            if result is not None and self._cache is not None:
                self._cache[key] = result
        if flight is None:
            return
        if result is not None:
            flight.set_result(result)
        else:
            flight.set_exception(error or RuntimeError("a call ended without a result"))


def _shared(result: WebSearchResult) -> WebSearchResult:
    return result.model_copy(update={"cached": True})


def _landed(flight: _Flight) -> WebSearchResult | None:
    """Return the result of a finished flight, raise its error, or None if the caller must run."""
    error = flight.exception()
    if error is None:
        return _shared(flight.result())
    if isinstance(error, (WebCancelledError, WebTimeoutError)) or not isinstance(error, WebError):
        # Those were limits of the call that led, and say nothing about this one.
        return None
    raise error


def _wait(flight: _Flight, scope: SyncScope) -> None:
    """Block until the flight has landed or a limit of the waiting call is reached."""
    landed = threading.Event()
    flight.add_done_callback(lambda _: landed.set())
    unsubscribe = scope.token.add_callback(landed.set) if scope.token is not None else None
    try:
        landed.wait(scope.remaining())
    finally:
        if unsubscribe is not None:
            unsubscribe()
    if not flight.done():
        scope.check()
