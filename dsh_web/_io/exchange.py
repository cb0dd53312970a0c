"""What an open response is to a driver, whichever way it was opened."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol

from ..flow import HttpHead

__all__ = ["AsyncExchange", "SyncExchange", "head_of"]


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


def head_of(status: int, headers: Iterable[tuple[bytes, bytes]]) -> HttpHead:
    """Return the head that has just arrived."""
    decoded = {name.lower().decode("ascii"): value.decode("latin-1") for name, value in headers}
    return HttpHead(status, decoded, time.time())
