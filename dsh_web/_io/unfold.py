"""Undoing one layer of compression in bounded pieces, however much a few bytes unfold to."""

from __future__ import annotations

import functools
import importlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

__all__ = ["DamagedError", "Layer", "UnknownEncodingError", "available_encodings", "layer_for"]

PIECE = 131_072
"""Most bytes that a layer unfolds at a time; brotli may add some of its own blocks."""

_MOST_PARTS = 10_000
"""Members or frames of one body; each costs the same work, however little it holds."""

_LARGEST_WINDOW = 23
"""Binary logarithm of the memory that zstd may ask for: 8 MiB, as RFC 9659 says of HTTP."""


class DamagedError(Exception):
    """The bytes do not follow their encoding; the text says how."""


class UnknownEncodingError(Exception):
    """Nothing here can undo the encoding; the text says what would, if something does."""


class Layer(Protocol):
    """One content coding of a body."""

    def unfold(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` adds, in pieces of bounded size."""
        ...

    def is_complete(self) -> bool:
        """Return whether the data may end here."""
        ...


def layer_for(encoding: str) -> Layer:
    """Return a fresh layer for a content coding, in lower case.

    Raises:
        UnknownEncodingError: It is unknown, or the library that it needs is not installed.
    """
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Inflate(may_be_raw=encoding == "deflate")
    if encoding == "br":
        return _Brotli(_brotli())
    if encoding == "zstd":
        return _Zstd(_zstd())
    # Only known words are repeated: what a server sends here may be anything.
    shown = repr(encoding) if encoding in ("compress", "x-compress") else "that is not known"
    raise UnknownEncodingError(shown)


def available_encodings() -> tuple[str, ...]:
    """Return the codings that can be undone here, the most common first."""
    found = ["gzip", "deflate"]
    for encoding, load in (("br", _brotli), ("zstd", _zstd)):
        try:
            load()
        except UnknownEncodingError:
            continue
        found.append(encoding)
    return tuple(found)


def _brotli() -> Any:
    for name in ("brotli", "brotlicffi"):
        module = _optional(name)
        # Before 1.2 its output had no bound.
        if hasattr(getattr(module, "Decompressor", None), "can_accept_more_data"):
            return module
    raise UnknownEncodingError("'br': install dsh-web[compression]")


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        module = _optional(name)
        if module is not None:
            return module
    raise UnknownEncodingError("'zstd': install dsh-web[compression]")


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class _Inflate:
    def __init__(self, *, may_be_raw: bool) -> None:
        self._may_be_raw = may_be_raw
        self._wbits = _GZIP_OR_ZLIB
        self._start = b""
        self._inflate: zlib._Decompress | None = None
        self._members = _Parts()

    def unfold(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            self._start += data
            if len(self._start) < 2:
                return
            data = self._start
            if self._may_be_raw and not _is_framed(data):
                self._wbits = -zlib.MAX_WBITS
            self._inflate = zlib.decompressobj(self._wbits)
        while data:
            if self._inflate.eof:
                # A gzip body may be several members one after the other (RFC 1952, 2.2), with
                # zeros between or after them.
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._members.begin()
                self._inflate = zlib.decompressobj(self._wbits)
            piece = _undamaged(zlib.error, self._inflate.decompress, data, PIECE)
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            yield piece

    def is_complete(self) -> bool:
        return not self._start or (self._inflate is not None and self._inflate.eof)


class _Brotli:
    def __init__(self, module: Any) -> None:
        self._error: type[Exception] = module.error
        self._decompressor: Any = module.Decompressor()
        self._process = functools.partial(self._decompressor.process, output_buffer_limit=PIECE)
        self._has_started = False

    def unfold(self, data: bytes) -> Iterator[bytes]:
        decompressor = self._decompressor
        self._has_started = self._has_started or bool(data)
        while data or not decompressor.can_accept_more_data():
            if decompressor.is_finished():
                # Nothing may follow; browsers leave it unread too.
                return
            yield _undamaged(self._error, self._process, data)
            data = b""

    def is_complete(self) -> bool:
        return not self._has_started or bool(self._decompressor.is_finished())


class _Zstd:
    def __init__(self, module: Any) -> None:
        self._module = module
        self._error: type[Exception] = module.ZstdError
        self._frames = _Parts()
        self._decompressor: Any = self._new()
        self._has_started = False

    def unfold(self, data: bytes) -> Iterator[bytes]:
        self._has_started = self._has_started or bool(data)
        while data or not self._decompressor.needs_input:
            if self._decompressor.eof:
                if not data:
                    return
                # A body may be several frames one after the other (RFC 8878, 3).
                self._frames.begin()
                self._decompressor = self._new()
            piece = _undamaged(self._error, self._decompressor.decompress, data, PIECE)
            data = self._decompressor.unused_data if self._decompressor.eof else b""
            yield piece

    def is_complete(self) -> bool:
        return not self._has_started or bool(self._decompressor.eof)

    def _new(self) -> Any:
        limit = {self._module.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
        return self._module.ZstdDecompressor(options=limit)


class _Parts:
    """Counts what a body is made of."""

    def __init__(self) -> None:
        self._count = 1

    def begin(self) -> None:
        """Begin with one more."""
        self._count += 1
        if self._count > _MOST_PARTS:
            raise DamagedError(f"it is made of more than {_MOST_PARTS} parts")


def _undamaged(kind: type[Exception], unfold: Callable[..., bytes], *arguments: Any) -> bytes:
    fault: str
    try:
        return unfold(*arguments)
    except kind as error:
        fault = str(error)
    # Outside, so that the frames which hold the data do not come along.
    raise DamagedError(fault)


def _is_framed(start: bytes) -> bool:
    """Return whether a compressed body starts with a gzip or zlib header.

    Some servers send deflate without the zlib frame that RFC 9110 asks for.
    """
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2]) % 31 == 0
    return is_zlib or start[:2] == b"\x1f\x8b"
