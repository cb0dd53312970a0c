"""A programmable HTTP server on loopback, in its own thread, that sees what clients really do.

Raw on purpose: it can answer with bytes no HTTP library would send, and it notices the moment a
client closes, also while it still owes the answer.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_REASONS = {200: "OK", 302: "Found", 404: "Not Found", 429: "Too Many Requests", 500: "Error"}
BODIES = {"json", "body", "body_b64", "body_file", "body_gen", "sse_file"}
"""Settings that say what the body is."""
_SETTINGS = {*BODIES, "status", "headers", "delay_ms", "flush_at", "chunks", "every_ms"}


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    """With the query string."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    at: float
    """`time.monotonic()` when it was complete."""
    connection: int
    """Number of the connection it came over."""

    @property
    def json(self) -> Any:
        """The decoded body, None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def queries(self) -> list[str]:
        """The search queries in the body, whichever provider API it is for."""
        return queries_in(self.json)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server does for one request."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    writes: tuple[bytes, ...] = ()
    """The body; each member is one write."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    pause: float = 0.0
    """Seconds between two writes."""
    is_stream: bool = False
    """Announce no length and end the body by closing."""

    @classmethod
    def from_case(cls, http: Mapping[str, Any], folder: Path) -> Reply:
        """Return the reply that a case's `http` object describes.

        Raises:
            ValueError: It has a setting that this server does not know.
        """
        unknown = sorted(set(http) - _SETTINGS)
        if unknown:
            raise ValueError(f"unknown http setting: {', '.join(unknown)}")
        headers = {name.lower(): value for name, value in (http.get("headers") or {}).items()}
        body = _body(http, folder)
        if "json" in http:
            headers.setdefault("content-type", "application/json")
        writes: tuple[bytes, ...] = (body,)
        if "chunks" in http:
            writes = (body or b": tick\n\n",) * int(http["chunks"])
        elif "flush_at" in http:
            writes = _cut(body, http["flush_at"])
        return cls(
            status=http.get("status", 200),
            headers=headers,
            writes=writes,
            delay=http.get("delay_ms", 0) / 1000,
            pause=http.get("every_ms", 0) / 1000,
            is_stream=bool({"sse_file", "chunks", "flush_at"} & set(http)),
        )


Answer = Callable[[Received], Reply]


class StubServer:
    """Serves on `http://127.0.0.1:<free port>` until the `with` block ends.

    Args:
        answer: Called in the server's thread for each request.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.received: list[Received] = []
        self.connections_made = 0
        self.closed_at: dict[int, float] = {}
        """Connection number to the `time.monotonic()` at which it ended."""
        self.answered_at: dict[int, float] = {}
        """Connection number to when its last answer had been written."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="stub-server", daemon=True)
        self._ready = threading.Event()
        self._transports: dict[int, asyncio.Transport] = {}
        self.port = 0

    @property
    def url(self) -> str:
        """Base url without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return self.connections_made - len(self.closed_at)

    @property
    def queries(self) -> list[str]:
        """The queries of all requests in the order of arrival."""
        return [query for request in list(self.received) for query in request.queries]

    def wait_until(self, condition: Callable[[StubServer], bool], seconds: float) -> bool:
        """Return whether `condition` came true within `seconds`."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            # A deep backlog: the cancel storm connects hundreds of times at once.
            self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=1024)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()

    def _stop(self) -> None:
        for transport in list(self._transports.values()):
            transport.abort()
        # One turn later, so that the aborted transports have said goodbye.
        self._loop.call_soon(self._loop.stop)


class _Connection(asyncio.Protocol):
    def __init__(self, server: StubServer) -> None:
        self._server = server
        self._buffer = b""
        self._responding: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._number = self._server.connections_made
        self._server.connections_made += 1
        self._server._transports[self._number] = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._server.closed_at[self._number] = time.monotonic()
        self._server._transports.pop(self._number, None)
        if self._responding is not None:
            self._responding.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next_request()

    def _next_request(self) -> None:
        if self._responding is not None and not self._responding.done():
            return
        request, self._buffer = _parse(self._buffer, self._number)
        if request is None:
            return
        self._server.received.append(request)
        self._responding = asyncio.get_running_loop().create_task(self._respond(request))

    async def _respond(self, request: Received) -> None:
        reply = self._server._answer(request)
        await asyncio.sleep(reply.delay)
        self._transport.write(_head(reply))
        for position, chunk in enumerate(reply.writes):
            if position and reply.is_stream:
                await asyncio.sleep(reply.pause)
            self._transport.write(chunk)
        self._server.answered_at[self._number] = time.monotonic()
        if reply.is_stream:
            self._transport.close()
            return
        self._responding = None
        self._next_request()


def queries_in(body: Any) -> list[str]:
    """Return the queries that a request body asks for: Agent, Search, Sonar, Parallel."""
    if not isinstance(body, dict):
        return []
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else {}
    found: Any = next(
        (
            value
            for value in (
                body.get("query"),
                body.get("input"),
                last.get("content") if isinstance(last, dict) else None,
                body.get("search_queries"),
            )
            if value is not None
        ),
        None,
    )
    return [found] if isinstance(found, str) else list(found or ())


def _parse(buffer: bytes, connection: int) -> tuple[Received | None, bytes]:
    head, mark, rest = buffer.partition(b"\r\n\r\n")
    if not mark:
        return None, buffer
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    if len(rest) < length:
        return None, buffer
    request = Received(method, path, headers, rest[:length], time.monotonic(), connection)
    return request, rest[length:]


def _head(reply: Reply) -> bytes:
    headers = dict(reply.headers)
    if reply.is_stream:
        headers["connection"] = "close"
    elif "transfer-encoding" not in headers:
        headers.setdefault("content-length", str(sum(map(len, reply.writes))))
    lines = [f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


def _body(http: Mapping[str, Any], folder: Path) -> bytes:
    if "json" in http:
        try:
            return json.dumps(http["json"], ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # Half a surrogate pair travels as an escape only.
            return json.dumps(http["json"]).encode()
    if "body_b64" in http:
        return base64.b64decode(str(http["body_b64"]))
    if "body_gen" in http:
        return _generated(http["body_gen"])
    for name in ("body_file", "sse_file"):
        if name in http:
            return (folder / str(http[name])).read_bytes()
    return str(http.get("body") or "").encode()


def _generated(plan: Mapping[str, Any]) -> bytes:
    """Return the body that a plan of texts and [text, times] pairs describes."""
    if "gzip_of" in plan:
        text, times = plan["gzip_of"]
        return gzip.compress(text.encode() * times)
    parts = [plan[name] for name in ("repeat", "middle", "close") if name in plan]
    pairs = [(part, 1) if isinstance(part, str) else part for part in parts]
    return b"".join(text.encode() * times for text, times in pairs)


def _cut(body: bytes, flush_at: list[int] | str) -> tuple[bytes, ...]:
    if isinstance(flush_at, str):  # "every_byte"
        return tuple(body[i : i + 1] for i in range(len(body)))
    ends = [0, *(offset for offset in flush_at if 0 < offset < len(body)), len(body)]
    return tuple(body[start:end] for start, end in itertools.pairwise(ends))
