"""The frames of a Sonar stream in its two modes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from dsh_web.server.agent_events import STREAM_ERROR
from dsh_web.server.sonar_answer import SonarAnswer, usage
from dsh_web.server.sse import Event
from dsh_web.server.stream_answer import Events
from dsh_web.server.stream_style import StreamStyle, Terminal
from dsh_web.server.text_pieces import sonar_pieces

Frame = dict[str, Any]

_BROKEN = frozenset({"failed", "cancelled", "error", "error-event"})


async def stream_sonar(answer: SonarAnswer, style: StreamStyle) -> Events:
    """Yield an answer as events, in the mode that was asked for."""
    frames = _concise if answer.request.is_concise else _full
    for frame in frames(answer, style.terminal):
        yield Event(frame, "message")
    if style.terminal in _BROKEN:
        yield Event({"error": STREAM_ERROR}, "error", is_named=style.terminal == "error-event")


def _full(answer: SonarAnswer, terminal: Terminal | None) -> Iterator[Frame]:
    head, found = answer.head(), answer.found()
    pieces, finish_reason = _pieces(answer, terminal)
    text = ""
    for piece in pieces:
        text += piece
        yield {
            **head,
            "created": int(time.time()),
            "usage": usage(answer.request, text, is_final=False),
            **found,
            "object": "chat.completion.chunk",
            "choices": [_choice(text, piece)],
        }
    if finish_reason is not None:
        yield {
            **head,
            "created": int(time.time()),
            "usage": usage(answer.request, text),
            **found,
            "object": "chat.completion.done",
            "choices": [{**_choice(text, ""), "finish_reason": finish_reason}],
            **answer.extras(),
        }


def _concise(answer: SonarAnswer, terminal: Terminal | None) -> Iterator[Frame]:
    head, asked = answer.head(), answer.request
    found = {"search_results": answer.found()["search_results"], "images": []}
    steps = []
    if asked.wants_search:
        search = {"search_keywords": [asked.question], "search_results": found["search_results"]}
        thought = "Searching the web for what was asked."
        steps = [{"thought": thought, "type": "web_search", "web_search": search}]
    # Deep research may come to its conclusion without having shown a step.
    if steps and asked.model != "sonar-deep-research":
        choice = _choice("", "", finish_reason=None)
        choice["delta"]["reasoning_steps"] = steps
        yield {**head, "object": "chat.reasoning", "choices": [choice], "type": "message"}
    choice = _choice("", "", finish_reason=None)
    choice["message"]["reasoning_steps"] = steps
    thought_usage = usage(asked, "")
    del thought_usage["cost"]
    yield {
        **head,
        "object": "chat.reasoning.done",
        "usage": thought_usage,
        **found,
        "choices": [choice],
    }
    pieces, finish_reason = _pieces(answer, terminal)
    for piece in pieces:
        chunk = _choice("", piece, finish_reason=None)
        yield {**head, "object": "chat.completion.chunk", "choices": [chunk]}
    if finish_reason is not None:
        text = "".join(pieces)
        choice = _choice(text, "", finish_reason=finish_reason)
        choice["message"]["reasoning_steps"] = steps
        yield {
            **head,
            "object": "chat.completion.done",
            "usage": usage(asked, text),
            **found,
            "choices": [choice],
            **answer.extras(),
        }


def _pieces(answer: SonarAnswer, terminal: Terminal | None) -> tuple[list[str], str | None]:
    """Return the pieces to send, and the finish reason or None if the end is not sent."""
    pieces = sonar_pieces(answer.text)
    if terminal in _BROKEN:
        return pieces[: len(pieces) // 2], None
    if terminal == "incomplete":
        return pieces[: len(pieces) // 2], "length"
    if terminal == "none":
        return pieces, None
    return pieces, "stop" if terminal == "completed" else answer.finish_reason


def _choice(text: str, piece: str, **more: Any) -> dict[str, Any]:
    return {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "delta": {"role": "assistant", "content": piece},
        **more,
    }
