"""`sonar`, `agent`, `search`, `parallel_search`: one search, or several queries in one call, through the runtime."""

from __future__ import annotations

from ..calls import Mode, measured_call
from ..outcome import Outcome
from ..stage import Stage, refuse_unknown

INPUT = {"query", "queries", "http", "http_by_query", "options"}


def run_search(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Run a case of the surface that is named like its provider."""
    refuse_unknown("input", stage.input, INPUT)
    return search_through(stage, stage.case.surface, mode)


def search_through(stage: Stage, surface: str, mode: Mode) -> Outcome:
    """Return the outcome of the case's query or queries with the provider of `surface`."""
    runtime = stage.runtime(surface)
    query = stage.input.get("queries") or stage.input.get("query", "q")
    limits = stage.limits
    if isinstance(query, list):
        call = measured_call(
            mode,
            lambda: runtime.search_many(query, **limits),
            lambda: runtime.asearch_many(query, **limits),
        )
    else:
        call = measured_call(
            mode,
            lambda: runtime.search(query, **limits),
            lambda: runtime.asearch(query, **limits),
        )
    outcome = stage.outcome(call, runtime)
    outcome.result = call.value
    return outcome
