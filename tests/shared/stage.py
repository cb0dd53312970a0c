"""Everything around one run: the server that plays the provider, a runtime that calls it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .calls import Call, captured_logs, environment
from .case_files import Case, fill_in, mentions
from .network_watch import Traffic, watch_network
from .outcome import Outcome
from .stub_server import BODIES, Answer, Received, Reply, StubServer

if TYPE_CHECKING:
    from dsh_web import WebRuntime, WebSearchProvider

PROVIDERS = {
    "sonar": "PerplexitySonarProvider",
    "agent": "PerplexityAgentProvider",
    "search": "PerplexitySearchProvider",
    "parallel_search": "ParallelSearchProvider",
    "parallel_chat": "ParallelChatProvider",
}
"""Surface to the public name of the provider that it exercises."""
STUB_KEY = "stub-key-0123456789"
DELTA = 'data: {"type":"response.output_text.delta","delta":"word "}\n\n'
"""What the server sends again and again when a case leaves the chunks of a stream open."""
OPTIONS = {"retries", "timeout_s", "max_results", "tool_text_limit"}
TWO_PAGES = {
    "id": "stub-1",
    "results": [
        {"title": "One", "url": "https://one.example/", "snippet": "First page."},
        {"title": "Two", "url": "https://two.example/", "snippet": "Second page."},
    ],
}
"""What the server says to `/search` when a case leaves the answer open."""


class UnknownWordError(Exception):
    """The case uses a word that this runner does not know."""


def refuse_unknown(what: str, given: Mapping[str, Any], known: set[str]) -> None:
    """Make sure that nothing a case says is ignored.

    Raises:
        UnknownWordError: `given` has a key that is not in `known`.
    """
    others = sorted(set(given) - known)
    if others:
        raise UnknownWordError(f"unknown {what}: {', '.join(others)}")


@dataclass(slots=True)
class Stage:
    """What a surface's function needs to run its case."""

    case: Case
    """With the placeholders filled in."""
    server: StubServer
    proxy: StubServer | None
    traffic: Traffic
    logs: list[str]

    @property
    def input(self) -> dict[str, Any]:
        """The case's input."""
        return self.case.input

    @property
    def options(self) -> dict[str, Any]:
        """The case's `options`.

        Raises:
            UnknownWordError: One of them is not known here.
        """
        options: dict[str, Any] = self.input.get("options") or {}
        refuse_unknown("option", options, OPTIONS)
        return options

    @property
    def limits(self) -> dict[str, Any]:
        """What a search call is given besides its query."""
        names = {"timeout_s": "timeout", "max_results": "max_results"}
        return {names[name]: value for name, value in self.options.items() if name in names}

    def provider(self, surface: str = "search", **settings: Any) -> WebSearchProvider:
        """Return the surface's provider, pointed at the server as the case says."""
        import dsh_web

        variables = self.input.get("env") or {}
        if self.input.get("api_key") is not None:
            settings["api_key"] = self.input["api_key"]
        elif "env" not in self.input:
            # A case that sets the environment is about where the key comes from.
            settings["api_key"] = self.input.get("secret") or STUB_KEY
        if "PERPLEXITY_BASE_URL" not in variables:
            settings["base_url"] = self.input.get("base_url") or self.server.url
        if "retries" in self.options:
            settings["max_retries"] = self.options["retries"]
        kind = getattr(dsh_web, PROVIDERS[surface])
        provider: WebSearchProvider = kind(**settings)
        return provider

    def runtime(self, surface: str = "search", **settings: Any) -> WebRuntime:
        """Return a runtime with the surface's provider and no other."""
        import dsh_web

        names = {"max_retries"}
        of_provider = {name: settings.pop(name) for name in names if name in settings}
        runtime = dsh_web.WebRuntime(**settings)
        runtime.register_search_provider(self.provider(surface, **of_provider))
        return runtime

    def outcome(self, call: Call, runtime: WebRuntime | None = None) -> Outcome:
        """Return the outcome of a call as far as it can be told from outside the package."""
        received = list(self.server.received)
        if runtime is not None:
            runtime.close()
            self.server.wait_until(lambda server: server.open_connections == 0, 0.2)
        outcome = Outcome(
            error=web_error_in(call.error),
            visible_error=call.error,
            seconds=call.seconds,
            pending=call.pending,
            received=received,
            open_connections=self.server.open_connections,
            traffic=self.traffic,
            text_limit=self.options.get("tool_text_limit"),
            secret=self.input.get("secret"),
        )
        outcome.places["log"] = outcome.places["logs"] = "\n".join(self.logs)
        if runtime is not None:
            outcome.places["repr"] = repr(runtime)
        if self.proxy is not None:
            outcome.measured["proxy_connections"] = self.proxy.connections_made
        return outcome


@contextlib.contextmanager
def stage_for(case: Case) -> Iterator[Stage]:
    """Set the stage for one run: servers, environment, a watch on network and logs."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(StubServer(answer_of(case.input, case.folder)))
        words = {"$LOOPBACK": server.url}
        proxy = None
        if mentions(case.input, "$LOOPBACK_PROXY"):
            proxy = stack.enter_context(StubServer(lambda request: Reply(status=502)))
            words["$LOOPBACK_PROXY"] = proxy.url
        words["$tool"] = "web_search"
        words["$package_default"] = "dsh-web"
        filled = replace(case, input=fill_in(case.input, words), expect=fill_in(case.expect, words))
        stack.enter_context(environment(filled.input.get("env") or {}))
        logs = stack.enter_context(captured_logs())
        traffic = stack.enter_context(watch_network())
        yield Stage(filled, server, proxy, traffic, logs)


def answer_of(given: Mapping[str, Any], folder: Path) -> Answer:
    """Return what the server answers: one reply for all, one by query, or one by address."""
    if "routes" in given:
        return _by_address(given["routes"], folder)
    server = dict(given.get("server") or {})
    by_query = server.pop("by_query", {}) | (given.get("http_by_query") or {})
    replies = {query: _reply(http, folder) for query, http in by_query.items()}
    default = _reply(given.get("http", server), folder)

    def answer(request: Received) -> Reply:
        found = next((replies[query] for query in request.queries if query in replies), None)
        return found or default

    return answer


def _by_address(routes: Mapping[str, Any], folder: Path) -> Answer:
    """Return what answers by the address that was asked for, whoever it leads to."""
    replies = {url: Reply.from_case(http, folder) for url, http in routes.items()}

    def answer(request: Received) -> Reply:
        url = f"http://{request.headers.get('host')}{request.path}"
        missing = Reply(404, {"content-type": "text/plain"}, (b"no such route",))
        return replies.get(url, missing)

    return answer


def _reply(http: Mapping[str, Any], folder: Path) -> Reply:
    # What a case leaves open is an ordinary success.
    is_open = http.get("status", 200) == 200 and not BODIES & set(http)
    if is_open and "chunks" in http:
        headers = {"content-type": "text/event-stream", **(http.get("headers") or {})}
        return Reply.from_case({**http, "body": DELTA, "headers": headers}, folder)
    return Reply.from_case({"json": TWO_PAGES, **http} if is_open else http, folder)


def web_error_in(error: BaseException | None) -> BaseException | None:
    """Return the `WebError` that a framework's exception carries, else the exception itself."""
    from dsh_web import WebError

    if error is None or isinstance(error, WebError):
        return error
    inner = getattr(error, "error", None)
    return inner if isinstance(inner, WebError) else error
