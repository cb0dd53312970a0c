"""How a stream of server-sent events is written. Pure: no sockets, no clocks.

Everything that real services and the proxies before them were seen to vary is a field here, so that
a reader can be shown each variation. `sse.py` and `stream_answer.py` carry it out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

LineEnd = Literal["lf", "crlf", "cr"]
Ping = Literal["none", "first", "every"]
Terminal = Literal["completed", "failed", "incomplete", "cancelled", "error", "error-event", "none"]

_MOST_BYTES = 2**30


@dataclass(frozen=True)
class StreamStyle:
    """How streams are written; None leaves a field to what the API in question does.

    Raises:
        ValueError: if a field is out of range.
    """

    eol: LineEnd | None = None
    """Line ends: LF for the Agent API and CRLF for Sonar unless set."""
    event: bool = False
    """Whether an `event:` line with the type stands before the data."""
    done: bool = False
    """Whether `data: [DONE]` ends the stream."""
    terminal: Terminal | None = None
    """How the run ends, whatever it came to; None lets it end in its own way.

    `completed`, `failed`, `incomplete` and `cancelled` hold for Agent runs that are not streamed
    too. `error` is a payload of that type, `error-event` an `event: error` line, `none` a stream
    that just stops. All but `completed` and `none` come when half of the text was sent. Sonar knows
    no failed or cancelled answers; it sends the payload of `error` for them.
    """
    ping: Ping | None = None
    """`: ping` comments before the first or every event; Sonar's full mode sends the first."""
    multiline: bool = False
    """Whether an event's JSON is spread over several `data:` lines."""
    bom: bool = False
    """Whether a byte order mark precedes everything."""
    pieces: int | None = None
    """Bytes per write, cutting characters and line ends anywhere; None writes whole events."""
    chunk_delay: float = 0.0
    """Seconds between events."""
    disconnect_after: int | None = None
    """Events before the connection is closed in mid-stream."""

    def __post_init__(self) -> None:
        for name, kind in (("eol", LineEnd), ("terminal", Terminal), ("ping", Ping)):
            value = getattr(self, name)
            if value is not None and value not in get_args(kind):
                raise ValueError(f"{name} is {value!r}; use one of {', '.join(get_args(kind))}")
        if not 0 <= self.chunk_delay < math.inf:
            raise ValueError(f"chunk_delay is {self.chunk_delay!r}; use seconds >= 0")
        if self.pieces is not None and not 1 <= self.pieces <= _MOST_BYTES:
            raise ValueError(f"pieces is {self.pieces!r}; use 1 to {_MOST_BYTES} bytes")
        if self.disconnect_after is not None and self.disconnect_after < 0:
            raise ValueError(f"disconnect_after is {self.disconnect_after!r}; use 0 or more")

    def changed(self, changes: Mapping[str, Any]) -> StreamStyle:
        """Return a style with some fields replaced.

        Raises:
            ValueError: if a field does not exist or is out of range.
        """
        unknown = set(changes) - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise ValueError(f"a stream style has no {min(unknown)!r}")
        return dataclasses.replace(self, **changes)


def _switch(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.strip().lower() not in words:
        raise ValueError("not 1 or 0")
    return words[text.strip().lower()]


def _count(text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise ValueError("not a whole number")
    return int(text[:16])


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number of seconds") from None


def _word(text: str) -> str:
    return text.strip().lower()


_READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "sse-eol": ("eol", _word),
    "sse-event": ("event", _switch),
    "sse-done": ("done", _switch),
    "sse-terminal": ("terminal", _word),
    "sse-ping": ("ping", _word),
    "sse-multiline": ("multiline", _switch),
    "sse-bom": ("bom", _switch),
    "sse-pieces": ("pieces", _count),
    "sse-disconnect-after": ("disconnect_after", _count),
    "chunk-delay": ("chunk_delay", _seconds),
}
STREAM_NAMES = tuple(_READERS)
"""Names of the fields in fault texts and on the command line."""


def read_stream_change(name: str, text: str) -> dict[str, Any]:
    """Return the field that a name and a text set, with its value.

    Args:
        name: One of `STREAM_NAMES`.
        text: The value as text, such as `crlf`, `1` or `0.02`.

    Raises:
        ValueError: if the text cannot be read or the value is out of range.
    """
    field, read = _READERS[name]
    change = {field: read(text)}
    StreamStyle().changed(change)
    return change
