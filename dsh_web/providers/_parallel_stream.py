"""A chat completion of Parallel that came in chunks, put together again.

Wire: docs.parallel.ai/chat-api/chat-quickstart (2026-11). Which chunk carries `basis` is not
documented, and neither is a closing `[DONE]`; `finish_reason` is always null.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..events import SourcesFound, StreamEvent, TextDelta
from ._chat_completion import content_of, first_choice
from ._parallel_basis import Basis
from ._shape import Reader
from ._vendor_stream import StreamFailure, is_bare_error

__all__ = ["ParallelChatAssembler"]


class ParallelChatAssembler:
    """Collects the chunks of one chat completion."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._fields: dict[str, Any] = {}
        self._deltas: list[str] = []
        self._finish_reason: str | None = None
        self._is_done = False
        self._known: set[str] = set()

    @property
    def is_complete(self) -> bool:
        return self._is_done or self._finish_reason is not None

    @property
    def is_over(self) -> bool:
        # The basis may follow in a chunk of its own, whatever a choice says of its end.
        return self._is_done

    @property
    def may_end(self) -> bool:
        return bool(self._deltas)

    def take_done_marker(self) -> None:
        self._is_done = True

    def take(self, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        error = frame.get("error")
        if error:
            raise StreamFailure(error if isinstance(error, dict) else {"message": error})
        if frame.get("type") == "error" or is_bare_error(frame):
            raise StreamFailure(frame)
        for name, value in frame.items():
            if name not in ("choices", "object", "type") and value not in (None, [], ""):
                self._fields[name] = value
        if frame.get("basis"):
            yield from self._new_sources()
        choice = first_choice(self._reader, frame)
        delta = content_of(self._reader, self._reader.record(choice, "delta"))
        if delta:
            self._deltas.append(delta)
            yield TextDelta(text=delta)
        self._finish_reason = self._reader.text(choice, "finish_reason") or self._finish_reason

    def _new_sources(self) -> Iterator[StreamEvent]:
        found = Basis(Reader(), self._fields).sources.found
        new = tuple(source for source in found if source.url not in self._known)
        if new:
            self._known.update(source.url for source in new)
            yield SourcesFound(sources=new)

    def end(self) -> Iterator[StreamEvent]:
        yield from ()

    def body(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": "".join(self._deltas) or None}
        choice = {"index": 0, "finish_reason": self._finish_reason, "message": message}
        return {"object": "chat.completion", **self._fields, "choices": [choice]}

    def warnings(self) -> tuple[str, ...]:
        if self.is_complete:
            return ()
        return ("the stream ended without saying so: the answer may have been cut",)
