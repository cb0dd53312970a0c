"""Writes server-sent events as bytes in any of the styles of `StreamStyle`. Pure."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dsh_web.server.stream_style import LineEnd, StreamStyle

BOM = b"\xef\xbb\xbf"
_ENDS: dict[LineEnd, str] = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


@dataclass(frozen=True)
class Event:
    """One event before it is written."""

    payload: Mapping[str, Any]
    name: str
    """Its type, for the styles that send it in an `event:` line."""
    is_named: bool = False
    """True if it has its `event:` line in every style."""


class EventWriter:
    """Turns events into bytes."""

    def __init__(self, style: StreamStyle, line_end: LineEnd) -> None:
        self._style = style
        self._end = _ENDS[style.eol or line_end]

    def event(self, event: Event) -> bytes:
        """Return an event with its blank line."""
        text = ""
        if self._style.event or event.is_named:
            text = f"event: {event.name}{self._end}"
        # Line breaks inside texts are escaped, so each line of the indented form is one line.
        indent = 1 if self._style.multiline else None
        separators = None if self._style.multiline else (",", ":")
        data = json.dumps(
            event.payload, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
        )
        text += "".join(f"data: {line}{self._end}" for line in data.split("\n"))
        return (text + self._end).encode("utf-8", "replace")

    def ping(self) -> bytes:
        """Return a comment that keeps connections alive."""
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
        return f": ping - {now.isoformat(' ')}{self._end}{self._end}".encode()

    def done(self) -> bytes:
        """Return the trailer."""
        return f"data: [DONE]{self._end}{self._end}".encode()


class Cutter:
    """Cuts a run of bytes into pieces of one size, across the borders of what it is given."""

    def __init__(self, size: int | None) -> None:
        self._size = size
        self._kept = b""

    def push(self, data: bytes) -> Iterator[bytes]:
        """Yield the whole pieces that are now there; without a size, just `data`."""
        if self._size is None:
            yield data
            return
        data = self._kept + data
        whole = len(data) - len(data) % self._size
        self._kept = data[whole:]
        for at in range(0, whole, self._size):
            yield data[at : at + self._size]

    def rest(self) -> bytes:
        """Return what is left over, which is less than a piece."""
        rest, self._kept = self._kept, b""
        return rest
