"""Sockets for asyncio that belong to no event loop while they idle.

Reads and writes go straight to the loop's socket primitives, so nothing is registered with a loop
between calls. A connection opened under one `asyncio.run` serves the next, and a dead loop leaves
nothing behind.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from ..flow import Guard
from .offload import call_in_thread_async
from .sockets import (
    Address,
    ReadLimit,
    admitted,
    connect_error,
    is_readable,
    literal_address,
    new_socket,
    resolve,
)

__all__ = ["AsyncLink"]

_CHUNK = 65_536
_READS_PER_TURN = 8


class AsyncLink(httpcore.AsyncNetworkBackend):
    """The socket of one connection."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard
        self.limit = ReadLimit()
        self._stream: _PlainStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers."""
        loop = asyncio.get_running_loop()
        failure: OSError | None = None
        found = await _addresses(host, port, self._guard)
        for address in admitted(host, found, self._guard):
            sock = new_socket(address)
            try:
                async with asyncio.timeout(timeout):
                    await loop.sock_connect(sock, address.sockaddr)
            except OSError as error:  # TimeoutError included
                sock.close()
                failure = error
                continue
            except BaseException:
                sock.close()
                raise
            self._stream = _PlainStream(self, sock)
            return self._stream
        raise connect_error(failure, host)

    def abort(self) -> None:
        """Close the socket at once; needs no event loop."""
        if self._stream is not None:
            self._stream.sock.close()


async def _addresses(host: str, port: int, guard: Guard | None) -> list[Address]:
    literal = literal_address(host, port)
    if literal is not None:
        return [literal]
    try:
        # Not `loop.getaddrinfo`: `asyncio.run` would wait at its end for a look-up that hangs.
        look_up = functools.partial(resolve, host, port, guard)
        return await call_in_thread_async(look_up, name="dsh-web-dns")
    except OSError as error:
        raise connect_error(error, host) from error


class _PlainStream(httpcore.AsyncNetworkStream):
    def __init__(self, link: AsyncLink, sock: socket.socket) -> None:
        self._link = link
        self.sock = sock
        self._reads = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = await asyncio.get_running_loop().sock_recv(self.sock, max_bytes)
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error
        # Data that is there already comes without a turn of the loop. A server that never pauses
        # must not keep the loop from its other tasks and timers.
        self._reads += 1
        if self._reads % _READS_PER_TURN == 0:
            await asyncio.sleep(0)
        return self._link.limit.spend(data)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            await asyncio.get_running_loop().sock_sendall(self.sock, buffer)
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self.sock.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = _TlsStream(self._link, self.sock, ssl_context, server_hostname)
        try:
            async with asyncio.timeout(timeout):
                await stream.handshake()
        except TimeoutError as error:
            self.sock.close()
            raise httpcore.ConnectTimeout("the TLS handshake timed out") from error
        except (OSError, httpcore.NetworkError) as error:
            self.sock.close()
            raise httpcore.ConnectError(str(error)) from error
        except BaseException:
            self.sock.close()
            raise
        self._link._stream = stream
        return stream

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return is_readable(self.sock)
        return {
            "socket": lambda: self.sock,
            "client_addr": self.sock.getsockname,
            "server_addr": self.sock.getpeername,
        }.get(info, lambda: None)()


class _TlsStream(_PlainStream):
    """TLS over memory buffers, since the loop's own TLS streams belong to a loop."""

    def __init__(
        self,
        link: AsyncLink,
        sock: socket.socket,
        context: ssl.SSLContext,
        server_hostname: str | None,
    ) -> None:
        super().__init__(link, sock)
        self._received = ssl.MemoryBIO()
        self._to_send = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=server_hostname)

    async def handshake(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._receive()
            except ssl.SSLError:
                await self._flush()  # lets the server read the alert that explains the failure
                raise
            else:
                await self._flush()
                return

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            try:
                return self._tls.read(max_bytes)
            except ssl.SSLWantReadError:
                await self._flush()
                await self._receive()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                # Without a goodbye too, as most clients do; HTTP knows where its bodies end.
                return b""
            except ssl.SSLError as error:
                raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        while view:
            try:
                view = view[self._tls.write(view[:_CHUNK]) :]
            except ssl.SSLWantReadError:
                await self._flush()
                await self._receive()
            except ssl.SSLError as error:
                raise httpcore.WriteError(str(error)) from error
        await self._flush()

    async def _flush(self) -> None:
        if self._to_send.pending:
            await super().write(self._to_send.read())

    async def _receive(self) -> None:
        data = await super().read(_CHUNK)
        if data:
            self._received.write(data)
        else:
            self._received.write_eof()

    def get_extra_info(self, info: str) -> Any:
        return self._tls if info == "ssl_object" else super().get_extra_info(info)
