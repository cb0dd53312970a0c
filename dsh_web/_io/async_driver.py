"""Performs the steps of a flow on the caller's own event loop, whichever that is."""

from __future__ import annotations

import asyncio
import inspect
import random
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import httpcore

from ..flow import Flow, HttpRequest, HttpResponse, Resolve, Sleep, Step, TransportError
from .async_net import AsyncLink
from .failures import clear_locals, forget_frames, transport_error
from .foreign import exchange, exchange_async
from .incoming import Incoming
from .offload import call_in_thread_async
from .pool import Pool
from .proxies import EnvironmentProxies
from .route import Route, route_to, shared_ssl_context, wire_request
from .scope import AsyncScope, CallCancelled, DeadlinePassed
from .sockets import has_leftover
from .sync_driver import KEEPALIVE

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncDriver"]

Result = TypeVar("Result")

_CHUNKS_PER_TURN = 256


class _Connection:
    """One pooled connection; idle, it belongs to no event loop."""

    __slots__ = ("http", "link")

    def __init__(self, route: Route, ssl_context: ssl.SSLContext | None) -> None:
        self.link = AsyncLink()
        self.http = httpcore.AsyncHTTPConnection(
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


class AsyncDriver:
    """Runs flows in the calling task; safe to share between event loops and threads."""

    def __init__(
        self,
        *,
        client: httpx.AsyncClient | None = None,
        sync_client: httpx.Client | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._client = client
        self._sync_client = sync_client
        self._ssl_context = ssl_context
        self._pool: Pool[_Connection] = Pool()
        self._environment = EnvironmentProxies()

    async def run(self, flow: Flow[Result], scope: AsyncScope) -> Result:
        """Perform every step of `flow` and return its result.

        The limits of the call interrupt it from outside, as a cancelled task is; the flow is
        closed then.
        """
        try:
            step = next(flow)
            while True:
                # A key function may have swallowed the cancellation that was to end the call.
                scope.check()
                try:
                    outcome = await self._perform(step, scope)
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
        """Close idle connections; the driver stays usable. Needs no event loop."""
        self._pool.close()

    def idle_count(self) -> int:
        """Return how many idle connections are kept."""
        return self._pool.idle_count()

    async def _perform(self, step: Step, scope: AsyncScope) -> Any:
        if isinstance(step, HttpRequest):
            return await self._exchange(step, scope)
        if isinstance(step, Sleep):
            seconds = step.seconds * (1 - step.jitter * random.random())
            if not scope.has_time_for(seconds):
                return False
            await asyncio.sleep(seconds)
            return True
        if isinstance(step, Resolve):
            return await _call(step)
        raise TypeError(f"a flow yielded {step!r}, which is not a step")

    async def _exchange(self, request: HttpRequest, scope: AsyncScope) -> HttpResponse:
        failure: TransportError
        try:
            route = route_to(request.url)
            if self._client is not None:
                return await exchange_async(self._client, request, scope.remaining())
            if self._sync_client is not None:
                client, timeout = self._sync_client, scope.remaining()
                return await call_in_thread_async(
                    lambda: exchange(client, request, timeout), name="dsh-web-http"
                )
            proxy = self._environment.proxy_for(route.origin)
            if proxy is not None:
                return await self._exchange_proxied(request, proxy, scope)
            return await self._exchange_pooled(request, route, scope)
        except (CallCancelled, DeadlinePassed):
            raise
        except Exception as error:
            failure = transport_error(error, request)
        except BaseException as error:
            forget_frames(error)
            raise
        try:
            raise failure
        finally:
            del failure  # it refers to this frame

    async def _exchange_proxied(
        self, request: HttpRequest, proxy: str, scope: AsyncScope
    ) -> HttpResponse:
        import httpx

        # One client per call: an httpx client must not outlive the event loop it was used on.
        verify = self._ssl_context or shared_ssl_context()
        async with httpx.AsyncClient(proxy=proxy, verify=verify, trust_env=False) as client:
            return await exchange_async(client, request, scope.remaining())

    async def _exchange_pooled(
        self, request: HttpRequest, route: Route, scope: AsyncScope
    ) -> HttpResponse:
        pool = self._pool
        generation = pool.generation
        connection = pool.take(route.origin) or self._connect(route)
        connection.link.limit.allow_head()
        try:
            response = await connection.http.handle_async_request(wire_request(request, route))
            connection.link.limit.allow_body(request.max_bytes)
            result = await _receive(response, request, scope)
        except BaseException as error:
            connection.abort()
            forget_frames(error)
            raise
        pool.give(route.origin, connection, generation)
        return result

    def _connect(self, route: Route) -> _Connection:
        is_tls = route.origin[0] == "https"
        return _Connection(route, (self._ssl_context or shared_ssl_context()) if is_tls else None)


async def _receive(
    response: httpcore.Response, request: HttpRequest, scope: AsyncScope
) -> HttpResponse:
    headers = {
        name.lower().decode("ascii"): value.decode("latin-1") for name, value in response.headers
    }
    incoming = Incoming(response.status, headers, request)
    count = 0
    async for chunk in response.aiter_stream():
        incoming.feed(chunk)
        # One read can hold thousands of chunks, and none of them waits.
        count += 1
        if count % _CHUNKS_PER_TURN == 0:
            scope.check()
            await asyncio.sleep(0)
    await response.aclose()
    return incoming.finish()


async def _call(step: Resolve) -> Any:
    function: Callable[[], Any] = step.function
    try:
        if inspect.iscoroutinefunction(function):
            return await function()
        # Not the loop's own thread: a blocking key store would stop every other task.
        value = await call_in_thread_async(function, name="dsh-web-resolve")
        return await value if inspect.isawaitable(value) else value
    except BaseException as error:
        clear_locals(error)
        raise
