"""Performs the steps of a flow with blocking I/O that a cancel or a deadline ends at once."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import WebError
from ..flow import (
    Emit,
    Flow,
    Guard,
    HttpRequest,
    HttpResponse,
    OpenStream,
    ReadChunk,
    ReadClock,
    Resolve,
    Sleep,
    Step,
    TransportError,
    WaitFor,
)
from .exchange import LINGER, Gathered, SyncExchange
from .failures import clear_locals, forget_frames, transport_error
from .foreign import ForeignExchange
from .masking import mask_body
from .offload import Resolution, call_in_thread
from .pool import Pool
from .proxies import EnvironmentProxies, ProxyClients
from .route import Route, route_to, shared_ssl_context
from .scope import CallCancelled, DeadlinePassed, SyncScope
from .sync_exchange import SyncConnection, SyncPooledExchange

if TYPE_CHECKING:
    import httpx

__all__ = ["SyncDriver"]

Result = TypeVar("Result")


class SyncDriver:
    """Runs flows in the calling thread; safe to share between threads."""

    def __init__(
        self, *, client: httpx.Client | None = None, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self._client = client
        self._ssl_context = ssl_context
        self._pool: Pool[SyncConnection] = Pool()
        self._environment = EnvironmentProxies()
        self._proxy_clients = ProxyClients()

    def run(self, flow: Flow[Result], scope: SyncScope) -> Result:
        """Perform every step of `flow` and return its result; what it emits is dropped.

        Raises:
            CallCancelled, DeadlinePassed: A limit of the call came first; the flow is closed.
        """
        events = self.stream(flow, scope)
        try:
            while True:
                next(events)
        except StopIteration as stop:
            result: Result = stop.value
            return result

    def stream(self, flow: Flow[Result], scope: SyncScope) -> Generator[Any, None, Result]:
        """Perform the steps of `flow`, yield what it emits, and return its result.

        Closing the generator closes the connection.

        Raises:
            CallCancelled, DeadlinePassed: A limit of the call came first; the flow is closed.
        """
        performer = _Performer(self, scope)
        try:
            step = next(flow)
            while True:
                if isinstance(step, Emit):
                    yield step.event
                    # The consumer may have cancelled, or taken all the time there was.
                    scope.check()
                    step = flow.send(None)
                    continue
                # In a box that is emptied as it is handed on: tracebacks show locals, and what a
                # server has sent may echo the key.
                box: list[Any] = []
                try:
                    box.append(performer.perform(step))
                except (CallCancelled, DeadlinePassed):
                    raise
                except Exception as error:
                    if isinstance(error, TransportError):
                        forget_frames(error)
                    # The flow decides what a failed step means.
                    step = flow.throw(error)
                else:
                    step = flow.send(box.pop())
        except StopIteration as stop:
            performer.drain()
            result: Result = stop.value
            return result
        finally:
            flow.close()
            performer.close()

    def close(self) -> None:
        """Close idle connections; the driver stays usable."""
        self._pool.close()
        self._proxy_clients.close()

    def idle_count(self) -> int:
        """Return how many idle connections are kept."""
        return self._pool.idle_count()

    def open(self, request: HttpRequest, scope: SyncScope) -> SyncExchange:
        """Send `request` and return the response with its body unread.

        Raises:
            TransportError: The exchange failed below HTTP.
        """

        def send() -> SyncExchange:
            route = route_to(request.url)
            client = None if request.guard is not None else self._client_for(route)
            if client is not None:
                return ForeignExchange(client, request, scope)
            key = (route.origin, request.guard)
            connection = self._pool.take(key) or self._connect(route, request.guard)
            return SyncPooledExchange(request, route, scope, self._pool, connection)

        return _translated(send, request)

    def _client_for(self, route: Route) -> httpx.Client | None:
        if self._client is not None:
            return self._client
        proxy = self._environment.proxy_for(route.origin)
        if proxy is None:
            return None
        return self._proxy_clients.client_for(proxy, self._ssl_context or shared_ssl_context())

    def _connect(self, route: Route, guard: Guard | None) -> SyncConnection:
        is_tls = route.origin[0] == "https"
        context = (self._ssl_context or shared_ssl_context()) if is_tls else None
        return SyncConnection(route, context, guard)


class _Performer:
    """The steps of one flow, and the one response that it may hold open."""

    def __init__(self, driver: SyncDriver, scope: SyncScope) -> None:
        self._driver = driver
        self._scope = scope
        self._opened: tuple[HttpRequest, SyncExchange] | None = None

    def perform(self, step: Step) -> Any:
        self._scope.check()
        if isinstance(step, HttpRequest):
            exchange = self._driver.open(step, self._scope)
            try:
                return _whole(step, exchange)
            finally:
                exchange.close()
        if isinstance(step, ReadChunk):
            if self._opened is None:
                raise TypeError("a flow read from a stream that it has not opened")
            request, exchange = self._opened
            return mask_body(_translated(exchange.read, request), request)
        if isinstance(step, OpenStream):
            self.drain()
            self.close()
            exchange = self._driver.open(step.request, self._scope)
            self._opened = (step.request, exchange)
            return exchange.head
        if isinstance(step, Sleep):
            seconds = step.seconds * (1 - step.jitter * random.random())
            if not self._scope.has_time_for(seconds):
                return False
            self._scope.sleep(seconds)
            return True
        if isinstance(step, WaitFor):
            return self._scope.wait_for(step.signal)
        if isinstance(step, Resolve):
            return _resolve(step, self._scope)
        if isinstance(step, ReadClock):
            return time.time()
        raise TypeError(f"a flow yielded {step!r}, which is not a step")

    def drain(self) -> None:
        """Let the connection of a complete answer be used again, if that costs next to nothing."""
        if self._opened is not None and isinstance(self._opened[1], SyncPooledExchange):
            self._opened[1].drain(LINGER)

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()


def _translated(action: Callable[[], Result], request: HttpRequest) -> Result:
    """Return what `action` returns; raise what fails in it as the failure that flows know."""
    failure: TransportError
    try:
        return action()
    except (CallCancelled, DeadlinePassed):
        raise
    except WebError as error:  # a guard's
        forget_frames(error)
        raise
    except Exception as error:
        failure = transport_error(error, request)
    try:
        raise failure
    finally:
        del failure  # it refers to this frame


def _whole(request: HttpRequest, exchange: SyncExchange) -> HttpResponse:
    body = Gathered()
    while chunk := _translated(exchange.read, request):
        body.add(chunk)
    head = exchange.head
    whole = mask_body(body.whole(), request)
    return HttpResponse(head.status, head.headers, whole, head.received_at)


def _resolve(step: Resolve, scope: SyncScope) -> Any:
    resolution = Resolution(step.function)
    try:
        return call_in_thread(scope, resolution.run, name="dsh-web-resolve")
    except BaseException as error:
        resolution.stop()
        clear_locals(error)
        raise
