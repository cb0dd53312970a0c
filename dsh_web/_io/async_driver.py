"""Performs the steps of a flow on the caller's own event loop, whichever that is."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
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
from .async_exchange import AsyncConnection, AsyncPooledExchange
from .exchange import LINGER, AsyncExchange, Gathered
from .failures import clear_locals, forget_frames, transport_error
from .foreign import ForeignAsyncExchange, ThreadedExchange
from .masking import mask_body
from .offload import call_in_thread_async
from .pool import Pool
from .proxies import EnvironmentProxies
from .route import Route, route_to, shared_ssl_context
from .scope import AsyncScope, CallCancelled, DeadlinePassed

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncDriver"]

Result = TypeVar("Result")


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
        self._environment = EnvironmentProxies()
        self._pool: Pool[AsyncConnection] = Pool()
        self._closing: set[asyncio.Task[None]] = set()

    async def run(self, flow: Flow[Result], scope: AsyncScope) -> Result:
        """Perform every step of `flow` and return its result; what it emits is dropped.

        The limits of the call interrupt it from outside, as a cancelled task is; the flow is
        closed then.
        """
        performer = _Performer(self, scope)
        try:
            async with scope.guard():
                step = performer.start(flow)
                while not isinstance(step, _Finished):
                    step = await performer.advance(flow, step)
                await performer.close()
            result: Result = step.value
            return result
        finally:
            flow.close()
            performer.abort()

    async def stream(
        self, flow: Flow[Result], scope: AsyncScope, done: Callable[[Result], None]
    ) -> AsyncGenerator[Any, None]:
        """Perform the steps of `flow`, yield what it emits, and hand its result to `done`.

        Closing the generator closes the connection. The limits of the call interrupt it only
        while it works, never while its consumer does.
        """
        performer = _Performer(self, scope)
        try:
            step = performer.start(flow)
            while not isinstance(step, _Finished):
                if isinstance(step, Emit):
                    yield step.event
                async with scope.guard():
                    step = await performer.advance(flow, step)
            await performer.drain()
            await performer.close()
            done(step.value)
        finally:
            flow.close()
            performer.leave()

    def close(self) -> None:
        """Close idle connections; the driver stays usable. Needs no event loop."""
        self._pool.close()

    def close_soon(self, exchange: AsyncExchange) -> None:
        """Close a response of the caller's client, which needs the event loop for it.

        In a task of its own: an event loop that ends closes all open generators at the same time,
        and an inner one that is waited for by an outer one would be closed twice.
        """
        task = asyncio.get_running_loop().create_task(_closed(exchange))
        # The loop itself holds tasks only weakly.
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def idle_count(self) -> int:
        """Return how many idle connections are kept."""
        return self._pool.idle_count()

    async def open(self, request: HttpRequest, scope: AsyncScope) -> AsyncExchange:
        """Send `request` and return the response with its body unread.

        Raises:
            TransportError: The exchange failed below HTTP.
        """

        async def send() -> AsyncExchange:
            route = route_to(request.url)
            timeout = scope.remaining()
            if request.guard is not None:
                return await self._pooled(request, route, scope).open()
            if self._client is not None:
                return await ForeignAsyncExchange(self._client).open(request, timeout)
            if self._sync_client is not None:
                return await ThreadedExchange.open(self._sync_client, request, timeout)
            proxy = self._environment.proxy_for(route.origin)
            if proxy is not None:
                client = self._proxy_client(proxy)
                return await ForeignAsyncExchange(client, owns_client=True).open(request, timeout)
            return await self._pooled(request, route, scope).open()

        return await _translated(send, request)

    def _proxy_client(self, proxy: str) -> httpx.AsyncClient:
        import httpx

        # One client per call: an httpx client must not outlive the event loop it was used on.
        verify = self._ssl_context or shared_ssl_context()
        return httpx.AsyncClient(proxy=proxy, verify=verify, trust_env=False)

    def _pooled(self, request: HttpRequest, route: Route, scope: AsyncScope) -> AsyncPooledExchange:
        key = (route.origin, request.guard)
        connection = self._pool.take(key) or self._connect(route, request.guard)
        return AsyncPooledExchange(request, route, scope, self._pool, connection)

    def _connect(self, route: Route, guard: Guard | None) -> AsyncConnection:
        is_tls = route.origin[0] == "https"
        context = (self._ssl_context or shared_ssl_context()) if is_tls else None
        return AsyncConnection(route, context, guard)


@dataclass(frozen=True, slots=True)
class _Finished:
    """What a flow has returned. Its own StopIteration cannot leave a coroutine."""

    value: Any


class _Performer:
    """The steps of one flow, and the one response that it may hold open."""

    def __init__(self, driver: AsyncDriver, scope: AsyncScope) -> None:
        self._driver = driver
        self._scope = scope
        self._opened: tuple[HttpRequest, AsyncExchange] | None = None

    def start(self, flow: Flow[Any]) -> Step | _Finished:
        """Return the flow's first step."""
        try:
            return next(flow)
        except StopIteration as stop:
            return _Finished(stop.value)

    async def advance(self, flow: Flow[Any], step: Step) -> Step | _Finished:
        """Perform `step` and return the flow's next one."""
        try:
            # In a box that is emptied as it is handed on: tracebacks show locals, and what a
            # server has sent may echo the key.
            box: list[Any] = []
            try:
                box.append(None if isinstance(step, Emit) else await self._perform(step))
            except (CallCancelled, DeadlinePassed):
                raise
            except Exception as error:
                if isinstance(error, TransportError):
                    forget_frames(error)
                # The flow decides what a failed step means.
                return flow.throw(error)
            return flow.send(box.pop())
        except StopIteration as stop:
            return _Finished(stop.value)

    async def _perform(self, step: Step) -> Any:
        # A key function may have swallowed the cancellation that was to end the call.
        self._scope.check()
        if isinstance(step, HttpRequest):
            exchange = await self._driver.open(step, self._scope)
            self._opened = (step, exchange)
            try:
                response = await _whole(step, exchange)
            except Exception:
                await _closed(exchange)
                raise
            except BaseException:  # cancelled: there is no time left to await anything
                self.leave()
                raise
            await self.close()
            return response
        if isinstance(step, ReadChunk):
            if self._opened is None:
                raise TypeError("a flow read from a stream that it has not opened")
            request, exchange = self._opened
            return mask_body(await _translated(exchange.read, request), request)
        if isinstance(step, OpenStream):
            await self.drain()
            await self.close()
            exchange = await self._driver.open(step.request, self._scope)
            self._opened = (step.request, exchange)
            return exchange.head
        if isinstance(step, Sleep):
            seconds = step.seconds * (1 - step.jitter * random.random())
            if not self._scope.has_time_for(seconds):
                return False
            await asyncio.sleep(seconds)
            return True
        if isinstance(step, WaitFor):
            return await self._scope.wait_for(step.signal)
        if isinstance(step, Resolve):
            return await _call(step)
        if isinstance(step, ReadClock):
            return time.time()
        raise TypeError(f"a flow yielded {step!r}, which is not a step")

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened[1].close()

    async def drain(self) -> None:
        """Let the connection of a complete answer be used again, if that costs next to nothing."""
        if self._opened is not None and isinstance(self._opened[1], AsyncPooledExchange):
            await self._opened[1].drain(LINGER)

    def leave(self) -> None:
        """Give up a response in the middle of its body."""
        opened = self._opened
        self.abort()
        if opened is not None and isinstance(opened[1], ForeignAsyncExchange):
            self._driver.close_soon(opened[1])

    def abort(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].abort()


async def _closed(exchange: AsyncExchange) -> None:
    # Nobody waits for the outcome any more.
    with contextlib.suppress(Exception):
        await exchange.close()


async def _translated(action: Callable[[], Awaitable[Result]], request: HttpRequest) -> Result:
    """Return what `action` returns; raise what fails in it as the failure that flows know."""
    failure: TransportError
    try:
        return await action()
    except (CallCancelled, DeadlinePassed):
        raise
    except WebError as error:  # a guard's
        forget_frames(error)
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


async def _whole(request: HttpRequest, exchange: AsyncExchange) -> HttpResponse:
    body = Gathered()
    while chunk := await _translated(exchange.read, request):
        body.add(chunk)
    head = exchange.head
    whole = mask_body(body.whole(), request)
    return HttpResponse(head.status, head.headers, whole, head.received_at)


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
