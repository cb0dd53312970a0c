"""Playing a provider's flow by hand: no clock, no socket, no event loop."""

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from dsh_web import Flow, HttpRequest, HttpResponse, TextDelta, WebError, WebSearchResult
from dsh_web.flow import Emit, HttpHead, OpenStream, ReadChunk


def play(flow: Flow[Any], *answers: object) -> tuple[list[Any], Any]:
    """Answer every step of `flow` in order; return the steps and the flow's result.

    An answer that is an exception is thrown into the flow. Exactly as many answers as steps must
    be given, also where the flow ends by raising.
    """
    steps: list[Any] = []
    outcome: object = None
    pending = list(answers)
    try:
        while True:
            steps.append(_advance(flow, outcome))
            assert pending, f"the flow asks for more than {len(answers)} steps: {steps[-1]!r}"
            outcome = pending.pop(0)
    except StopIteration as stop:
        assert not pending, f"the flow ended before these answers: {pending!r}"
        return steps, stop.value
    except Exception:
        assert not pending, f"the flow raised before these answers: {pending!r}"
        raise


def _advance(flow: Flow[Any], outcome: object) -> Any:
    return flow.throw(outcome) if isinstance(outcome, Exception) else flow.send(outcome)


@dataclass
class Heard:
    """What a streaming flow asked for, told and came to."""

    steps: list[Any] = field(default_factory=list)
    """Without the pieces read and the events."""
    events: list[Any] = field(default_factory=list)
    result: WebSearchResult | None = None
    error: WebError | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def play_stream(
    flow: Flow[Any],
    *pieces: bytes | Exception,
    before: tuple[object, ...] = (),
    head: HttpHead | None = None,
) -> Heard:
    """Play a streaming flow: `before` answers its first steps, then `head` and the pieces come.

    After the last piece the body is at its end, however often the flow reads.
    """
    heard = Heard()
    # An empty piece would be the end of the body.
    answers, body = list(before), deque(piece for piece in pieces if piece != b"")
    outcome: object = None
    try:
        while True:
            step = _advance(flow, outcome)
            if isinstance(step, Emit):
                heard.events.append(step.event)
                outcome = None
            elif isinstance(step, ReadChunk):
                outcome = body.popleft() if body else b""
            else:
                heard.steps.append(step)
                is_opened = isinstance(step, OpenStream) and not answers
                outcome = (head or stream_head()) if is_opened else answers.pop(0)
    except StopIteration as stop:
        heard.result = stop.value
    except WebError as error:
        heard.error = error
    return heard


def stream_head(status: int = 200, kind: str = "text/event-stream", **headers: str) -> HttpHead:
    """Return the head of an event stream; `x_request_id=` sets `x-request-id`."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpHead(status, {"content-type": kind, **names})


def frames(*payloads: object) -> bytes:
    """Return an event stream with these payloads; text goes out as it is."""
    texts = [p if isinstance(p, str) else json.dumps(p, ensure_ascii=False) for p in payloads]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def reply(
    data: object = None, *, status: int = 200, body: bytes | None = None, **headers: str
) -> HttpResponse:
    """Return a response with `data` as its JSON; `x_request_id=` sets `x-request-id`."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, names, json.dumps(data).encode() if body is None else body)


def sent_json(step: HttpRequest) -> Any:
    """Return the JSON that a step would send."""
    return json.loads(step.body)
