"""TCP connections as the server sees them: counted, watched, and broken on demand."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

SCOPE_KEY = "dsh_web.connection"


class Connection:
    """One accepted connection; lives on the server's loop."""

    def __init__(self, transport: asyncio.Transport, ledger: ConnectionLedger) -> None:
        self._transport = transport
        self._ledger = ledger
        self._closed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """True once the peer left or the connection was broken here."""
        return self._closed.is_set()

    def mark_closed(self) -> None:
        """Wake everything that waits on this connection."""
        self._closed.set()

    async def wait_closed(self) -> None:
        """Wait, without limit, until the connection is gone."""
        await self._closed.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than the connection lives."""
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._closed.wait()
        except TimeoutError:
            return

    @contextlib.contextmanager
    def streaming(self) -> Iterator[None]:
        """Count a stream that is being sent over this connection."""
        self._ledger.stream_opened()
        try:
            yield
        finally:
            self._ledger.stream_closed()

    def close(self) -> None:
        """Send what is buffered, then close in the ordinary way."""
        self._transport.close()

    def reset(self) -> None:
        """Drop the connection so that the peer sees a TCP reset."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            # Lingering for zero seconds turns close() into RST; RFC 9293 calls it abort.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


class ConnectionLedger:
    """Counts connections and lets other threads wait for them to end."""

    def __init__(self) -> None:
        self._open: set[Connection] = set()
        self._accepted = 0
        self._streams = 0
        self._changed = threading.Condition()

    @property
    def accepted(self) -> int:
        """Connections accepted since the start or the last reset of the counter."""
        with self._changed:
            return self._accepted

    @property
    def open(self) -> int:
        """Connections open right now."""
        with self._changed:
            return len(self._open)

    @property
    def streams(self) -> int:
        """Streams being sent right now."""
        with self._changed:
            return self._streams

    def stream_opened(self) -> None:
        """Count a stream that begins."""
        with self._changed:
            self._streams += 1

    def stream_closed(self) -> None:
        """Count a stream that ended, in whatever way."""
        with self._changed:
            self._streams -= 1

    def reset_counter(self) -> None:
        """Count accepted connections from zero again."""
        with self._changed:
            self._accepted = 0

    def wait_until_closed(self, timeout: float | None) -> bool:
        """Wait until no connection is open; False if `timeout` seconds passed first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout)

    def opened(self, connection: Connection) -> None:
        """Enter a connection."""
        with self._changed:
            self._open.add(connection)
            self._accepted += 1

    def closed(self, connection: Connection) -> None:
        """Remove a connection and tell whoever waits."""
        connection.mark_closed()
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def reset_all(self) -> None:
        """Break every open connection; call it on the server's loop."""
        with self._changed:
            connections = list(self._open)
        for connection in connections:
            connection.reset()


def watched_protocol(ledger: ConnectionLedger) -> type[H11Protocol]:
    """Return an HTTP protocol class that reports its connections to `ledger`.

    Each request's scope carries its `Connection` under `SCOPE_KEY`.
    """

    class WatchedProtocol(H11Protocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._connection: Connection | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            connection = self._connection = Connection(transport, ledger)
            inner = self.app

            async def app(scope: Scope, receive: Receive, send: Send) -> None:
                scope[SCOPE_KEY] = connection
                await inner(scope, receive, send)

            self.app = app
            ledger.opened(connection)

        def eof_received(self) -> None:
            # With something still to be written, asyncio would wait until the client has read
            # it; one that left never will.
            if self.transport.get_write_buffer_size():
                self.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self._connection is not None:
                ledger.closed(self._connection)

    return WatchedProtocol
