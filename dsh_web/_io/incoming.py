"""A response on its way in, whoever reads it from the wire."""

from __future__ import annotations

import time

from ..flow import HttpRequest, HttpResponse
from .decode import BodyCollector
from .masking import mask_body, mask_headers

__all__ = ["Incoming"]


class Incoming:
    """Gathers the body under the cap of its request and gives out the whole response.

    Args:
        status: HTTP status.
        headers: Names in lower case.
        request: What is being answered.

    Raises:
        TransportError: The body is too large or cannot be decoded.
    """

    def __init__(self, status: int, headers: dict[str, str], request: HttpRequest) -> None:
        self._received_at = time.time()
        self._status = status
        self._headers = headers
        self._request = request
        self._body = BodyCollector(headers, request.max_bytes)
        self.feed = self._body.feed

    def finish(self) -> HttpResponse:
        """Return the response, free of the secrets of its request."""
        body = mask_body(self._body.finish(), self._request)
        headers = mask_headers(self._headers, self._request)
        return HttpResponse(self._status, headers, body, self._received_at)
