"""Plain socket facts that the blocking and the asyncio side share."""

from __future__ import annotations

import ipaddress
import os
import select
import socket
from dataclasses import dataclass
from typing import Any

import httpcore

__all__ = [
    "HEAD_BYTES",
    "Address",
    "ReadLimit",
    "body_bytes",
    "connect_error",
    "is_readable",
    "literal_address",
    "new_socket",
    "resolve",
]


HEAD_BYTES = 262_144
"""Most bytes to read before the response proper starts, interim 1xx responses included."""


def body_bytes(max_bytes: int) -> int:
    """Return the most bytes to read for a body that may unfold to `max_bytes`.

    Chunked framing may cost more than the content, if a server sends it word by word.
    """
    return HEAD_BYTES + 4 * max_bytes


class ReadLimit:
    """What a connection may still read in this phase of a call.

    The cap on the decoded body does not see interim responses, chunk extensions or trailers, of
    which a hostile server can send any number.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = 0

    def allow(self, count: int) -> None:
        """Start a phase that may read `count` bytes."""
        self._left = count

    def spend(self, data: bytes) -> bytes:
        """Return `data`, which was just read, if it is still within the limit."""
        self._left -= len(data)
        if self._left < 0:
            raise httpcore.RemoteProtocolError("the server sends more than a response may hold")
        return data


@dataclass(frozen=True, slots=True)
class Address:
    """One place to connect to."""

    family: int
    sockaddr: tuple[Any, ...]


def literal_address(host: str, port: int) -> Address | None:
    """Return the address if `host` is one already, so that it needs no look-up."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    if ip.version == 4:
        return Address(socket.AF_INET, (host, port))
    return Address(socket.AF_INET6, (host, port, 0, 0))


def resolve(host: str, port: int) -> list[Address]:
    """Return the addresses of `host` in the resolver's order. Blocks."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Each address once: some resolvers repeat them per protocol.
    return list(dict.fromkeys(Address(info[0], info[4]) for info in infos))


def new_socket(address: Address) -> socket.socket:
    """Return an unconnected, non-blocking TCP socket for `address`."""
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    sock.setblocking(False)
    # A request is one small write; waiting to fill a packet only adds latency.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def connect_error(failure: OSError | None, host: str) -> httpcore.NetworkError | Exception:
    """Return the error for a host none of whose addresses answered."""
    if isinstance(failure, TimeoutError):
        return httpcore.ConnectTimeout(f"connecting to {host} timed out")
    if isinstance(failure, socket.gaierror):
        return httpcore.ConnectError(f"cannot resolve {host}: {failure.strerror}")
    reason = "no address" if failure is None else str(failure)
    if failure is not None and failure.errno:
        # The system's words alone: asyncio wraps them in its own, which differ by version.
        reason = os.strerror(failure.errno)
    return httpcore.ConnectError(f"cannot connect to {host}: {reason}")


def is_readable(sock: socket.socket) -> bool:
    """Return whether a read would not block: data, the end, or a closed socket."""
    if sock.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))
