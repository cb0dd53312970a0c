"""Sonar's stream, put together again. Wire: docs.perplexity.ai/docs/sonar/features.

Frames repeat: `message` holds the whole text so far beside `delta`, and sources and usage come
whole each time. The newest value counts; nothing is ever appended but deltas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..events import Progress, SourcesFound, StreamEvent, TextDelta, UsageReported
from ..seam import Usage, WebSearchSource
from ._chat_completion import content_of, first_choice
from ._shape import Reader
from ._sonar_body import add_sources, usage_of
from ._sources import SourceList
from ._vendor_stream import StreamFailure, is_bare_error

__all__ = ["SonarAssembler"]

_PER_FRAME = ("choices", "object", "type", "status")


class SonarAssembler:
    """Collects the frames of one chat completion."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._body: dict[str, Any] = {}
        self._deltas: list[str] = []
        self._length = 0
        self._last_message: str | None = None
        self._annotations: list[Any] = []
        self._finish_reason: str | None = None
        self._is_done = False
        self._listed: Any = None
        self._known: set[str] = set()
        self._usage: Usage | None = None
        self._warnings: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self._is_done or self._finish_reason is not None

    @property
    def is_over(self) -> bool:
        # Usage may follow the finish reason in a frame of its own, so that alone is not the end.
        return self._is_done

    @property
    def may_end(self) -> bool:
        return False

    def take_done_marker(self) -> None:
        self._is_done = True

    def take(self, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        error = frame.get("error")
        if error:
            # Gateways put it beside a last, empty choice.
            raise StreamFailure(error if isinstance(error, dict) else {"message": error})
        if frame.get("type") == "error" or is_bare_error(frame):
            raise StreamFailure(frame)
        for name, value in frame.items():
            if name not in _PER_FRAME and value not in (None, [], ""):
                self._body[name] = value
        choice = first_choice(self._reader, frame)
        yield from self._new_sources(choice)
        yield from self._steps(choice)
        yield from self._text(choice)
        self._finish_reason = self._reader.text(choice, "finish_reason") or self._finish_reason
        if frame.get("object") == "chat.completion.done":
            self._is_done = True
        usage = usage_of(self._reader, frame)
        if usage is not None and usage != self._usage:
            self._usage = usage
            yield UsageReported(usage=usage)

    def end(self) -> Iterator[StreamEvent]:
        final, streamed = self._last_message or "", "".join(self._deltas)
        if final.startswith(streamed):
            yield from self._delta(final[len(streamed) :])
        elif not streamed.startswith(final):
            self._warnings = (
                "the final answer differs from what was streamed; the latter is kept",
            )

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._deltas)}
        if self._annotations:
            message["annotations"] = self._annotations
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason}
        return {**self._body, "choices": [choice]}

    def warnings(self) -> tuple[str, ...]:
        return self._warnings

    def _text(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        message = content_of(self._reader, self._reader.record(choice, "message"))
        if message is not None:
            self._last_message = message
        delta = content_of(self._reader, self._reader.record(choice, "delta"))
        if delta is None and choice.get("delta") is None and message is not None:
            # A gateway that sends only the text so far; what is new in it is its tail.
            delta = message[self._length :] if message.startswith("".join(self._deltas)) else None
        yield from self._delta(delta)

    def _delta(self, delta: str | None) -> Iterator[StreamEvent]:
        if delta:
            self._deltas.append(delta)
            self._length += len(delta)
            yield TextDelta(text=delta)

    def _new_sources(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        for part in ("message", "delta"):
            notes = self._reader.items(self._reader.record(choice, part), "annotations")
            if len(notes) > len(self._annotations):
                self._annotations = notes
        listed = [self._body.get("citations"), self._body.get("search_results"), self._annotations]
        if listed == self._listed:
            # Every frame repeats the lists; reading them again would cost more than all the rest.
            return
        self._listed = listed
        sources = SourceList(Reader())
        add_sources(self._reader, sources, self._body, {"annotations": self._annotations})
        new: dict[str, WebSearchSource] = {}
        for source in sources.found:
            if source.url not in self._known:
                new.setdefault(source.url, source)
        if new:
            self._known.update(new)
            yield SourcesFound(sources=tuple(new.values()))

    def _steps(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        for step in self._reader.records(self._reader.record(choice, "delta"), "reasoning_steps"):
            search = self._reader.record(step, "web_search")
            yield Progress(
                stage="searching" if search else "reasoning",
                queries=self._reader.texts(search, "search_keywords"),
                note=self._reader.text(step, "thought"),
            )
