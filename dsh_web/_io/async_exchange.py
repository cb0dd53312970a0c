"""An exchange over a pooled connection, on the running event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator

import httpcore

from ..flow import Guard, HttpRequest
from .async_net import AsyncLink
from .decode import BodyDecoder
from .exchange import ends_by_itself, head_of
from .failures import forget_frames
from .pool import Pool
from .route import Route, wire_request
from .scope import AsyncScope
from .sockets import has_leftover
from .sync_exchange import KEEPALIVE

CHUNKS_PER_TURN = 256

__all__ = ["AsyncConnection", "AsyncPooledExchange"]


class AsyncConnection:
    """One pooled connection; idle, it belongs to no event loop."""

    __slots__ = ("http", "link")

    def __init__(
        self, route: Route, ssl_context: ssl.SSLContext | None, guard: Guard | None
    ) -> None:
        self.link = AsyncLink(guard)
        self.http = httpcore.AsyncHTTPConnection(
            route.core_origin,
            ssl_context=ssl_context,
            keepalive_expiry=KEEPALIVE,
            network_backend=self.link,
        )

    def is_reusable(self) -> bool:
        """Return whether it is idle, fresh enough, and not closed by the other side."""
        http = self.http
        return http.is_idle() and not http.has_expired() and not has_leftover(http)

    def abort(self) -> None:
        """Close its socket at once; needs no event loop."""
        self.link.abort()


class AsyncPooledExchange:
    """One response over a pooled connection; made by `open`."""

    def __init__(
        self,
        request: HttpRequest,
        route: Route,
        scope: AsyncScope,
        pool: Pool[AsyncConnection],
        connection: AsyncConnection,
    ) -> None:
        self._scope = scope
        self._count = 0
        self._request = request
        self._route = route
        self._pool = pool
        self._generation = pool.generation
        self._connection: AsyncConnection | None = connection

    async def open(self) -> AsyncPooledExchange:
        """Send the request and wait for the head."""
        assert self._connection is not None
        limit = self._connection.link.limit
        limit.allow_head()
        try:
            wire = wire_request(self._request, self._route)
            self._response = await self._connection.http.handle_async_request(wire)
            limit.allow_body(self._request.max_bytes)
            self.head = head_of(self._response.status, self._response.headers, self._request)
            self._decoder = BodyDecoder(
                self.head.headers, self._request.max_bytes, self._request.when_too_large
            )
        except BaseException as error:
            self._fail(error)
            raise
        self._chunks: AsyncIterator[bytes] = aiter(self._response.aiter_stream())
        self._pieces: Iterator[bytes] = iter(())
        return self

    async def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        try:
            while not (piece := next(self._pieces, b"")):
                if self._decoder.is_cut:
                    return b""
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    await self._response.aclose()
                    self._decoder.finish()
                    # Before whoever waits for the end of this exchange can ask for another.
                    await self.close()
                    return b""
                # One read can hold thousands of chunks, and none of them waits.
                self._count += 1
                if self._count % CHUNKS_PER_TURN == 0:
                    self._scope.check()
                    await asyncio.sleep(0)
                self._pieces = self._decoder.pieces(chunk)
        except BaseException as error:
            self._fail(error)
            raise
        return piece

    async def drain(self, seconds: float) -> None:
        """Read what is left of the body, if it comes within `seconds`, so that `close` keeps it.

        For a caller who knows that the answer is over before its body is.
        """
        if self._connection is None or self._decoder.is_cut or not ends_by_itself(self.head):
            return
        try:
            async with asyncio.timeout(seconds):
                async for _ in self._chunks:
                    # A server that never stops must not keep the loop to itself either.
                    await asyncio.sleep(0)
                await self._response.aclose()
        except Exception as error:
            # Nothing is lost: the connection is closed instead of kept.
            self._fail(error)
        except BaseException as error:
            self._fail(error)
            raise

    async def close(self) -> None:
        """Release the connection: for reuse if the body was read to its end, else closed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            # A connection in the middle of a body is not idle, so the pool closes it.
            key = (self._route.origin, self._request.guard)
            self._pool.give(key, connection, self._generation)

    def abort(self) -> None:
        """Close the connection at once, unless it was released before."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    def __del__(self) -> None:
        # A generator that outlived its event loop is dropped without its clean-up.
        self.abort()

    def _fail(self, error: BaseException) -> None:
        self.abort()
        forget_frames(error)
