"""What the process does on the network, seen from below every HTTP library.

Audit events cannot be missed by a client that brings its own sockets or resolver, and need nothing
of ours patched.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Traffic:
    """Hosts that were looked up and addresses that were connected to."""

    looked_up: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)

    def asked(self, host: str) -> bool:
        """Return whether anything was sent towards `host`, be it only a look-up."""
        return host in self.looked_up or host in self.connected


_watching: list[Traffic] = []
_is_hooked = False


@contextlib.contextmanager
def watch_network() -> Iterator[Traffic]:
    """Record the network traffic of a block; what is not loopback fails instead of leaving."""
    global _is_hooked
    if not _is_hooked:
        # An audit hook can never be removed; with nobody watching it does nothing.
        sys.addaudithook(_hook)
        _is_hooked = True
    traffic = Traffic()
    _watching.append(traffic)
    try:
        yield traffic
    finally:
        _watching.remove(traffic)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "socket.getaddrinfo":
        host = _text(arguments[0])
        for traffic in _watching:
            traffic.looked_up.append(host)
        if host and not _is_local(host):
            raise socket.gaierror(socket.EAI_NONAME, f"{host} is outside of this test")
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = _text(arguments[1][0])
        for traffic in _watching:
            traffic.connected.append(host)
        if not _is_local(host):
            raise OSError(f"{host} is outside of this test")


def _text(host: Any) -> str:
    return host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host or "")


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
