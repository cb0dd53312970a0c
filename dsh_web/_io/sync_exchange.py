"""An exchange over a pooled connection, blocking."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import httpcore

from ..flow import Guard, HttpRequest
from .decode import BodyDecoder
from .exchange import ends_by_itself, head_of
from .failures import forget_frames
from .pool import Pool
from .route import Route, wire_request
from .scope import SyncScope
from .sockets import has_leftover
from .sync_net import SyncLink

__all__ = ["KEEPALIVE", "SyncConnection", "SyncPooledExchange"]

KEEPALIVE = 55.0
"""Seconds that an idle connection is kept; common load balancers hang up after 60."""


class SyncConnection:
    """One pooled connection: httpcore's HTTP/1.1 over a socket of ours."""

    __slots__ = ("http", "link")

    def __init__(
        self, route: Route, ssl_context: ssl.SSLContext | None, guard: Guard | None
    ) -> None:
        self.link = SyncLink(guard)
        self.http = httpcore.HTTPConnection(
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
        """Close its socket at once."""
        self.link.abort()


class SyncPooledExchange:
    """Sends a request on construction; then `head` is there and the body waits to be read."""

    def __init__(
        self,
        request: HttpRequest,
        route: Route,
        scope: SyncScope,
        pool: Pool[SyncConnection],
        connection: SyncConnection,
    ) -> None:
        self._pool = pool
        self._key = (route.origin, request.guard)
        self._generation = pool.generation
        self._connection: SyncConnection | None = connection
        self._scope = scope
        connection.link.scope = scope
        connection.link.limit.allow_head()
        try:
            self._response = connection.http.handle_request(wire_request(request, route))
            connection.link.limit.allow_body(request.max_bytes)
            self.head = head_of(self._response.status, self._response.headers, request)
            self._decoder = BodyDecoder(
                self.head.headers, request.max_bytes, request.when_too_large
            )
        except BaseException as error:
            self._fail(error)
            raise
        self._chunks: Iterator[bytes] = iter(self._response.iter_stream())
        self._pieces: Iterator[bytes] = iter(())

    def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        try:
            while not (piece := next(self._pieces, b"")):
                if self._decoder.is_cut:
                    return b""
                chunk = next(self._chunks, None)
                if chunk is None:
                    self._response.close()
                    self._decoder.finish()
                    # Before whoever waits for the end of this exchange can ask for another.
                    self.close()
                    return b""
                # One read can hold thousands of chunks, and none of them waits.
                self._scope.check()
                self._pieces = self._decoder.pieces(chunk)
        except BaseException as error:
            self._fail(error)
            raise
        return piece

    def close(self) -> None:
        """Release the connection: for reuse if the body was read to its end, else closed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.link.scope = None
            # A connection in the middle of a body is not idle, so the pool closes it.
            self._pool.give(self._key, connection, self._generation)

    def drain(self, seconds: float) -> None:
        """Read what is left of the body, if it comes within `seconds`, so that `close` keeps it.

        For a caller who knows that the answer is over before its body is.
        """
        if self._connection is None or self._decoder.is_cut or not ends_by_itself(self.head):
            return
        limit = SyncScope(seconds, None, None)
        self._connection.link.scope = limit
        try:
            for _ in self._chunks:
                limit.check()
            self._response.close()
        except Exception as error:
            # Nothing is lost: the connection is closed instead of kept.
            self._fail(error)
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.link.scope = None
            connection.abort()
        forget_frames(error)
