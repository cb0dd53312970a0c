"""What can be made to go wrong with an answer, and its text form. Pure: no sockets, no clocks.

`fault_plan.py` decides which faults meet a request; `fault_delivery.py` carries them out.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from dsh_web.server.stream_style import STREAM_NAMES, StreamStyle, read_stream_change

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE = re.compile(r"(\d+)([kmg]?)", re.IGNORECASE)
_SIZE_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
# Far beyond what any test waits for, and small enough to keep arithmetic harmless.
_MOST = 2**40


@dataclass(frozen=True)
class Fault:
    """One way an answer deviates from normal; fields combine, and unset fields change nothing.

    Raises:
        ValueError: if a field is out of range or two fields cannot hold together.
    """

    status: int | None = None
    """HTTP status, 200 to 599. With 400 or more and no `body`, a matching JSON error is sent."""
    body: str | bytes | None = None
    """Body instead of the normal one; text is sent as UTF-8."""
    content_type: str | None = None
    """`content-type` instead of the normal one."""
    headers: tuple[tuple[str, str], ...] = ()
    """Extra or replaced headers; a mapping is accepted too. Names are stored in lower case."""
    delay: float = 0.0
    """Seconds of silence before the first byte."""
    drip: tuple[int, float] | None = None
    """Body pieces of this many bytes, with this many seconds after each."""
    stall_after: int | None = None
    """Body bytes before silence with the connection left open."""
    cut_after: int | None = None
    """Body bytes before the connection is closed, with the full `content-length` announced."""
    reset_after: int | None = None
    """Body bytes before a TCP reset; 0 resets before any byte, status line included."""
    redirect: str | None = None
    """`location` of a redirect; `status` defaults to 307."""
    huge: int | None = None
    """Size in bytes of a valid JSON body that is streamed, never held in memory."""
    gzip_bomb: int | None = None
    """Size in bytes that a small gzip body unfolds to."""
    times: int | None = None
    """How many requests meet this fault before it is spent; None means all of them."""
    stream: tuple[tuple[str, Any], ...] = ()
    """Fields of `StreamStyle` and their values, for this answer only; a mapping is accepted too."""
    label: str = ""
    """Free text; equal faults share the count of `times` unless their labels differ."""

    def __post_init__(self) -> None:
        pairs: Iterable[tuple[str, str]] = self.headers
        if isinstance(pairs, Mapping):
            pairs = pairs.items()
        headers = tuple((str(name).lower(), str(value)) for name, value in pairs)
        object.__setattr__(self, "headers", headers)
        for name, value in headers:
            if not _TOKEN.fullmatch(name) or name in {
                "content-length",
                "transfer-encoding",
            }:
                raise ValueError(f"header name {name!r} cannot be sent")
            _check_header_value(name, value)
        changes = self.stream.items() if isinstance(self.stream, Mapping) else self.stream
        object.__setattr__(self, "stream", tuple((name, value) for name, value in changes))
        StreamStyle().changed(dict(self.stream))
        self._check_ranges()
        self._check_combinations()

    def _check_ranges(self) -> None:
        if self.status is not None and not 200 <= self.status <= 599:
            raise ValueError(f"status is {self.status!r}; use 200 to 599")
        if not 0 <= self.delay < math.inf:
            raise ValueError(f"delay is {self.delay!r}; use seconds >= 0")
        if self.drip is not None:
            size, pause = self.drip
            if size < 1 or not 0 <= pause < math.inf:
                raise ValueError(f"drip is {self.drip!r}; use (bytes >= 1, seconds >= 0)")
        for name in ("stall_after", "cut_after", "reset_after", "huge", "gzip_bomb"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= _MOST:
                raise ValueError(f"{name} is {value!r}; use 0 to {_MOST} bytes")
        if self.times is not None and self.times < 1:
            raise ValueError(f"times is {self.times!r}; use 1 or more")
        for name in ("content_type", "redirect"):
            value = getattr(self, name)
            if value is not None:
                _check_header_value(name, value)

    def _check_combinations(self) -> None:
        bodies = [
            n for n in ("body", "redirect", "huge", "gzip_bomb") if getattr(self, n) is not None
        ]
        if len(bodies) > 1:
            raise ValueError(f"{' and '.join(bodies)} cannot be combined: one body per answer")
        ends = [
            n for n in ("stall_after", "cut_after", "reset_after") if getattr(self, n) is not None
        ]
        if len(ends) > 1:
            raise ValueError(f"{' and '.join(ends)} cannot be combined: one end per answer")
        if self.redirect is not None and self.status not in {None, *_REDIRECTS}:
            raise ValueError(
                f"status is {self.status!r}; a redirect needs 301, 302, 303, 307 or 308"
            )

    @property
    def answers_alone(self) -> bool:
        """True if the fault brings its own answer, so that the endpoint is not asked at all."""
        own_body = (self.body, self.redirect, self.huge, self.gzip_bomb)
        return any(part is not None for part in own_body) or (self.status or 200) >= 400

    def header(self, name: str) -> str | None:
        """Return the value of one extra header, or None."""
        return dict(self.headers).get(name.lower())

    def merged_with(self, other: Fault) -> Fault:
        """Return a fault with the fields that `other` sets on top of this one's.

        Raises:
            ValueError: if the two cannot hold together.
        """
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(Fault):
            value = getattr(other, field.name)
            if field.name == "headers":
                changes["headers"] = tuple({**dict(self.headers), **dict(value)}.items())
            elif field.name == "stream":
                changes["stream"] = tuple({**dict(self.stream), **dict(value)}.items())
            elif value != field.default:
                changes[field.name] = value
        return dataclasses.replace(self, **changes)

    @classmethod
    def parse(cls, spec: str) -> Fault:
        """Read the text form: comma-separated `name=value`, as in `status=429,retry-after=2`.

        Names are `status`, `body`, `content-type`, `delay`, `drip` (`BYTES:SECONDS`),
        `stall-after`, `cut-after`, `reset-after`, `redirect`, `huge`, `gzip-bomb`, `times`,
        `label`, the header shorthands `retry-after`, `retry-after-ms` and `x-should-retry`, and
        `header.NAME` for any other header. Streams take `sse-eol`, `sse-event`, `sse-done`,
        `sse-terminal`, `sse-ping`, `sse-multiline`, `sse-bom`, `sse-pieces`,
        `sse-disconnect-after` and `chunk-delay`, the fields of `StreamStyle`; switches are `1` or
        `0`. Byte counts may end in `k`, `m` or `g` (1024-based).
        Values are percent-decoded, so a comma is `%2C` and, inside a path, a slash is `%2F`. A
        spec without any literal `=` is percent-decoded as a whole first.

        Raises:
            ValueError: naming the part that cannot be read.
        """
        text = spec if "=" in spec else unquote(spec)
        fields: dict[str, Any] = {}
        headers: dict[str, str] = {}
        stream: dict[str, Any] = {}
        for part in text.split(","):
            if not part.strip():
                continue
            name, equals, raw = part.partition("=")
            name, value = name.strip().lower().replace("_", "-"), unquote(raw)
            if not equals:
                raise ValueError(f"fault part {part.strip()!r} is not name=value")
            if name in _HEADER_NAMES:
                headers[name] = value.strip()
            elif name.startswith("header."):
                headers[name.removeprefix("header.")] = value
            elif name in _READERS or name in STREAM_NAMES:
                try:
                    if name in _READERS:
                        fields[name.replace("-", "_")] = _READERS[name](value)
                    else:
                        stream.update(read_stream_change(name, value))
                except ValueError as error:
                    raise ValueError(f"fault {name}={value!r}: {error}") from error
            else:
                known = ", ".join([*_READERS, *_HEADER_NAMES, "header.NAME", *STREAM_NAMES])
                raise ValueError(f"unknown fault {name!r}; known are {known}")
        if not fields and not headers and not stream:
            raise ValueError("empty fault; an example is status=429,retry-after=2")
        return cls(**fields, headers=tuple(headers.items()), stream=tuple(stream.items()))


def _check_header_value(name: str, value: str) -> None:
    # Latin-1 without control characters is what h11 sends; anything else would break the answer.
    if any(not (32 <= ord(char) < 256) or ord(char) == 127 for char in value):
        raise ValueError(f"{name} value {value!r} cannot be sent in a header")


def _whole(text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise ValueError("not a whole number")
    return int(text[:16])


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number of seconds") from None


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None or len(match[1]) > 13:
        raise ValueError("not a number of bytes such as 40, 64k or 50m")
    return int(match[1]) * _SIZE_UNITS[match[2].lower()]


def _drip(text: str) -> tuple[int, float]:
    size, colon, pause = text.partition(":")
    if not colon:
        raise ValueError("not BYTES:SECONDS, such as 16:0.05")
    return _bytes(size), _seconds(pause)


_HEADER_NAMES = ("retry-after", "retry-after-ms", "x-should-retry")
_READERS: dict[str, Callable[[str], Any]] = {
    "status": _whole,
    "body": str,
    "content-type": str,
    "delay": _seconds,
    "drip": _drip,
    "stall-after": _bytes,
    "cut-after": _bytes,
    "reset-after": _bytes,
    "redirect": str,
    "huge": _bytes,
    "gzip-bomb": _bytes,
    "times": _whole,
    "label": str,
}
