"""Sends a stream of events, and notices when nobody is there to read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dsh_web.server.connections import SCOPE_KEY, Connection
from dsh_web.server.sse import BOM, Cutter, Event, EventWriter
from dsh_web.server.stream_style import LineEnd, Ping, StreamStyle

Events = AsyncGenerator[Event, None]


class StreamAnswer(Response):
    """An answer of `text/event-stream`.

    The events are closed as soon as the client leaves, so a generator learns of it in its
    `finally`.
    """

    def __init__(
        self, events: Events, style: StreamStyle, *, line_end: LineEnd = "lf", ping: Ping = "none"
    ) -> None:
        super().__init__(
            headers={
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
            }
        )
        # Starlette has announced the length of an empty body.
        del self.headers["content-length"]
        self._events = events
        self._style = style
        self._ping = style.ping or ping
        self._writer = EventWriter(style, line_end)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end or the client leaves."""
        connection: Connection = scope[SCOPE_KEY]
        async with aclosing(self._events):
            with connection.streaming():
                await self._send_all(connection, send)

    async def _send_all(self, connection: Connection, send: Send) -> None:
        style, cutter = self._style, Cutter(self._style.pieces)
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        count = 0
        async for data in self._written():
            if count == style.disconnect_after:
                break
            if count:
                await connection.sleep(style.chunk_delay)
            count += 1
            for piece in cutter.push(data):
                if not await _send_piece(connection, send, piece):
                    return
        if not await _send_piece(connection, send, cutter.rest()):
            return
        if style.disconnect_after is not None:
            connection.close()
            await connection.wait_closed()
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _written(self) -> AsyncGenerator[bytes, None]:
        before = BOM if self._style.bom else b""
        is_first = True
        async for event in self._events:
            if self._ping == "every" or (self._ping == "first" and is_first):
                before += self._writer.ping()
            yield before + self._writer.event(event)
            before, is_first = b"", False
        if before or self._style.done:
            yield before + (self._writer.done() if self._style.done else b"")


async def _send_piece(connection: Connection, send: Send, piece: bytes) -> bool:
    """Send some bytes; False if the client is gone."""
    if piece and not connection.is_closed:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        # Sending to a client that left never waits, so the loop would not learn that it left.
        await asyncio.sleep(0)
    return not connection.is_closed
