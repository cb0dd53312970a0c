"""Decoding a response body under a cap on its decoded size."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from ..flow import TransportError

__all__ = ["ACCEPT_ENCODING", "BodyDecoder"]

ACCEPT_ENCODING = "gzip, deflate"
"""What `BodyDecoder` can undo within its cap."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS

_OVERHEAD = 65_536
"""Bytes that an incompressible body may grow by when it is compressed all the same."""
_MANY_PIECES = 50_000
_TINY = 32
"""Bytes; smaller than any event of a streamed answer."""
_KNOWN_ENCODINGS = ("br", "zstd", "compress", "x-compress")


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
            # Only known words are repeated: what a server sends here may be anything.
            shown = repr(encoding) if encoding in _KNOWN_ENCODINGS else "that is not known"
            raise TransportError(f"cannot decode a response with a content-encoding {shown}")
        self._inflate: zlib._Decompress | None = None
        self._wbits = _GZIP_OR_ZLIB
        self._is_encoded = encoding not in ("", "identity")
        self._may_be_raw = encoding == "deflate"
        self._start = b""
        self._received = 0
        self._pieces = 0
        declared = headers.get("content-length", "")
        if not self._is_encoded and declared.isdecimal() and int(declared[:20]) > max_bytes:
            raise self._too_large()

    def decode(self, chunk: bytes) -> bytes:
        """Return what `chunk`, as it came from the wire, adds to the body; may be empty."""
        self._received += len(chunk)
        self._pieces += 1
        if self._pieces > _MANY_PIECES and self._received < self._pieces * _TINY:
            # Each costs the same work as a large one: millions would keep a processor for minutes.
            raise TransportError("the response body comes in too many tiny pieces")
        if not self._is_encoded:
            return self._counted(chunk)
        # Compression that makes a body larger hides something: empty blocks without end, say.
        if self._received > self._max_bytes + _OVERHEAD:
            raise self._too_large()
        if self._inflate is None:
            self._start += chunk
            if len(self._start) < 2:
                return b""
            chunk = self._start
            if self._may_be_raw and not _is_framed(chunk):
                self._wbits = -zlib.MAX_WBITS
            self._inflate = zlib.decompressobj(self._wbits)
        pieces = []
        while chunk:
            piece, chunk = self._inflate_some(chunk)
            pieces.append(self._counted(piece))
        return b"".join(pieces)

    def finish(self) -> None:
        """Check that the body is complete as far as its encoding can tell."""
        if self._start and (self._inflate is None or not self._inflate.eof):
            raise TransportError("the compressed response body ended early")

    def _inflate_some(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Decode up to the cap; return the piece and what of `chunk` is left to decode."""
        inflate = self._inflate
        assert inflate is not None
        if inflate.eof:
            # A gzip body may be several members one after the other (RFC 1952, 2.2), with zeros
            # between or after them.
            chunk = chunk.lstrip(b"\0")
            if not chunk:
                return b"", b""
            self._inflate = inflate = zlib.decompressobj(self._wbits)
        room = self._max_bytes - self._size + 1
        fault: str | None = None
        try:
            piece = inflate.decompress(chunk, room)
        except zlib.error as error:
            fault = str(error)
        if fault is not None:
            raise TransportError(f"cannot decompress the response body: {fault}")
        return piece, inflate.unused_data if inflate.eof else inflate.unconsumed_tail

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise self._too_large()
        return piece

    def _too_large(self) -> TransportError:
        return TransportError(f"the response body is larger than {self._max_bytes} bytes")


def _is_framed(start: bytes) -> bool:
    """Return whether a compressed body starts with a gzip or zlib header.

    Some servers send deflate without the zlib frame that RFC 9110 asks for.
    """
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2]) % 31 == 0
    return is_zlib or start[:2] == b"\x1f\x8b"
