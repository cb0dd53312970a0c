"""Runtimes, providers and a loopback server for the LlamaIndex adapter's tests.

This folder must stay without `__init__.py`: as a package it would hide LlamaIndex itself.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import Field

from dsh_web import (
    PerplexityAgentProvider,
    PerplexitySearchProvider,
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
            citation_contract="fake/1",  # so that the seam does not read it itself
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


class StreamingProvider(FakeProvider):
    """Tells what it does while it answers, if it is asked to; `streamed` counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.streamed = 0

    def stream_flow(self, request: WebSearchRequest) -> Any:
        self.requests.append(request)
        self.streamed += 1
        yield Emit(Progress(stage="searching", queries=("inner query",), note="Hm."))
        yield Emit(SourcesFound(sources=self.result.sources))
        if self.error is not None:
            raise self.error
        yield Emit(TextDelta(text="The tide "))
        yield Emit(Progress(stage="fetching", urls=("https://alpha.example/a",)))
        yield Emit(TextDelta(text="is high [1]."))
        yield Emit(UsageReported(usage=self.result.usage))
        return self.result


class Loopback(ThreadingHTTPServer):
    """A search API on 127.0.0.1 that can wait before it answers.

    Its Agent API streams if it is asked to, and waits after its first words.
    """

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
        if self.path == "/v1/agent":
            self._run_agent(body)
            return
        self.server.queries.append(body["query"])
        self.server.asked.set()
        if self.server.delay and self._has_hung_up_within(self.server.delay):
            self.server.hung_up.set()
            self.close_connection = True
            return
        page = {"title": "Ta", "url": "https://alpha.example/a", "snippet": f"on {body['query']}"}
        other = {"title": None, "url": "https://beta.example/b", "snippet": None}
        self._answer({"id": "r-1", "results": [page, other]})

    def _run_agent(self, body: dict[str, Any]) -> None:
        results = [{"id": 1, "title": "Ta", "url": "https://alpha.example/a", "snippet": "on q"}]
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
        self.server.asked.set()
        if self.server.delay and self._has_hung_up_within(self.server.delay):
            self.server.hung_up.set()
            return
        self._send("response.reasoning.search_results", results=results)
        self._send("response.output_text.delta", delta="An answer.")
        self._send("response.completed", response=run)

    def _send(self, kind: str, **frame: Any) -> None:
        sent = json.dumps({"type": kind, **frame})
        self.wfile.write(f"event: {kind}\ndata: {sent}\n\n".encode())

    def _answer(self, content: dict[str, Any]) -> None:
        answer = json.dumps(content).encode()
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


class ScriptedLLM(FunctionCallingLLM):
    """Makes the given tool calls one after the other, then says what the last tool told it."""

    calls: list[dict[str, Any]]
    heard: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: Any = None,
        chat_history: list[ChatMessage] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"messages": chat_history or [], "tools": tools}

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        told = [str(m.content) for m in messages if m.role == MessageRole.TOOL]
        self.heard = told
        text = told[-1] if told else ""
        message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        return ChatResponse(message=message, raw={"turn": len(told)})

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        turn = response.raw["turn"]
        if turn >= len(self.calls):
            return []
        return [
            ToolSelection(
                tool_id=f"call-{turn}", tool_name="web_search", tool_kwargs=self.calls[turn]
            )
        ]

    def chat(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    complete = stream_chat = stream_complete = chat

    async def acomplete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    astream_chat = astream_complete = acomplete


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
def streaming_runtime(streaming_provider: StreamingProvider) -> Iterator[WebRuntime]:
    with WebRuntime(timeout=10) as runtime:
        runtime.register_search_provider(streaming_provider)
        yield runtime


@pytest.fixture
def streaming_provider() -> StreamingProvider:
    return StreamingProvider()


@pytest.fixture
def agent_runtime(loopback: Loopback) -> Iterator[WebRuntime]:
    with WebRuntime(timeout=10) as runtime:
        runtime.register_search_provider(
            PerplexityAgentProvider(api_key=KEY, base_url=loopback.url)
        )
        yield runtime


@pytest.fixture
def scripted_llm() -> type[ScriptedLLM]:
    return ScriptedLLM


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
