from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dsh_web import PerplexityAgentProvider, StreamEvent, WebRuntime

from .stream_server import Script, StreamServer

KEY = "invented-key-for-tests"


@pytest.fixture
def serve() -> Iterator[Callable[[Script], StreamServer]]:
    """Start a server with a script."""
    with contextlib.ExitStack() as stack:

        def start(script: Script) -> StreamServer:
            server = StreamServer(script)
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture
def runtime_on() -> Iterator[Callable[..., WebRuntime]]:
    """Make a runtime whose only provider talks to a server."""
    with contextlib.ExitStack() as stack:

        def make(server: StreamServer, kind: Any = PerplexityAgentProvider, **settings: Any) -> Any:
            runtime = WebRuntime(**settings)
            runtime.register_search_provider(kind(api_key=KEY, base_url=server.url, max_retries=0))
            stack.callback(runtime.close)
            return runtime

        yield make


class Stepped:
    """An async stream that a blocking test can step through; its loop rests in between."""

    def __init__(self, runner: asyncio.Runner, stream: Any) -> None:
        self._runner = runner
        self.stream = stream

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        async def step() -> StreamEvent | None:
            return await anext(self.stream, None)

        event = self._runner.run(step())
        if event is None:
            raise StopIteration
        return event

    def close(self) -> None:
        self._runner.run(self.stream.aclose())

    def __enter__(self) -> Stepped:
        self._runner.run(self.stream.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        self._runner.run(self.stream.__aexit__(*error))


class Listener:
    """One way to stream, sync or async, behind one face."""

    def __init__(self, mode: str, runner: asyncio.Runner) -> None:
        self.mode = mode
        self.runner = runner

    def __call__(self, runtime: WebRuntime, **settings: Any) -> Any:
        if self.mode == "sync":
            return runtime.stream("q", **settings)

        async def make() -> Any:
            return runtime.astream("q", **settings)

        return Stepped(self.runner, self.runner.run(make()))

    def give_the_loop_a_turn(self) -> None:
        """Let an event loop do what it has scheduled, also what only ends after some turns."""

        async def turns() -> None:
            for _ in range(10):
                await asyncio.sleep(0)

        if self.mode == "async":
            self.runner.run(turns())

    def tasks(self) -> int:
        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return self.runner.run(count())


@pytest.fixture(params=["sync", "async"])
def listen(request: pytest.FixtureRequest) -> Iterator[Listener]:
    with asyncio.Runner() as runner:
        yield Listener(request.param, runner)
