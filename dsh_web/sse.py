"""Reading server-sent events from bytes that were cut anywhere. Pure.

Follows the parsing rules of the HTML standard, section 9.2.6, as far as a client of one response
needs them: `data` and `event` fields, comments, CR, LF and CRLF line ends, one leading byte order
mark. There is no reconnecting, so `id` and `retry` are ignored.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["ServerSentEvent", "SseReader"]

MAX_EVENT_CHARS = 10_000_000
"""A single event longer than this is not a stream that anyone meant to send."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: what stood in its `data` lines, joined by line feeds."""

    data: str = field(repr=False)
    """Not in the repr, which tracebacks print: a server may echo anything here."""
    event: str = field(default="", repr=False)
    """The `event` field; empty when there was none."""


class SseReader:
    """Turns pieces of a response body into events, however the pieces were cut.

    Args:
        max_event_chars: Cap on one event.

    Raises:
        ValueError: An event is larger than that; those before it were good.
    """

    def __init__(self, max_event_chars: int = MAX_EVENT_CHARS) -> None:
        self._max_event_chars = max_event_chars
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending: list[str] = []
        self._pending_chars = 0
        self._skips_lf = False
        self._is_start = True
        self._data: list[str] = []
        self._data_chars = 0
        self._event = ""

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that `chunk` completes."""
        yield from self._events(self._decoder.decode(chunk), is_last=False)

    def finish(self) -> Iterator[ServerSentEvent]:
        """Yield a last event whose closing blank line never came.

        The standard drops such an event. Servers that close right after the last line are common
        enough that dropping it would lose the end of real answers; what it is worth is for the
        caller to decide, whose JSON parser notices one that was cut in the middle.
        """
        yield from self._events(self._decoder.decode(b"", True), is_last=True)
        if self._data:
            yield self._take()

    def _events(self, text: str, *, is_last: bool) -> Iterator[ServerSentEvent]:
        if self._is_start and text:
            text = text.removeprefix("\ufeff")
            self._is_start = False
        if self._skips_lf and text:
            text = text.removeprefix("\n")
            self._skips_lf = False
        self._pending.append(text)
        self._pending_chars += len(text)
        # Joined only where a line ends, so that tiny pieces of a long line stay linear.
        if is_last or "\n" in text or "\r" in text:
            for line in self._lines(is_last=is_last):
                event = self._take_line(line)
                if event is not None:
                    yield event
        self._check_size(self._pending_chars)

    def _lines(self, *, is_last: bool) -> list[str]:
        """Return the complete lines received so far; what is left waits for the next piece."""
        text = "".join(self._pending)
        # A carriage return ends its line at once; a line feed that follows belongs to it.
        self._skips_lf = text.endswith("\r")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        rest = "" if is_last else lines.pop()
        self._pending = [rest]
        self._pending_chars = len(rest)
        return lines

    def _take_line(self, line: str) -> ServerSentEvent | None:
        self._check_size(len(line))
        if not line:
            if self._data:
                return self._take()
            self._forget()
            return None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._data_chars += len(value) + 1
        elif name == "event":
            self._event = value
        return None

    def _check_size(self, chars: int) -> None:
        if chars + self._data_chars > self._max_event_chars:
            raise ValueError(
                f"a server-sent event is longer than {self._max_event_chars} characters"
            )

    def _take(self) -> ServerSentEvent:
        event = ServerSentEvent("\n".join(self._data), self._event)
        self._forget()
        return event

    def _forget(self) -> None:
        self._data = []
        self._data_chars = 0
        self._event = ""
