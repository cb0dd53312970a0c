"""Playing a provider's flow by hand: no clock, no socket, no event loop."""

import json
from typing import Any

from dsh_web import Flow, HttpRequest, HttpResponse


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


def reply(
    data: object = None, *, status: int = 200, body: bytes | None = None, **headers: str
) -> HttpResponse:
    """Return a response with `data` as its JSON; `x_request_id=` sets `x-request-id`."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, names, json.dumps(data).encode() if body is None else body)


def sent_json(step: HttpRequest) -> Any:
    """Return the JSON that a step would send."""
    return json.loads(step.body)
