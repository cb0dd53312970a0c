"""Exchanges through an httpx client: one that the caller handed in, or one for a proxy.

The caller's client decides about proxies, TLS, limits and hooks. What the seam guarantees stays:
no redirect is followed, the body is capped, and the call's own deadline holds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..flow import HttpRequest, HttpResponse
from .decode import ACCEPT_ENCODING, BodyCollector

if TYPE_CHECKING:
    import httpx

__all__ = ["exchange", "exchange_async"]


def exchange(client: httpx.Client, request: HttpRequest, timeout: float | None) -> HttpResponse:
    """Send `request` through `client` and return the whole response. Blocks."""
    wire = _build(client, request, timeout)
    response = client.send(wire, stream=True, follow_redirects=False)
    try:
        received_at = time.time()
        headers = _headers(response)
        body = BodyCollector(headers, request.max_bytes)
        for chunk in response.iter_raw():
            body.feed(chunk)
        return HttpResponse(response.status_code, headers, body.finish(), received_at)
    finally:
        response.close()


async def exchange_async(
    client: httpx.AsyncClient, request: HttpRequest, timeout: float | None
) -> HttpResponse:
    """Send `request` through `client` and return the whole response."""
    wire = _build(client, request, timeout)
    response = await client.send(wire, stream=True, follow_redirects=False)
    try:
        received_at = time.time()
        headers = _headers(response)
        body = BodyCollector(headers, request.max_bytes)
        async for chunk in response.aiter_raw():
            body.feed(chunk)
        return HttpResponse(response.status_code, headers, body.finish(), received_at)
    finally:
        await response.aclose()


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
