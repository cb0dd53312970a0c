"""Streams an Agent run: as it happens, in the background, or again from some event on."""

from __future__ import annotations

from collections.abc import Sequence

from dsh_web.server.agent_events import STREAM_ERROR, Payload, cancelled_event
from dsh_web.server.connections import Connection
from dsh_web.server.sse import Event
from dsh_web.server.stored_runs import StoredRun
from dsh_web.server.stream_answer import Events
from dsh_web.server.stream_style import StreamStyle

# How long a stream that waits for its run may overlook that the run was cancelled.
_LOOK_SECONDS = 0.02


async def stream_run(
    run: StoredRun,
    events: Sequence[Payload],
    style: StreamStyle,
    connection: Connection,
    *,
    after: int = -1,
) -> Events:
    """Yield a run's events; a run in the foreground is cancelled if the client leaves.

    Args:
        run: The run; in the background its events come when their time has come.
        events: All its events.
        style: Decides whether a broken stream is an `event: error`.
        connection: The client's, so that waiting ends with it.
        after: Events with this number and smaller ones are left out.
    """
    if not run.is_background:
        run.hold()
    try:
        number = 0
        for position, payload in enumerate(events):
            share = position / max(len(events) - 1, 1)
            while wait := run.wait_for(share):
                await connection.sleep(min(wait, _LOOK_SECONDS))
                if connection.is_closed:
                    return
            if wait is None:
                if number > after:
                    ended = cancelled_event(run.snapshot(), number)
                    yield Event(ended, ended["type"])
                return
            sent = payload["sequence_number"]
            number = sent + 1
            if position == len(events) - 1:
                # Before it is sent: a client may well leave as soon as it has read it.
                run.release()
            if sent > after:
                yield _event(payload, style)
    finally:
        if not run.is_background and run.is_held:
            run.cancel()


def _event(payload: Payload, style: StreamStyle) -> Event:
    if payload["type"] == "error" and style.terminal == "error-event":
        return Event({"error": STREAM_ERROR}, "error", is_named=True)
    return Event(payload, payload["type"])
