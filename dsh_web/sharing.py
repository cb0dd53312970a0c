"""One request for identical calls: those under way at the same time, and those asked again soon."""

from __future__ import annotations

import copy
import os
import threading
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

from .blocking import blocked_threads
from .cancel import CancelToken
from .errors import WebCancelledError, WebError, WebTimeoutError
from .seam import WebSearchResult

if TYPE_CHECKING:
    from ._io.scope import AsyncScope, SyncScope

__all__ = ["ResultCache", "SharedCalls"]

ResultCache: TypeAlias = MutableMapping[str, Any]
"""Any mapping; `cachetools.TTLCache` brings a size and a time to live."""


class SharedCalls:
    """Lets identical calls share one request.

    Args:
        coalesce: Calls that are identical to one under way wait for its result.
        cache: Where good results are kept; None: nowhere. Access to it is serialized here. One
            that raises is left aside: the search runs, and its result warns.
    """

    def __init__(self, *, coalesce: bool, cache: ResultCache | None) -> None:
        self._coalesce = coalesce
        self._cache = cache
        self._flights: dict[str, _Flight] = {}
        self._names: dict[int, tuple[object, str]] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def is_off(self) -> bool:
        """Whether every call simply runs."""
        return not self._coalesce and self._cache is None

    def name_of(self, provider: object) -> str:
        """Return a text that stands for this very provider object, in no other process either.

        An id is not enough: two objects of one id can have different keys, models and addresses.
        """
        self._leave_parent_behind()
        with self._lock:
            # Holding the object keeps its address from being given to another one.
            return self._names.setdefault(id(provider), (provider, uuid.uuid4().hex))[1]

    def run(
        self, key: str, call: Callable[[], WebSearchResult], scope: SyncScope
    ) -> WebSearchResult:
        """Return the result of `call`, or that of an identical one.

        A caller that waits keeps its own limits. If the call it waits for is cancelled or out of
        time by limits of its own, one of those that wait runs instead.
        """
        faults: list[str] = []
        while True:
            known, flight, leads = self._join(key, faults)
            if known is not None:
                return known
            if flight is None or leads:
                return self._lead(key, call, flight, faults)
            if flight.thread in blocked_threads():
                # Led by a task of the event loop that this call is blocking: it cannot go on.
                return call()
            flight.wait(scope)
            result = flight.outcome()
            if result is not None:
                return result

    async def run_async(
        self, key: str, call: Callable[[], Awaitable[WebSearchResult]], scope: AsyncScope
    ) -> WebSearchResult:
        """Return the result of `call`, or that of an identical one; see `run`."""
        faults: list[str] = []
        while True:
            known, flight, leads = self._join(key, faults)
            if known is not None:
                return known
            if flight is None or leads:
                return await self._lead_async(key, call, flight, faults)
            await flight.wait_async(scope)
            result = flight.outcome()
            if result is not None:
                return result

    def _join(
        self, key: str, faults: list[str]
    ) -> tuple[WebSearchResult | None, _Flight | None, bool]:
        """Return a kept result; or the flight of the call, and whether the caller leads it."""
        self._leave_parent_behind()
        with self._lock:
            known = self._kept(key, faults)
            if known is not None or not self._coalesce:
                return known, None, False
            flight = self._flights.get(key)
            if flight is not None:
                return None, flight, False
            flight = self._flights[key] = _Flight()
            return None, flight, True

    def _lead(
        self,
        key: str,
        call: Callable[[], WebSearchResult],
        flight: _Flight | None,
        faults: list[str],
    ) -> WebSearchResult:
        try:
            result = call()
        except BaseException as error:
            self._land(key, flight, None, error, faults)
            raise
        self._land(key, flight, result, None, faults)
        return _warned(result, faults)

    async def _lead_async(
        self,
        key: str,
        call: Callable[[], Awaitable[WebSearchResult]],
        flight: _Flight | None,
        faults: list[str],
    ) -> WebSearchResult:
        try:
            result = await call()
        except BaseException as error:
            self._land(key, flight, None, error, faults)
            raise
        self._land(key, flight, result, None, faults)
        return _warned(result, faults)

    def _land(
        self,
        key: str,
        flight: _Flight | None,
        result: WebSearchResult | None,
        error: BaseException | None,
        faults: list[str],
    ) -> None:
        shared = None if result is None else _shared(result)
        try:
            with self._lock:
                if flight is not None and self._flights.get(key) is flight:
                    del self._flights[key]
                if shared is not None:
                    self._keep(key, shared, faults)
        finally:
            if flight is not None:
                flight.land(shared, error)

    def _kept(self, key: str, faults: list[str]) -> WebSearchResult | None:
        if self._cache is None:
            return None
        try:
            found = self._cache[key]
        except KeyError:
            return None
        except Exception as error:
            _note(faults, error)
            return None
        # Anything else was put there by somebody else.
        return _shared(found) if isinstance(found, WebSearchResult) else None

    def _keep(self, key: str, result: WebSearchResult, faults: list[str]) -> None:
        if self._cache is None:
            return
        try:
            self._cache[key] = result
        except Exception as error:
            _note(faults, error)

    def _leave_parent_behind(self) -> None:
        """After a fork, forget the parent's calls: nobody here will ever end them."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.Lock()
            self._flights = {}


class _Flight:
    """A call under way, and those that wait for its end."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        # A one-shot signal with callbacks that can be taken back: exactly what waiting needs.
        self._landed = CancelToken()
        self._result: WebSearchResult | None = None
        self._error: BaseException | None = None

    def land(self, result: WebSearchResult | None, error: BaseException | None) -> None:
        self._result, self._error = result, error
        self._landed.cancel()

    def wait(self, scope: SyncScope) -> None:
        """Block until the call has ended or a limit of the waiting one is reached."""
        scope.wait_for(self._landed)

    async def wait_async(self, scope: AsyncScope) -> None:
        """Wait until the call has ended or a limit of the waiting one is reached."""
        async with scope.guard():
            await scope.wait_for(self._landed)

    def outcome(self) -> WebSearchResult | None:
        """Return the result, raise the error, or None if one of those that wait must run."""
        if self._result is not None:
            return _shared(self._result)
        error = self._error
        if not isinstance(error, WebError) or isinstance(
            error, (WebCancelledError, WebTimeoutError)
        ):
            # Those were limits of the call that led, or its surroundings: nothing about this one.
            return None
        raise _twin(error) from error.__cause__


def _shared(result: WebSearchResult) -> WebSearchResult:
    """Return a result for one more caller, with nothing in it that another could change."""
    changes: dict[str, Any] = {"cached": True}
    try:
        changes |= {name: copy.deepcopy(getattr(result, name)) for name in ("raw", "parsed")}
    except RecursionError:
        pass  # nested deeper than copying can follow: shared as it is
    return result.model_copy(update=changes)


def _twin(error: WebError) -> WebError:
    """Return a copy: raising one exception in several threads would mix their tracebacks."""
    try:
        twin = copy.copy(error)
        twin.__dict__.update(error.__dict__)
    except Exception:
        return error  # a subclass that cannot be rebuilt
    return twin


def _note(faults: list[str], error: Exception) -> None:
    fault = f"the result cache failed ({type(error).__name__}) and was left aside"
    if fault not in faults:
        faults.append(fault)


def _warned(result: WebSearchResult, faults: list[str]) -> WebSearchResult:
    if not faults:
        return result
    return result.model_copy(update={"warnings": result.warnings + tuple(faults)})
