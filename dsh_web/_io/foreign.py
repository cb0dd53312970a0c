"""Exchanges through an httpx client: one that the caller handed in, or one for a proxy.

The caller's client decides about proxies, TLS, limits and hooks. What the seam guarantees stays:
no redirect is followed, the body is capped, and the call's own deadline holds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from ..flow import HttpHead, HttpRequest
from .decode import BodyDecoder, accept_encoding
from .exchange import head_of
from .offload import call_in_thread, call_in_thread_async
from .scope import SyncScope

if TYPE_CHECKING:
    import httpx

__all__ = ["ForeignAsyncExchange", "ForeignExchange", "ThreadedExchange"]

Result = TypeVar("Result")

_THREAD = "dsh-web-http"


class _Blocking:
    """One response of an `httpx.Client`; every method blocks."""

    def __init__(self, client: httpx.Client, request: HttpRequest, timeout: float | None) -> None:
        wire = _build(client, request, timeout)
        self._response = client.send(wire, stream=True, follow_redirects=False)
        try:
            self.head = _head(self._response, request)
            self._decoder = _decoder(self.head.headers, request)
            self._pieces: Iterator[bytes] = iter(())
            if self._response.is_stream_consumed:
                # Read already, by a mock transport or by a hook of the caller's, and decoded.
                self._decoder = _decoder({}, request)
                self._chunks: Iterator[bytes] = iter([self._response.content])
            else:
                self._chunks = self._response.iter_raw()
        except BaseException:
            self._response.close()
            raise

    def read(self) -> bytes:
        while not (piece := next(self._pieces, b"")):
            chunk = None if self._decoder.is_cut else next(self._chunks, None)
            if chunk is None:
                self._decoder.finish()
                return b""
            self._pieces = self._decoder.pieces(chunk)
        return piece

    def close(self) -> None:
        self._response.close()


class ForeignExchange:
    """A response of somebody else's client, for a blocking call.

    A blocked read of that client cannot be interrupted, only left behind; so each one runs in a
    thread that the call's limits can walk away from.
    """

    def __init__(self, client: httpx.Client, request: HttpRequest, scope: SyncScope) -> None:
        self._scope = scope
        timeout = scope.remaining()
        self._inner = self._run(lambda: _Blocking(client, request, timeout))
        self.head = self._inner.head

    def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        return self._run(self._inner.read)

    def close(self) -> None:
        """Release the connection to its client."""
        self._inner.close()

    def _run(self, function: Callable[[], Result]) -> Result:
        return call_in_thread(self._scope, function, name=_THREAD)


class ThreadedExchange:
    """A response of a caller's blocking client, for an async call."""

    def __init__(self, inner: _Blocking) -> None:
        self._inner = inner
        self.head = inner.head

    @classmethod
    async def open(
        cls, client: httpx.Client, request: HttpRequest, timeout: float | None
    ) -> ThreadedExchange:
        """Send the request and wait for the head."""
        return cls(
            await call_in_thread_async(lambda: _Blocking(client, request, timeout), name=_THREAD)
        )

    async def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        return await call_in_thread_async(self._inner.read, name=_THREAD)

    async def close(self) -> None:
        """Release the connection to its client."""
        self._inner.close()

    def abort(self) -> None:
        """Release the connection to its client."""
        self._inner.close()


class ForeignAsyncExchange:
    """A response of an `httpx.AsyncClient`; made by `open`.

    Args:
        owns_client: Close the client with the response.
    """

    def __init__(self, client: httpx.AsyncClient, *, owns_client: bool = False) -> None:
        self._client = client
        self._owns_client = owns_client
        self._response: httpx.Response | None = None
        self.head: HttpHead

    async def open(self, request: HttpRequest, timeout: float | None) -> ForeignAsyncExchange:
        """Send the request and wait for the head."""
        try:
            wire = _build(self._client, request, timeout)
            response = await self._client.send(wire, stream=True, follow_redirects=False)
            self._response = response
            self.head = _head(response, request)
            self._decoder = _decoder(self.head.headers, request)
            self._pieces: Iterator[bytes] = iter(())
            if response.is_stream_consumed:
                # Read already, by a mock transport or by a hook of the caller's, and decoded.
                self._decoder = _decoder({}, request)
                self._chunks: AsyncIterator[bytes] = _once(response.content)
            else:
                self._chunks = response.aiter_raw()
        except BaseException:
            await self.close()
            raise
        return self

    async def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        while not (piece := next(self._pieces, b"")):
            chunk = None if self._decoder.is_cut else await anext(self._chunks, None)
            if chunk is None:
                self._decoder.finish()
                return b""
            self._pieces = self._decoder.pieces(chunk)
        return piece

    async def close(self) -> None:
        """Release the connection to its client, and the client if it was made for this."""
        if self._response is not None:
            await self._response.aclose()
        if self._owns_client:
            await self._client.aclose()

    def abort(self) -> None:
        """Do nothing: only its own client can close the connection, and needs the loop for it."""


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _build(
    client: httpx.Client | httpx.AsyncClient, request: HttpRequest, timeout: float | None
) -> httpx.Request:
    import httpx

    headers = {"accept-encoding": accept_encoding(), **request.headers}
    headers |= {name: secret.reveal() for name, secret in request.secret_headers.items()}
    if request.bearer is not None:
        headers["authorization"] = f"Bearer {request.bearer.reveal()}"
    # httpx's default of five seconds is meant for pages, not for answers that take a minute; a
    # limit that the caller chose is kept.
    is_default = client.timeout == httpx.Timeout(5.0)
    return client.build_request(
        request.method,
        request.url,
        headers=headers,
        content=request.body or None,
        timeout=httpx.Timeout(timeout) if is_default else client.timeout,
    )


def _decoder(headers: Mapping[str, str], request: HttpRequest) -> BodyDecoder:
    return BodyDecoder(headers, request.max_bytes, request.when_too_large)


def _head(response: httpx.Response, request: HttpRequest) -> HttpHead:
    return head_of(response.status_code, response.headers.raw, request)
