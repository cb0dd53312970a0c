"""Exchanges through an httpx client: one that the caller handed in, or one for a proxy.

The caller's client decides about proxies, TLS, limits and hooks. What the seam guarantees stays:
no redirect is followed, the body is capped, and the call's own deadline holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..flow import HttpRequest, HttpResponse
from .decode import ACCEPT_ENCODING
from .incoming import Incoming

if TYPE_CHECKING:
    import httpx

__all__ = ["exchange", "exchange_async"]


def exchange(client: httpx.Client, request: HttpRequest, timeout: float | None) -> HttpResponse:
    """Send `request` through `client` and return the whole response. Blocks."""
    wire = _build(client, request, timeout)
    response = client.send(wire, stream=True, follow_redirects=False)
    try:
        if response.is_stream_consumed:
            return _already_read(response, request)
        incoming = Incoming(response.status_code, _headers(response), request)
        for chunk in response.iter_raw():
            incoming.feed(chunk)
        return incoming.finish()
    finally:
        response.close()


async def exchange_async(
    client: httpx.AsyncClient, request: HttpRequest, timeout: float | None
) -> HttpResponse:
    """Send `request` through `client` and return the whole response."""
    wire = _build(client, request, timeout)
    response = await client.send(wire, stream=True, follow_redirects=False)
    try:
        if response.is_stream_consumed:
            return _already_read(response, request)
        incoming = Incoming(response.status_code, _headers(response), request)
        async for chunk in response.aiter_raw():
            incoming.feed(chunk)
        return incoming.finish()
    finally:
        await response.aclose()


def _already_read(response: httpx.Response, request: HttpRequest) -> HttpResponse:
    # By a hook of the client, or because a mock transport made it whole; decoded in any case.
    encoded = ("content-encoding", "content-length")
    headers = {name: value for name, value in _headers(response).items() if name not in encoded}
    incoming = Incoming(response.status_code, headers, request)
    incoming.feed(response.content)
    return incoming.finish()


def _build(
    client: httpx.Client | httpx.AsyncClient, request: HttpRequest, timeout: float | None
) -> httpx.Request:
    import httpx

    headers = {"accept-encoding": ACCEPT_ENCODING, **request.headers}
    headers |= {name: secret.reveal() for name, secret in request.secret_headers.items()}
    if request.bearer is not None:
        headers["authorization"] = f"Bearer {request.bearer.reveal()}"
    # httpx's default of five seconds is meant for pages, not for answers that take a minute; a
    # limit that the caller chose is kept.
    is_default = client.timeout == httpx.Timeout(5.0)
    return client.build_request(
        request.method,
        request.url,
        headers=headers,
        content=request.body or None,
        timeout=httpx.Timeout(timeout) if is_default else client.timeout,
    )


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
