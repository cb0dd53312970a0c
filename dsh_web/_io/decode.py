"""Decoding a response body under a cap on its decoded size."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from ..flow import TransportError

__all__ = ["ACCEPT_ENCODING", "BodyDecoder"]

ACCEPT_ENCODING = "gzip, deflate"
"""What `BodyDecoder` can undo within its cap."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class BodyDecoder:
    """Decodes a body piece by piece; never unfolds more than the cap over all pieces.

    Args:
        headers: The response's headers, names in lower case.
        max_bytes: Cap on the decoded size.

    Raises:
        TransportError: The body is too large, declared too large, or encoded in another way.
    """

    def __init__(self, headers: Mapping[str, str], max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise TransportError(f"cannot decode a response with content-encoding {encoding!r}")
        self._inflate: zlib._Decompress | None = None
        self._is_encoded = encoding not in ("", "identity")
        self._may_be_raw = encoding == "deflate"
        declared = headers.get("content-length", "")
        if not self._is_encoded and declared.isdecimal() and int(declared[:20]) > max_bytes:
            raise self._too_large()

    def decode(self, chunk: bytes) -> bytes:
        """Return what `chunk`, as it came from the wire, adds to the body; may be empty."""
        if not self._is_encoded:
            return self._counted(chunk)
        pieces = []
        while chunk:
            piece, chunk = self._inflate_some(chunk)
            pieces.append(self._counted(piece))
        return b"".join(pieces)

    def finish(self) -> None:
        """Check that the body is complete as far as its encoding can tell."""
        if self._inflate is not None and not self._inflate.eof:
            raise TransportError("the compressed response body ended early")

    def _inflate_some(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Decode up to the cap; return the piece and what of `chunk` is left to decode."""
        if self._inflate is None or self._inflate.eof:
            # A gzip body may be several members one after the other (RFC 1952, 2.2).
            self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        room = self._max_bytes - self._size + 1
        try:
            piece = self._inflate.decompress(chunk, room)
        except zlib.error as error:
            if not self._may_be_raw or self._size:
                raise TransportError(f"cannot decompress the response body: {error}") from None
            # Some servers send deflate without the zlib frame that RFC 9110 asks for.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            self._may_be_raw = False
            return b"", chunk
        if self._inflate.eof:
            return piece, self._inflate.unused_data.lstrip(b"\0")
        return piece, self._inflate.unconsumed_tail

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise self._too_large()
        return piece

    def _too_large(self) -> TransportError:
        return TransportError(f"the response body is larger than {self._max_bytes} bytes")
