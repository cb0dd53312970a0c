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

from dsh_web import (
    Progress,
    SourcesFound,
    TextDelta,
    Usage,
    UsageReported,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
)
from dsh_web.flow import Emit
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


class StreamingProvider(FakeProvider):
    """Tells what it does while it answers, if it is asked to; `streamed` counts how often."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__(lambda request: ANSWER)
        self.failure = failure
        self.streamed = 0

    def stream_flow(self, request: WebSearchRequest) -> Any:
        self.requests.append(request)
        self.streamed += 1
        yield Emit(Progress(stage="searching", queries=("inner query",), note="Hm."))
        yield Emit(SourcesFound(sources=ANSWER.sources[:1]))
        for word in WORDS[:3]:
            yield Emit(TextDelta(text=word))
        if self.failure is not None:
            raise self.failure
        yield Emit(SourcesFound(sources=ANSWER.sources[1:]))
        for word in WORDS[3:]:
            yield Emit(TextDelta(text=word))
        yield Emit(UsageReported(usage=ANSWER.usage))
        return ANSWER


WORDS = [f"word{number} " for number in range(40)]
ANSWER = WebSearchResult(
    provider="fake",
    content="".join(WORDS),
    sources=(
        WebSearchSource(url="https://a.example/", title="A", snippet="Text A"),
        WebSearchSource(url="https://b.example/", snippet="Text B"),
    ),
    request_id="r-1",
    usage=Usage(total_tokens=12, cost_usd=0.005),
)


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
def streaming() -> Callable[..., StreamingProvider]:
    return StreamingProvider


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
    """A Perplexity Search API and Agent API on loopback; the query `hang` is never answered.

    The Agent API streams if it is asked to, and hangs or waits after its first words.
    """

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
        if self.path == "/v1/agent":
            self._run_agent(body)
            return
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

    def _run_agent(self, body: dict[str, Any]) -> None:
        results = [{"id": 1, "title": "T0", "url": "https://site.example/0", "snippet": "wait 0"}]
        found = {"type": "search_results", "queries": ["inner query"], "results": results}
        text = {"type": "output_text", "text": "An answer.", "annotations": []}
        run = {
            "id": "r-1",
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": [found, {"type": "message", "role": "assistant", "content": [text]}],
            "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        }
        if not body.get("stream"):
            self._answer(run)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self._send("response.created", response={"id": "r-1", "model": "m"})
        self._send("response.reasoning.search_queries", queries=["inner query"])
        self.server.hanging.set()
        if body["input"] == "hang":
            self.connection.recv(1)
            self.server.hung_up.set()
            return
        if body["input"] == "wait":
            self.server.release.wait(10)
        self._send("response.reasoning.search_results", results=results)
        self._send("response.output_text.delta", delta="An answer.")
        self._send("response.completed", response=run)

    def _send(self, kind: str, **frame: Any) -> None:
        sent = json.dumps({"type": kind, **frame})
        self.wfile.write(f"event: {kind}\ndata: {sent}\n\n".encode())

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
