"""What an open response is to a driver, whichever way it was opened."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol

from ..flow import HttpHead, HttpRequest
from .masking import mask_headers

__all__ = ["LINGER", "AsyncExchange", "Gathered", "SyncExchange", "ends_by_itself", "head_of"]


class SyncExchange(Protocol):
    """One response whose body is read piece by piece; used by one call."""

    head: HttpHead

    def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        ...

    def close(self) -> None:
        """Release the connection: for reuse if the body was read to its end, else closed."""
        ...


class AsyncExchange(Protocol):
    """The same for asyncio. `abort` needs no event loop, so that it works in any clean-up."""

    head: HttpHead

    async def read(self) -> bytes:
        """Return the next decoded bytes; empty at the end of the body."""
        ...

    async def close(self) -> None:
        """Release the connection: for reuse if the body was read to its end, else closed."""
        ...

    def abort(self) -> None:
        """Close the connection at once, unless `close` has released it."""
        ...


LINGER = 0.02
"""Seconds that the end of a body may take to arrive after an answer that is already complete."""


def ends_by_itself(head: HttpHead) -> bool:
    """Return whether the body ends before its connection does."""
    if head.headers.get("connection", "").strip().lower() == "close":
        return False
    return "content-length" in head.headers or "transfer-encoding" in head.headers


_SPILL_AT = 1024


class Gathered:
    """The pieces of a body, which may be very many and very small."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._spilled = bytearray()

    def add(self, piece: bytes) -> None:
        """Add the next piece."""
        self._pieces.append(piece)
        if len(self._pieces) >= _SPILL_AT:
            # Thousands of small pieces would weigh more than the body that they make up.
            self._spilled += b"".join(self._pieces)
            self._pieces.clear()

    def whole(self) -> bytes:
        """Return all pieces joined."""
        if len(self._pieces) == 1 and not self._spilled:
            return self._pieces[0]
        return b"".join((self._spilled, *self._pieces))


_LISTS = ("cache-control", "content-encoding", "vary")
"""Headers of which no line may be lost."""


def head_of(status: int, headers: Iterable[tuple[bytes, bytes]], request: HttpRequest) -> HttpHead:
    """Return the head that has just arrived, free of the secrets of its request."""
    decoded: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.lower().decode("ascii"), raw_value.decode("latin-1")
        if name in _LISTS and name in decoded:
            value = f"{decoded[name]}, {value}"  # an item a line, as good as one line for all
        decoded[name] = value
    return HttpHead(status, mask_headers(decoded, request), time.time())
