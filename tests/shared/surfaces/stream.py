"""`sonar_stream`, `agent_stream`: one streamed search through the runtime."""

from __future__ import annotations

from typing import Any

from ..calls import Mode, measured_call
from ..outcome import Outcome
from ..stage import Stage, refuse_unknown

INPUT = {"query", "http", "options"}


def run_stream(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Run a case of the surface that is named like its provider, with `_stream` behind it."""
    refuse_unknown("input", stage.input, INPUT)
    runtime = stage.runtime(stage.case.surface.removesuffix("_stream"))
    # `raw` holds what the seam has no word for.
    given: dict[str, Any] = {**stage.limits, "include_raw": True}
    query = stage.input.get("query", "q")
    streams: list[Any] = []

    def sync() -> Any:
        with runtime.stream(query, **given) as stream:
            streams.append(stream)
            return list(stream)[-1]

    async def make() -> Any:
        async with runtime.astream(query, **given) as stream:
            streams.append(stream)
            return [event async for event in stream][-1]

    outcome = stage.outcome(measured_call(mode, sync, make), runtime)
    outcome.result = streams[0].result
    outcome.measured["deltas"] = streams[0].text
    return outcome
