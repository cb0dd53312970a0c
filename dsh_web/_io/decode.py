"""Decoding a response body under a cap on its decoded size."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Literal

from ..flow import TransportError
from .unfold import (
    DamagedError,
    Layer,
    UnknownEncodingError,
    available_encodings,
    layer_for,
)

__all__ = ["BodyDecoder", "accept_encoding"]

_OVERHEAD = 65_536
"""Bytes that an incompressible body may grow by when it is compressed all the same."""
_MANY_PIECES = 50_000
_TINY = 32
"""Bytes; smaller than any event of a streamed answer."""
_MOST_LAYERS = 4
"""Nobody compresses twice on purpose; each layer multiplies what a few bytes can unfold to."""


@functools.cache
def accept_encoding() -> str:
    """Return what to ask servers for: all that `BodyDecoder` can undo within its cap."""
    return ", ".join(available_encodings())


class BodyDecoder:
    """Decodes a body piece by piece; never unfolds more than the cap over all pieces.

    Args:
        headers: The response's headers, names in lower case.
        max_bytes: Cap on the decoded size.
        when_too_large: Beyond the cap `refuse` raises, `cut` ends the body there.

    Raises:
        TransportError: The body is too large, declared too large, or encoded in another way.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        max_bytes: int,
        when_too_large: Literal["refuse", "cut"] = "refuse",
    ) -> None:
        self._max_bytes = max_bytes
        self._cuts = when_too_large == "cut"
        self._size = 0
        self._received = 0
        self._pieces = 0
        self._layers = _layers(headers.get("content-encoding", ""))
        self._taken = [0] * len(self._layers)
        declared = headers.get("content-length", "")
        is_plain = not self._layers and not self._cuts
        if is_plain and declared.isdecimal() and int(declared[:20]) > max_bytes:
            raise self._too_large()

    @property
    def is_cut(self) -> bool:
        """Whether the body ends here because of the cap."""
        return self._cuts and self._size >= self._max_bytes

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what `chunk`, as it came from the wire, adds to the body, in bounded pieces."""
        self._received += len(chunk)
        self._pieces += 1
        if self._pieces > _MANY_PIECES and self._received < self._pieces * _TINY:
            # Each costs the same work as a large one: millions would keep a processor for minutes.
            raise TransportError("the response body comes in too many tiny pieces")
        for piece in self._unfolded(chunk):
            if self.is_cut:
                return
            room = self._max_bytes - self._size
            if len(piece) > room:
                if not self._cuts:
                    raise self._too_large()
                piece = piece[:room]
            self._size += len(piece)
            if piece:
                yield piece

    def finish(self) -> None:
        """Check that the body is complete as far as its encoding can tell."""
        if not self.is_cut and not all(layer.is_complete() for layer in self._layers):
            raise TransportError("the compressed response body ended early")

    def _unfolded(self, chunk: bytes) -> Iterator[bytes]:
        fault: str
        try:
            yield from self._through(0, chunk)
            return
        except DamagedError as error:
            fault = str(error)
        raise TransportError(f"cannot decompress the response body: {fault}")

    def _through(self, depth: int, data: bytes) -> Iterator[bytes]:
        """Yield `data` without the layers from `depth` on; one piece goes through at a time."""
        if depth == len(self._layers):
            yield data
            return
        # Compression that makes a body larger hides something: empty blocks without end, say.
        self._taken[depth] += len(data)
        if self._taken[depth] > self._max_bytes + _OVERHEAD:
            raise self._too_large()
        for piece in self._layers[depth].unfold(data):
            yield from self._through(depth + 1, piece)

    def _too_large(self) -> TransportError:
        return TransportError(f"the response body is larger than {self._max_bytes} bytes")


def _layers(header: str) -> list[Layer]:
    """Return the layers to undo, the one that was applied last first (RFC 9110, 8.4)."""
    names = [name.strip().lower() for name in header.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > _MOST_LAYERS:
        raise TransportError(f"the response body is compressed more than {_MOST_LAYERS} times over")
    fault: str
    try:
        return [layer_for(name) for name in reversed(names)]
    except UnknownEncodingError as error:
        fault = str(error)
    raise TransportError(f"cannot decode a response with a content-encoding {fault}")
