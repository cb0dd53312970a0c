"""Carries out a fault on one answer: waits, drips, stalls, cuts and resets a real connection."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.types import Message, Send

from dsh_web.server.connections import Connection
from dsh_web.server.faults import Fault

_PIECE = 64 * 1024
_BODYLESS = frozenset({204, 205, 304})
_HUGE_HEAD = (
    b'{"id":"huge","results":[{"title":"Huge","url":"https://huge.example/","date":null,'
    b'"last_updated":null,"snippet":"'
)
_HUGE_TAIL = b'"}],"server_time":null}'


class BrokenAnswerError(Exception):
    """The fault ended the answer early; the connection is already closed or about to be."""


class FaultySend:
    """An ASGI `send` that deviates from the normal answer as its fault says."""

    def __init__(self, send: Send, fault: Fault, connection: Connection) -> None:
        self._send = send
        self._fault = fault
        self._connection = connection
        self._sent = 0
        self._is_bodyless = False

    async def __call__(self, message: Message) -> None:
        """Pass a message on, late, altered, in pieces or not at all."""
        if message["type"] == "http.response.start":
            await self._start(message)
        elif message["type"] == "http.response.body":
            await self._body(message.get("body", b""), message.get("more_body", False))
        else:
            await self._send(message)

    async def _start(self, message: Message) -> None:
        fault = self._fault
        await self._connection.sleep(fault.delay)
        if fault.reset_after == 0:
            await self._break()
        headers = {bytes(name).lower(): bytes(value) for name, value in message["headers"]}
        for name, value in fault.headers:
            headers[name.encode("latin-1")] = value.encode("latin-1")
        if fault.content_type is not None:
            headers[b"content-type"] = fault.content_type.encode("latin-1")
        status = fault.status or message["status"]
        if status in _BODYLESS:
            self._is_bodyless = True
            headers.pop(b"content-length", None)
        await self._send(
            {
                "type": message["type"],
                "status": status,
                "headers": list(headers.items()),
            }
        )

    async def _body(self, body: bytes, more: bool) -> None:
        if self._is_bodyless:
            body = b""
        size, pause = self._fault.drip or (_PIECE, 0.0)
        end = _end_of(self._fault)
        for at in range(0, len(body), size):
            piece = body[at : at + size]
            if end is not None and self._sent + len(piece) > end:
                await self._pass_on(piece[: end - self._sent])
                await self._break()
            await self._pass_on(piece)
            await self._connection.sleep(pause)
        if end is not None and not more and self._sent <= end:
            # The body is no longer than the limit: keep the promise to end badly all the same.
            await self._break()
        await self._send({"type": "http.response.body", "body": b"", "more_body": more})

    async def _pass_on(self, piece: bytes) -> None:
        if self._connection.is_closed:
            raise BrokenAnswerError
        if piece:
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            self._sent += len(piece)
            # Sending to a peer that left never waits, so the loop would not learn that it left.
            await asyncio.sleep(0)

    async def _break(self) -> None:
        if self._fault.reset_after is not None:
            self._connection.reset()
        elif self._fault.cut_after is not None:
            self._connection.close()
        await self._connection.wait_closed()
        raise BrokenAnswerError


ErrorBody = Callable[[int], dict[str, Any]]


async def send_own_answer(fault: Fault, send: Send, error_body: ErrorBody) -> None:
    """Send the answer that the fault itself describes, through a `FaultySend`.

    Args:
        fault: What goes wrong.
        send: Where the answer goes.
        error_body: Writes the body for a status that the fault names without a body.
    """
    status = fault.status or (307 if fault.redirect is not None else 200)
    headers = {"content-type": "application/json"}
    length: int | None
    if fault.redirect is not None:
        headers["location"] = fault.redirect
        pieces, length = _pieces([b""]), 0
    elif fault.huge is not None:
        pieces, length = _pieces(_huge_body(fault.huge)), _huge_length(fault.huge)
    elif fault.gzip_bomb is not None:
        headers["content-encoding"] = "gzip"
        pieces, length = _pieces(_gzip_bomb(fault.gzip_bomb)), None
    else:
        body = _plain_body(fault, status, error_body)
        if isinstance(fault.body, str | bytes) and body.lstrip()[:1] not in (
            b"{",
            b"[",
        ):
            headers["content-type"] = "text/html" if body.lstrip()[:1] == b"<" else "text/plain"
        pieces, length = _pieces([body]), len(body)
    if length is not None and status not in _BODYLESS:
        headers["content-length"] = str(length)
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    if status not in _BODYLESS:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _end_of(fault: Fault) -> int | None:
    for limit in (fault.stall_after, fault.cut_after, fault.reset_after):
        if limit is not None:
            return limit
    return None


def _plain_body(fault: Fault, status: int, error_body: ErrorBody) -> bytes:
    if status in _BODYLESS:
        return b""
    if isinstance(fault.body, bytes):
        return fault.body
    if fault.body is not None:
        return fault.body.encode("utf-8", "replace")
    return json.dumps(error_body(status)).encode() + b"\n"


async def _pieces(parts: Iterator[bytes] | list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def _huge_length(size: int) -> int:
    return max(size, len(_HUGE_HEAD) + len(_HUGE_TAIL))


def _huge_body(size: int) -> Iterator[bytes]:
    yield _HUGE_HEAD
    left = _huge_length(size) - len(_HUGE_HEAD) - len(_HUGE_TAIL)
    filler = b"a" * _PIECE
    while left > 0:
        yield filler[:left]
        left -= _PIECE
    yield _HUGE_TAIL


def _gzip_bomb(size: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in _huge_body(size):
        packed = packer.compress(piece)
        if packed:
            yield packed
    yield packer.flush()
