"""Performs the steps of a flow with blocking I/O that a cancel or a deadline ends at once."""

from __future__ import annotations

import random
import ssl
from typing import TYPE_CHECKING, Any, TypeVar

import httpcore

from ..flow import Flow, HttpRequest, HttpResponse, Resolve, Sleep, Step, TransportError
from .failures import clear_locals, forget_frames, transport_error
from .foreign import exchange
from .incoming import Incoming
from .offload import Resolution, call_in_thread
from .pool import Pool
from .proxies import EnvironmentProxies, ProxyClients
from .route import Route, route_to, shared_ssl_context, wire_request
from .scope import CallCancelled, DeadlinePassed, SyncScope
from .sockets import has_leftover
from .sync_net import SyncLink

if TYPE_CHECKING:
    import httpx

__all__ = ["SyncDriver"]

Result = TypeVar("Result")

KEEPALIVE = 55.0
"""Seconds that an idle connection is kept; common load balancers hang up after 60."""


class _Connection:
    """One pooled connection: httpcore's HTTP/1.1 over a socket of ours."""

    __slots__ = ("http", "link")

    def __init__(self, route: Route, ssl_context: ssl.SSLContext | None) -> None:
        self.link = SyncLink()
        self.http = httpcore.HTTPConnection(
            route.core_origin,
            ssl_context=ssl_context,
            keepalive_expiry=KEEPALIVE,
            network_backend=self.link,
        )

    def is_reusable(self) -> bool:
        http = self.http
        return http.is_idle() and not http.has_expired() and not has_leftover(http)

    def abort(self) -> None:
        self.link.abort()


class SyncDriver:
    """Runs flows in the calling thread; safe to share between threads."""

    def __init__(
        self, *, client: httpx.Client | None = None, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self._client = client
        self._ssl_context = ssl_context
        self._pool: Pool[_Connection] = Pool()
        self._environment = EnvironmentProxies()
        self._proxy_clients = ProxyClients()

    def run(self, flow: Flow[Result], scope: SyncScope) -> Result:
        """Perform every step of `flow` and return its result.

        Raises:
            CallCancelled, DeadlinePassed: A limit of the call came first; the flow is closed.
        """
        try:
            step = next(flow)
            while True:
                try:
                    outcome = self._perform(step, scope)
                except (CallCancelled, DeadlinePassed):
                    raise
                except Exception as error:
                    # The flow decides what a failed step means.
                    step = flow.throw(error)
                else:
                    step = flow.send(outcome)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        finally:
            flow.close()

    def close(self) -> None:
        """Close idle connections; the driver stays usable."""
        self._pool.close()
        self._proxy_clients.close()

    def idle_count(self) -> int:
        """Return how many idle connections are kept."""
        return self._pool.idle_count()

    def _perform(self, step: Step, scope: SyncScope) -> Any:
        scope.check()
        if isinstance(step, HttpRequest):
            return self._exchange(step, scope)
        if isinstance(step, Sleep):
            seconds = step.seconds * (1 - step.jitter * random.random())
            if not scope.has_time_for(seconds):
                return False
            scope.sleep(seconds)
            return True
        if isinstance(step, Resolve):
            return _resolve(step, scope)
        raise TypeError(f"a flow yielded {step!r}, which is not a step")

    def _exchange(self, request: HttpRequest, scope: SyncScope) -> HttpResponse:
        failure: TransportError
        try:
            route = route_to(request.url)
            client = self._client_for(route)
            if client is None:
                return self._exchange_pooled(request, route, scope)
            # A blocked read of somebody else's client cannot be interrupted, only left behind.
            timeout = scope.remaining()
            return call_in_thread(
                scope, lambda: exchange(client, request, timeout), name="dsh-web-http"
            )
        except (CallCancelled, DeadlinePassed):
            raise
        except Exception as error:
            failure = transport_error(error, request)
        try:
            raise failure
        finally:
            del failure  # it refers to this frame

    def _client_for(self, route: Route) -> httpx.Client | None:
        if self._client is not None:
            return self._client
        proxy = self._environment.proxy_for(route.origin)
        if proxy is None:
            return None
        return self._proxy_clients.client_for(proxy, self._ssl_context or shared_ssl_context())

    def _exchange_pooled(
        self, request: HttpRequest, route: Route, scope: SyncScope
    ) -> HttpResponse:
        pool = self._pool
        generation = pool.generation
        connection = pool.take(route.origin) or self._connect(route)
        connection.link.scope = scope
        connection.link.limit.allow_head()
        try:
            response = connection.http.handle_request(wire_request(request, route))
            connection.link.limit.allow_body(request.max_bytes)
            result = _receive(response, request, scope)
        except BaseException as error:
            connection.abort()
            forget_frames(error)
            raise
        finally:
            connection.link.scope = None
        pool.give(route.origin, connection, generation)
        return result

    def _connect(self, route: Route) -> _Connection:
        is_tls = route.origin[0] == "https"
        return _Connection(route, (self._ssl_context or shared_ssl_context()) if is_tls else None)


def _receive(response: httpcore.Response, request: HttpRequest, scope: SyncScope) -> HttpResponse:
    headers = {
        name.lower().decode("ascii"): value.decode("latin-1") for name, value in response.headers
    }
    incoming = Incoming(response.status, headers, request)
    for chunk in response.iter_stream():
        # One read can hold thousands of chunks, and none of them waits.
        scope.check()
        incoming.feed(chunk)
    response.close()
    return incoming.finish()


def _resolve(step: Resolve, scope: SyncScope) -> Any:
    resolution = Resolution(step.function)
    try:
        return call_in_thread(scope, resolution.run, name="dsh-web-resolve")
    except BaseException as error:
        resolution.stop()
        clear_locals(error)
        raise
