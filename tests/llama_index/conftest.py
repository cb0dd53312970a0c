"""Runtimes, providers and a loopback server for the LlamaIndex adapter's tests.

This folder must stay without `__init__.py`: as a package it would hide LlamaIndex itself.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from pydantic import Field

from dsh_web import (
    PerplexitySearchProvider,
    Usage,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
)

KEY = "test-key-0123456789"


class FakeProvider:
    """Answers at once with `result`, or fails with `error`; keeps what it was asked."""

    id = "fake"

    def __init__(self) -> None:
        self.requests: list[WebSearchRequest] = []
        self.error: Exception | None = None
        self.result = WebSearchResult(
            provider="fake",
            content="The tide is high [1].",
            sources=(
                WebSearchSource(
                    url="https://alpha.example/a",
                    title="Alpha",
                    snippet="part one",
                    published_at="2026-01-02",
                ),
                WebSearchSource(url="https://alpha.example/a", title="Alpha", snippet="part two"),
                WebSearchSource(url="https://beta.example/b", snippet="beta"),
            ),
            request_id="r-1",
            usage=Usage(input_tokens=3, cost_usd=0.005),
            warnings=("one entry was skipped",),
            related_questions=("When is low tide?",),
        )

    @property
    def supported_filters(self) -> dict[str, Any]:
        return dict(PerplexitySearchProvider.supported_filters)

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Any:
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        return self.result
        yield


class Loopback(ThreadingHTTPServer):
    """A search API on 127.0.0.1 that can wait before it answers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SearchApi)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.delay = 0.0
        self.queries: list[str] = []
        self.asked = threading.Event()
        self.hung_up = threading.Event()


class _SearchApi(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Loopback

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.queries.append(body["query"])
        self.server.asked.set()
        if self.server.delay and self._has_hung_up_within(self.server.delay):
            self.server.hung_up.set()
            self.close_connection = True
            return
        page = {"title": "Ta", "url": "https://alpha.example/a", "snippet": f"on {body['query']}"}
        other = {"title": None, "url": "https://beta.example/b", "snippet": None}
        answer = json.dumps({"id": "r-1", "results": [page, other]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _has_hung_up_within(self, seconds: float) -> bool:
        self.connection.settimeout(seconds)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def log_message(self, *args: Any) -> None:
        """Keep the test output clean."""


class EventLog(BaseEventHandler):
    events: list[Any] = Field(default_factory=list)

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.events.append(event)

    def named(self, name: str) -> list[Any]:
        return [event for event in self.events if event.class_name() == name]


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PERPLEXITY_API_KEY", "PPLX_API_KEY", "PARALLEL_API_KEY", "HTTP_PROXY", "HTTPS_PROXY")
    for name in (*names, "DSH_WEB_SEARCH_PROVIDER", "DSH_WEB_FETCH_PROVIDER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def runtime(provider: FakeProvider) -> Iterator[WebRuntime]:
    with WebRuntime(timeout=10) as runtime:
        runtime.register_search_provider(provider)
        yield runtime


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with Loopback() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def loopback_runtime(loopback: Loopback) -> Iterator[WebRuntime]:
    with WebRuntime(timeout=10) as runtime:
        runtime.register_search_provider(
            PerplexitySearchProvider(api_key=KEY, base_url=loopback.url)
        )
        yield runtime


@pytest.fixture
def event_log() -> Iterator[EventLog]:
    root, log = get_dispatcher(), EventLog()
    root.add_event_handler(log)
    yield log
    root.event_handlers.remove(log)


@pytest.fixture
def span_log() -> Iterator[SimpleSpanHandler]:
    root, log = get_dispatcher(), SimpleSpanHandler()
    root.add_span_handler(log)
    yield log
    root.span_handlers.remove(log)


@pytest.fixture(params=["sync", "async"])
def retrieve(request: pytest.FixtureRequest) -> Any:
    """Both ways to retrieve as one coroutine function: `await retrieve(retriever, query)`."""

    async def call(retriever: Any, query: Any) -> Any:
        if request.param == "sync":
            return retriever.retrieve(query)
        return await retriever.aretrieve(query)

    return call


@pytest.fixture(params=["sync", "async"])
def run_tool(request: pytest.FixtureRequest) -> Any:
    """Both ways to run a tool as one coroutine function: `await run_tool(tool, queries=[...])`."""

    async def call(tool: Any, *positional: Any, **arguments: Any) -> Any:
        if request.param == "sync":
            return tool.call(*positional, **arguments)
        return await tool.acall(*positional, **arguments)

    return call
