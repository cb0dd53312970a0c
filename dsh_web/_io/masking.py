"""Keeping a key that a server sends back out of everything above the drivers."""

from __future__ import annotations

from collections.abc import Mapping

from .._secret import Secret
from ..flow import HttpRequest

__all__ = ["mask_body", "mask_headers", "secrets_of"]

_SHORTEST = 8
"""A shorter text could be part of the answer's own grammar; flows mask it in what they read."""


def secrets_of(request: HttpRequest) -> list[Secret]:
    """Return what `request` carries that nothing may show."""
    secrets = list(request.secret_headers.values())
    return secrets if request.bearer is None else [request.bearer, *secrets]


def mask_body(body: bytes, request: HttpRequest) -> bytes:
    """Return a response body in which no secret of its request stands.

    Otherwise every frame that holds the response would show the key to a tracer.
    """
    for secret in secrets_of(request):
        text = secret.reveal()
        if text.encode() in body and len(text) >= _SHORTEST and not text.isdecimal():
            # Latin-1 maps each byte to one character and back, whatever the body's charset.
            body = secret.mask(body.decode("latin-1")).encode("latin-1")
    return body


def mask_headers(headers: Mapping[str, str], request: HttpRequest) -> Mapping[str, str]:
    """Return response headers in which no secret of their request stands."""
    for secret in secrets_of(request):
        text = secret.reveal()
        if any(text in value for value in headers.values()):
            headers = {name: secret.mask(value) for name, value in headers.items()}
    return headers
