"""What a URL needs below HTTP, worked out once per URL instead of once per call."""

from __future__ import annotations

import functools
import ssl
import threading
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

import httpcore

from ..flow import HttpRequest, TransportError
from .decode import accept_encoding

__all__ = ["CONNECT_TIMEOUT", "Origin", "Route", "route_to", "shared_ssl_context", "wire_request"]

CONNECT_TIMEOUT = 10.0
"""Seconds to reach a server, TLS handshake included."""

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port."""

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Route:
    """The connection parameters of one URL."""

    origin: Origin
    url: httpcore.URL
    core_origin: httpcore.Origin
    host_header: bytes


@functools.lru_cache(maxsize=256)
def route_to(url: str) -> Route:
    """Return the route to `url`.

    Raises:
        TransportError: The URL is not absolute http or https.
    """
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme, parts.hostname
        port = parts.port or _PORTS.get(scheme)
    except ValueError as error:
        raise TransportError(f"the address cannot be read: {error}") from None
    if port is None or not host:
        raise TransportError("the address is not an http or https URL")
    ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
    literal = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
    header = literal if port == _PORTS[scheme] else f"{literal}:{port}"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    core_url = httpcore.URL(
        scheme=scheme.encode(), host=ascii_host.encode(), port=port, target=target.encode("ascii")
    )
    return Route(
        origin=(scheme, ascii_host, port),
        url=core_url,
        core_origin=core_url.origin,
        host_header=header.encode(),
    )


def wire_request(request: HttpRequest, route: Route) -> httpcore.Request:
    """Return `request` as it goes over the wire.

    The result holds the key in clear; its repr does not show it.
    """
    headers = [(b"host", route.host_header), (b"accept-encoding", accept_encoding().encode())]
    headers += [(name.encode("ascii"), value.encode()) for name, value in request.headers.items()]
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        headers.append((b"content-length", str(len(request.body)).encode()))
    for name, secret in request.secret_headers.items():
        headers.append((name.encode("ascii"), secret.reveal().encode()))
    if request.bearer is not None:
        headers.append((b"authorization", b"Bearer " + request.bearer.reveal().encode()))
    return httpcore.Request(
        request.method,
        route.url,
        headers=headers,
        content=request.body,
        extensions={"timeout": {"connect": CONNECT_TIMEOUT}},
    )


_ssl_lock = threading.Lock()
_ssl_context: ssl.SSLContext | None = None


def shared_ssl_context() -> ssl.SSLContext:
    """Return the process's verifying TLS context, built on first use since that costs 20 ms."""
    global _ssl_context
    with _ssl_lock:
        if _ssl_context is None:
            _ssl_context = httpcore.default_ssl_context()
        return _ssl_context
