"""The Agent API's stream, put together again. Wire: docs.perplexity.ai/api-reference/agent-post.

One answer arrives up to four times (deltas, `output_text.done`, `output_item.done`, the terminal
snapshot); each part of it is emitted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..events import Progress, SourcesFound, StreamEvent, TextDelta, UsageReported
from ._agent_output import WEB_ITEMS, add_sources, answer_text, usage_of
from ._shape import Reader
from ._sources import SourceList
from ._vendor_stream import StreamFailure, is_bare_error

__all__ = ["AgentAssembler"]

_ENDS = ("response.completed", "response.incomplete")
_FAILURES = ("response.failed", "response.cancelled", "error")
_STAGES = {
    "response.reasoning.search_queries": "searching",
    "response.reasoning.image_search_queries": "searching",
    "response.reasoning.finance_search_queries": "searching",
    "response.reasoning.people_search_queries": "searching",
    "response.reasoning.search_results": "searched",
    "response.reasoning.image_search_results": "searched",
    "response.reasoning.finance_search_results": "searched",
    "response.reasoning.people_search_results": "searched",
    "response.reasoning.fetch_url_queries": "fetching",
    "response.reasoning.fetch_url_results": "fetched",
    "response.reasoning.started": "reasoning",
    "response.reasoning.stopped": "reasoning",
    "response.skill.loaded": "other",
}
_RESULTS_OF = {
    "response.reasoning.search_results": ("search_results", "results"),
    "response.reasoning.people_search_results": ("people_search_results", "results"),
    "response.reasoning.fetch_url_results": ("fetch_url_results", "contents"),
}


class AgentAssembler:
    """Collects the frames of one Agent run."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._sources = SourceList(self._reader, merge_repeats=True)
        self._deltas: list[str] = []
        self._texts: list[str] = []
        self._items: dict[int, dict[str, Any]] = {}
        self._found: list[dict[str, Any]] = []
        self._opening: dict[str, Any] = {}
        self._final: dict[str, Any] | None = None
        self._status = "completed"
        self._is_done = False
        self._warnings: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self._final is not None or self._is_done

    @property
    def is_over(self) -> bool:
        return self._final is not None

    @property
    def may_end(self) -> bool:
        return False

    def take_done_marker(self) -> None:
        self._is_done = True

    def take(self, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        kind = self._reader.text(frame, "type")
        if kind == "response.output_text.delta":
            yield from self._text(self._reader.text(frame, "delta"))
        elif kind in _FAILURES or (kind is None and (frame.get("error") or is_bare_error(frame))):
            raise StreamFailure(_failure(frame))
        elif kind in _ENDS:
            self._final = self._reader.record(frame, "response")
            self._status = kind.removeprefix("response.")
            usage = usage_of(self._reader, self._final)
            if usage is not None:
                yield UsageReported(usage=usage)
        elif kind == "response.output_text.done":
            self._texts.append(self._reader.text(frame, "text") or "")
        elif kind == "response.output_item.done":
            yield from self._item(frame)
        elif kind == "response.created":
            self._opening = self._reader.record(frame, "response")
        elif kind in _STAGES:
            yield from self._progress(kind, frame)

    def end(self) -> Iterator[StreamEvent]:
        items = self._output()
        for item in items:
            yield from self._new_sources(item)
        # A run that was cut may have told a finished text only in an event of its own.
        final = answer_text(self._reader, items) or "".join(self._texts)
        streamed = "".join(self._deltas)
        if final.startswith(streamed):
            yield from self._text(final[len(streamed) :])
        elif streamed:
            self._warnings = (
                "the final answer differs from what was streamed; the latter is kept",
            )

    def body(self) -> dict[str, Any]:
        final = self._final or {}
        status = self._reader.text(final, "status") or self._status
        body = {**self._opening, **final, "status": status, "output": self._output()}
        text = "".join(self._deltas)
        if text and answer_text(self._reader, body["output"]) != text:
            others = [item for item in body["output"] if item.get("type") != "message"]
            part = {"type": "output_text", "text": text, "annotations": []}
            message = {"type": "message", "role": "assistant", "content": [part]}
            body["output"] = [*others, message]
        return body

    def warnings(self) -> tuple[str, ...]:
        return self._warnings

    def _output(self) -> list[dict[str, Any]]:
        """Return the items of the terminal snapshot, or those that came one by one."""
        done = [self._items[index] for index in sorted(self._items)]
        items = list(self._reader.records(self._final or {}, "output")) or done
        if any(item.get("type") in WEB_ITEMS for item in items):
            return items
        # What was found stays found, whatever a snapshot leaves out.
        found = [item for item in done if item.get("type") in WEB_ITEMS] or self._found
        return found + items

    def _text(self, delta: str | None) -> Iterator[StreamEvent]:
        if delta:
            self._deltas.append(delta)
            yield TextDelta(text=delta)

    def _item(self, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        item = self._reader.record(frame, "item")
        index = self._reader.integer(frame, "output_index")
        self._items[max(self._items, default=-1) + 1 if index is None else index] = item
        yield from self._new_sources(item)

    def _progress(self, kind: str, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        note = self._reader.text(frame, "thought") or self._reader.text(frame, "name")
        yield Progress.model_validate(
            {
                "stage": _STAGES[kind],
                "queries": self._reader.texts(frame, "queries"),
                "urls": self._reader.texts(frame, "urls"),
                "note": note,
            }
        )
        if kind in _RESULTS_OF:
            item_type, field = _RESULTS_OF[kind]
            item = {"type": item_type, field: frame.get(field)}
            self._found.append(item)
            yield from self._new_sources(item)

    def _new_sources(self, item: dict[str, Any]) -> Iterator[StreamEvent]:
        before = len(self._sources.found)
        add_sources(self._reader, self._sources, item)
        new = self._sources.found[before:]
        if new:
            yield SourcesFound(sources=new)


def _failure(frame: dict[str, Any]) -> dict[str, Any]:
    error = frame.get("error")
    if isinstance(error, dict):
        return error
    response = frame.get("response")
    if isinstance(response, dict) and isinstance(response.get("error"), dict):
        nested: dict[str, Any] = response["error"]
        return nested
    if isinstance(error, str):
        return {"message": error}
    name = str(frame.get("type") or "error").rpartition(".")[2]
    return {"message": frame.get("message") or f"the run ended with status {name!r}"}
