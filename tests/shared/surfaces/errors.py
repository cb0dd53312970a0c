"""`errors`: provider failures, credentials and provider selection."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ..calls import Call, Mode, measured_call
from ..outcome import Outcome
from ..stage import PROVIDERS, Stage, UnknownWordError, refuse_unknown, web_error_in
from .retriever import FRAMEWORKS, run_framework
from .search import search_through

INPUT = {
    *("surface", "http", "http_by_query", "query", "queries", "call", "options"),
    *("secret", "env", "base_url", "api_key", "select", "register_twice"),
}


def run_errors(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Run the kind of case that the input shows."""
    refuse_unknown("input", stage.input, INPUT)
    if stage.input.get("register_twice"):
        return _register_twice(stage, mode)
    if "select" in stage.input:
        return _select(stage, mode)
    surface = stage.input.get("surface", "search")
    if surface in PROVIDERS:
        return search_through(stage, surface, mode)
    if surface in FRAMEWORKS:
        return run_framework(stage, surface, mode)
    raise UnknownWordError(f"unknown surface of an error: {surface}")


class _Fake:
    """A provider that needs no network and writes down when it runs."""

    def __init__(self, provider_id: str, available: bool, calls: list[str]) -> None:
        self.id = provider_id
        self._available = available
        self._calls = calls

    def available(self) -> bool:
        return self._available

    def search_flow(self, request: Any) -> Generator[Any, Any, Any]:
        from dsh_web import WebSearchResult

        self._calls.append(self.id)
        return WebSearchResult(provider=self.id)
        yield  # makes it a flow

    def fetch_flow(self, request: Any) -> Generator[Any, Any, Any]:
        from dsh_web import TextBody, WebFetchResult

        self._calls.append(self.id)
        return WebFetchResult(url=request.url, status_code=200, body=TextBody(content=""))
        yield  # makes it a flow


def _select(stage: Stage, mode: Mode) -> Outcome:
    select = stage.input["select"]
    refuse_unknown("part of a selection", select, {"kind", "configured", "registered"})
    call, calls = _selected(select, select["registered"], mode)
    reverse, _ = _selected(select, select["registered"][::-1], mode)
    outcome = stage.outcome(call)
    if select.get("kind", "search") == "search":
        outcome.result = call.value
    outcome.measured["calls"] = calls
    outcome.measured["same_when_registered_in_reverse"] = _gist(call) == _gist(reverse)
    return outcome


def _selected(
    select: dict[str, Any], registered: list[dict[str, Any]], mode: Mode
) -> tuple[Call, list[str]]:
    from dsh_web import WebRuntime

    calls: list[str] = []
    kind = select.get("kind", "search")
    if kind == "search":
        runtime = WebRuntime(search_provider=select.get("configured"))
        register: Any = runtime.register_search_provider
    elif kind == "fetch":
        runtime = WebRuntime(fetch_provider=select.get("configured"))
        register = runtime.register_fetch_provider
    else:
        raise UnknownWordError(f"unknown kind of provider: {kind}")
    for entry in registered:
        refuse_unknown("part of a registration", entry, {"id", "available"})
        register(_Fake(entry["id"], entry.get("available", True), calls))
    if kind == "search":
        call = measured_call(mode, lambda: runtime.search("q"), lambda: runtime.asearch("q"))
    else:
        url = "https://page.example/"
        call = measured_call(mode, lambda: runtime.fetch(url), lambda: runtime.afetch(url))
    return call, calls


def _gist(call: Call) -> tuple[str, ...]:
    error = web_error_in(call.error)
    if error is not None:
        return (str(getattr(error, "code", type(error).__name__)), str(error))
    return (str(getattr(call.value, "provider", "")),)


def _register_twice(stage: Stage, mode: Mode) -> Outcome:
    """Register providers under one id: twice for a capability, or once for each."""
    from dsh_web import WebRuntime

    entries = _registrations(stage.input["register_twice"])
    runtime = WebRuntime()
    register: dict[str, Any] = {
        "search": runtime.register_search_provider,
        "fetch": runtime.register_fetch_provider,
    }
    calls: list[str] = []

    def both() -> None:
        for entry in entries:
            provider = _Fake(entry["id"], entry.get("available", True), calls)
            register[entry.get("kind", "search")](provider)

    async def both_async() -> None:
        both()

    outcome = stage.outcome(measured_call(mode, both, both_async), runtime)
    outcome.measured["calls"] = calls
    return outcome


def _registrations(said: Any) -> list[dict[str, Any]]:
    """Return what to register, in order; the case may be as brief as `true` or an id."""
    if isinstance(said, list):
        entries = [{"id": entry} if isinstance(entry, str) else entry for entry in said]
    elif isinstance(said, dict):
        entries = [said, said]
    else:
        entries = [{"id": said if isinstance(said, str) else "perplexity"}] * 2
    for entry in entries:
        refuse_unknown("part of register_twice", entry, {"kind", "id", "available"})
    return entries
