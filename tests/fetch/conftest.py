"""A stage for fetches: invented names, a loopback server behind them, and a watch on the network."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from dsh_web import HttpFetchProvider, WebError, WebFetchResult, WebRuntime

from ..io.raw_server import RawServer, Script
from ..shared.network_watch import Traffic, watch_network

PUBLIC = "93.184.216.34"
PUBLIC_TOO = "93.184.216.35"
SLACK = 0.9
"""Seconds that a busy machine may add to a promised time."""
CANCEL_WITHIN = 0.1 + SLACK
HANG_UP_WITHIN = 0.2 + SLACK


class Fetch(Protocol):
    """`runtime.fetch` or `asyncio.run(runtime.afetch)`, by the parameter of the fixture."""

    name: str

    def __call__(self, runtime: WebRuntime, url: str, **limits: Any) -> WebFetchResult: ...


class _SyncFetch:
    name = "sync"

    def __call__(self, runtime: WebRuntime, url: str, **limits: Any) -> WebFetchResult:
        return runtime.fetch(url, **limits)


class _AsyncFetch:
    name = "async"

    def __call__(self, runtime: WebRuntime, url: str, **limits: Any) -> WebFetchResult:
        return asyncio.run(runtime.afetch(url, **limits))


@pytest.fixture(params=[_SyncFetch(), _AsyncFetch()], ids=lambda fetch: fetch.name)
def fetch(request: pytest.FixtureRequest) -> Fetch:
    return request.param


@dataclass
class Web:
    """Names and what they resolve to; everything public leads to `port` on loopback."""

    port: int | None = None
    names: dict[str, Sequence[str] | Callable[[], Sequence[str]]] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    """Every address that a connection was attempted to, in order."""

    def resolve(self, host: str) -> Sequence[str]:
        self.looked_up.append(host)
        answer = self.names.get(host, [PUBLIC])
        return answer() if callable(answer) else answer

    def dial(self, address: str, port: int) -> tuple[str, int]:
        self.dialled.append((address, port))
        assert self.port is not None, f"a connection to {address} was attempted"
        return ("127.0.0.1", self.port)

    def runtime(self, **settings: Any) -> WebRuntime:
        of_runtime = ("ssl_context", "http_client", "async_http_client")
        runtime = WebRuntime(**{n: settings.pop(n) for n in of_runtime if n in settings})
        runtime.register_fetch_provider(
            HttpFetchProvider(resolve=self.resolve, dial=self.dial, **settings)
        )
        return runtime


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    """Return a factory of servers, which are closed when the test is over."""
    servers: list[RawServer] = []

    def start(*scripts: Script, **settings: Any) -> RawServer:
        servers.append(RawServer(*scripts, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def web_with(serve: Callable[..., RawServer]) -> Callable[..., tuple[Web, RawServer]]:
    """Return a function that puts a server with these scripts behind every public address."""

    def make(*scripts: Script, names: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        server = serve(*scripts, **settings)
        return Web(port=server.port, names=dict(names or {})), server

    return make


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a program in an interpreter of its own."""

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )

    return run


@pytest.fixture
def traffic() -> Iterator[Traffic]:
    with watch_network() as traffic:
        yield traffic


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind() -> Iterator[None]:
    before = set(threading.enumerate())  # a server of other tests may still be up
    yield
    end = time.monotonic() + 10
    while [t for t in threading.enumerate() if t.name.startswith("dsh-web") and t not in before]:
        assert time.monotonic() < end, "a thread is left behind"
        time.sleep(0.002)


def page(
    body: bytes = b"<p>Hello.</p>",
    status: int = 200,
    *,
    content_type: str | None = "text/html; charset=utf-8",
    length: int | None = -1,
    **headers: str,
) -> bytes:
    """Return a response as bytes; `length=None` leaves out the content-length."""
    lines = [f"HTTP/1.1 {status} Whatever"]
    if content_type is not None:
        lines.append(f"content-type: {content_type}")
    if length is not None:
        lines.append(f"content-length: {len(body) if length < 0 else length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def failure(function: Callable[[], Any]) -> WebError:
    """Return the `WebError` that `function` raises."""
    try:
        outcome = function()
    except WebError as error:
        error.__dict__["ended_at"] = time.monotonic()
        return error
    raise AssertionError(f"no failure but {outcome!r}")
