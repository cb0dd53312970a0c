"""Runtimes with a provider made for the test, both colours of a call, and a loopback server."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dsh_web import WebRuntime, WebSearchRequest, WebSearchResult, WebSearchSource
from dsh_web.seam import FilterSupport

Answer = Callable[[WebSearchRequest], WebSearchResult]
# Read before `clean_environ` hides it from the tests.
APPROVE = "DSH_WEB_APPROVE" in os.environ
EXACT = FilterSupport(level="exact")


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        ours = name.startswith(("DSH_WEB_", "PERPLEXITY_", "PPLX_", "PARALLEL_"))
        if ours or name.startswith(("LANGSMITH_", "LANGCHAIN_")) or "_proxy" in name.lower():
            monkeypatch.delenv(name)


class FakeProvider:
    """Answers without I/O and keeps the requests it was given."""

    id = "fake"
    label = "Fake"
    supported_filters: ClassVar[dict[str, FilterSupport]] = {
        "recency": EXACT,
        "include_domains": EXACT,
    }

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[WebSearchRequest] = []

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Any:
        self.requests.append(request)
        yield from ()
        return self._answer(request)


def ten_sources(request: WebSearchRequest) -> WebSearchResult:
    sources = [
        WebSearchSource(
            url=f"https://site.example/{rank}", title=f"T{rank}", snippet=f"Text {rank}"
        )
        for rank in range(10)
    ]
    return WebSearchResult(provider="fake", sources=tuple(sources))


@pytest.fixture
def provider_of() -> Callable[[Answer], FakeProvider]:
    return FakeProvider


@pytest.fixture
def runtime_of() -> Callable[..., WebRuntime]:
    """Return a runtime around one provider: a fake that gives `answer`, or a real one."""

    def build(answer: Answer | None = None, *, provider: Any = None, **settings: Any) -> WebRuntime:
        runtime = WebRuntime(**settings)
        runtime.register_search_provider(provider or FakeProvider(answer or ten_sources))
        return runtime

    return build


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider(ten_sources)


@pytest.fixture
def runtime(runtime_of: Callable[..., WebRuntime], provider: FakeProvider) -> WebRuntime:
    return runtime_of(provider=provider)


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Callable[..., Awaitable[Any]]:
    """Call `invoke` or `ainvoke` of a runnable; each test that uses it runs once with either."""

    async def call(runnable: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return runnable.invoke(value, *args, **kwargs)
        return await runnable.ainvoke(value, *args, **kwargs)

    return call


class SearchServer(ThreadingHTTPServer):
    """A Perplexity Search API on loopback; the query `hang` is never answered."""

    daemon_threads = True
    api_key = "loopback-key-000"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SearchHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.hanging = threading.Event()
        self.hung_up = threading.Event()
        self.release = threading.Event()

    def __enter__(self) -> SearchServer:
        # Shutting down waits for the next poll; the default of half a second is felt.
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()


class _SearchHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SearchServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body["query"] == "hang":
            self.server.hanging.set()
            # Returns when the client closes: it has nothing more to send.
            self.connection.recv(1)
            self.server.hung_up.set()
            self.close_connection = True
            return
        if body["query"] == "wait":
            self.server.hanging.set()
            self.server.release.wait(10)
        results = [
            {
                "title": f"T{i}",
                "url": f"https://site.example/{i}",
                "snippet": f"{body['query']} {i}",
            }
            for i in range(body.get("max_results", 10))
        ]
        self._answer({"id": "r-1", "results": results})

    def _answer(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Keep the test output clean."""


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with SearchServer() as running:
        yield running


@pytest.fixture
def approved() -> Callable[[str, str], None]:
    """Compare a text with the reviewed file; `DSH_WEB_APPROVE=1` in the environment rewrites it."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "approved" / name
        if APPROVE:
            path.write_text(text + "\n", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text + "\n"

    return check
