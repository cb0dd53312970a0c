"""Plain socket facts that the blocking and the asyncio side share."""

from __future__ import annotations

import ipaddress
import os
import select
import socket
from dataclasses import dataclass
from typing import Any

import httpcore

from ..flow import Guard

__all__ = [
    "Address",
    "ReadLimit",
    "admitted",
    "connect_error",
    "has_leftover",
    "is_readable",
    "literal_address",
    "new_socket",
    "resolve",
]


HEAD_BYTES = 262_144
"""Most bytes to read before the response proper starts, interim 1xx responses included."""


class ReadLimit:
    """What a connection may still read in this phase of a call.

    The cap on the decoded body does not see interim responses, chunk extensions or trailers, of
    which a hostile server can send any number.
    """

    __slots__ = ("_allowed", "_left", "_was_used")

    def __init__(self) -> None:
        self._allowed = self._left = 0
        self._was_used = False

    def allow_head(self) -> None:
        """Start an exchange: what comes now is the head of the response."""
        self._allowed = self._left = HEAD_BYTES

    def allow_body(self, max_bytes: int) -> None:
        """Go on with a body that may unfold to `max_bytes`."""
        if self._was_used and self._left == self._allowed:
            # The bytes came with the response before: a broken gateway, or somebody smuggling.
            raise httpcore.RemoteProtocolError("the server answered before it was asked")
        self._was_used = True
        # Chunked framing may cost more than the content, if a server sends it word by word.
        self._allowed = self._left = HEAD_BYTES + 4 * max_bytes

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


def resolve(host: str, port: int, guard: Guard | None = None) -> list[Address]:
    """Return the addresses of `host` in the resolver's order. Blocks.

    Raises:
        OSError: It has none.
    """
    if guard is not None and guard.resolve is not None:
        return [_literal(address, port) for address in guard.resolve(host)]
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Each address once: some resolvers repeat them per protocol.
    return list(dict.fromkeys(Address(info[0], info[4]) for info in infos))


def admitted(host: str, addresses: list[Address], guard: Guard | None) -> list[Address]:
    """Return where to connect to; the guard has seen every one of `addresses` first.

    Raises:
        Exception: Whatever the guard refuses them with.
    """
    if guard is None or not addresses:
        return addresses
    guard.admit(host, [str(address.sockaddr[0]) for address in addresses])
    if guard.dial is None:
        return addresses
    return [_literal(*guard.dial(*address.sockaddr[:2])) for address in addresses]


def _literal(address: str, port: int) -> Address:
    literal = literal_address(address, port)
    if literal is None:
        raise OSError(f"{address!r} is not an address")
    return literal


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


def has_leftover(http: httpcore.HTTPConnection | httpcore.AsyncHTTPConnection) -> bool:
    """Return whether more came than the response that was just read.

    The next call must not take that for its own answer. Only h11 knows, behind a private name of
    httpcore's; `ReadLimit` refuses such an answer in any case, but then a call has failed.
    """
    protocol = getattr(getattr(http, "_connection", None), "_h11_state", None)
    return protocol is not None and protocol.trailing_data[0] != b""
