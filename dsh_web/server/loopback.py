"""`LoopbackServer`: the server in a thread of its own, and what a test may ask it afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import uvicorn

from dsh_web.server.app import build_app
from dsh_web.server.connections import ConnectionLedger, watched_protocol
from dsh_web.server.corpus import open_corpus
from dsh_web.server.fault_plan import FaultPlan
from dsh_web.server.faults import Fault
from dsh_web.server.gateway import Gateway
from dsh_web.server.replay import Recordings
from dsh_web.server.request_log import RecordedRequest, RequestLog
from dsh_web.server.settings import MarkerStyle, MultiQueryShape, Settings
from dsh_web.server.stream_style import StreamStyle

# Longer than any test holds an idle connection: the client decides when a connection ends.
_KEEP_ALIVE_SECONDS = 600
_START_SECONDS = 30.0
_STOP_SECONDS = 5.0


class LoopbackServer:
    """A loopback stand-in for Perplexity's and Parallel's HTTP APIs, ready when its `with` begins.

    Everything here may be called from any thread. A server that was stopped can be started again
    and then listens on the same port if one was named, else on a new one.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = "loopback-key",
        corpus: str | os.PathLike[str] | None = None,
        replay: str | os.PathLike[str] | None = None,
        sonar: Literal["retired", "legacy"] = "retired",
        marker_style: MarkerStyle = "preset",
        multi_query: MultiQueryShape = "flat",
        annotations: bool = False,
        undated: Literal["kept", "dropped"] = "kept",
        faults: Sequence[Fault] = (),
        latency: float = 0.0,
        background_seconds: float = 0.2,
        resume_seconds: float = 300.0,
        stream: StreamStyle | None = None,
    ) -> None:
        """Describe a server; nothing happens before `start`.

        Args:
            host: Address to listen on.
            port: Port to listen on; 0 picks a free one.
            api_key: The only bearer key accepted; None accepts any that is not empty.
            corpus: Folder of Markdown, text and HTML files to search; None searches the
                documentation of the running Python.
            replay: Folder of recorded bodies to answer from instead of searching.
            sonar: `retired` answers chat completions with 403, `legacy` as they were before that.
            marker_style: Citation markers of the Agent API: `preset` writes `[n]` for `fast` and
                `[web:n]` for the others; `number` and `web` write the same for all.
            multi_query: Whether `/search` answers a list of queries with one flat list or with a
                list per query.
            annotations: Whether Agent answers carry `url_citation` annotations.
            undated: What a publication date asked of Parallel's Search does to pages without one.
            faults: What goes wrong with every request.
            latency: Seconds of waiting before every answer.
            background_seconds: Seconds that background runs and async jobs take.
            resume_seconds: Seconds after the end of a background run for which its stream can still
                be taken up again.
            stream: How streams are written; None writes them as the service was recorded to.

        Raises:
            ValueError: if a value is out of range.
            NotADirectoryError: if `corpus` or `replay` is no folder.
        """
        self._host = host
        self._wanted_port = port
        self._settings = Settings(
            api_key=api_key,
            corpus=None if corpus is None else Path(corpus),
            replay=None if replay is None else Path(replay),
            sonar=sonar,
            marker_style=marker_style,
            multi_query=multi_query,
            annotations=annotations,
            undated=undated,
            latency=latency,
            background_seconds=background_seconds,
            resume_seconds=resume_seconds,
            stream=StreamStyle() if stream is None else stream,
        )
        self._faults = FaultPlan(faults)
        self._log = RequestLog()
        self._ledger = ConnectionLedger()
        self._running: _Running | None = None

    @property
    def url(self) -> str:
        """Base address, without a slash at the end.

        Raises:
            RuntimeError: if the server is not running.
        """
        if self._running is None:
            raise RuntimeError("the loopback server is not running; use it in a with block")
        host, port = self._running.address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def api_key(self) -> str:
        """A key that the server accepts."""
        return self._settings.api_key or "loopback-key"

    @property
    def requests(self) -> list[RecordedRequest]:
        """The requests so far, oldest first, those without a valid key included."""
        return self._log.snapshot()

    @property
    def connections_accepted(self) -> int:
        """How many TCP connections were accepted."""
        return self._ledger.accepted

    @property
    def open_connections(self) -> int:
        """How many TCP connections are open now."""
        return self._ledger.open

    @property
    def open_streams(self) -> int:
        """How many answers are being streamed now."""
        return self._ledger.streams

    @property
    def corpus_size(self) -> int:
        """How many documents can be found; 0 while the server is not running."""
        return 0 if self._running is None else self._running.documents

    def wait_until_closed(self, timeout: float | None = 5.0) -> bool:
        """Wait until all connections are closed; False if `timeout` seconds passed first."""
        return self._ledger.wait_until_closed(timeout)

    def add_fault(self, fault: Fault, times: int = 1) -> None:
        """Let a fault meet the next `times` requests, after those already queued."""
        self._faults.add(dataclasses.replace(fault, times=None), times)

    def reset(self) -> None:
        """Forget requests, queued faults and counters; open connections stay."""
        self._log.clear()
        self._faults.clear()
        self._ledger.reset_counter()
        if self._running is not None:
            self._running.restart_rounds()

    def start(self) -> Self:
        """Start to answer; returns when the server is ready.

        Raises:
            RuntimeError: if it is running already.
            OSError: if the address cannot be listened on.
        """
        if self._running is not None:
            raise RuntimeError("the loopback server is running already")
        sock = _listening_socket(self._host, self._wanted_port)
        try:
            self._running = _Running(sock, self._settings, self._faults, self._log, self._ledger)
        except BaseException:
            sock.close()
            raise
        return self

    def stop(self) -> None:
        """Stop within a second, breaking connections that are open; harmless if not running."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)


class _Running:
    """What exists only while a server runs: its thread, its loop, its index."""

    def __init__(
        self,
        sock: socket.socket,
        settings: Settings,
        faults: FaultPlan,
        log: RequestLog,
        ledger: ConnectionLedger,
    ) -> None:
        self.address: tuple[str, int] = sock.getsockname()[:2]
        self._index = open_corpus(settings.corpus)
        self.documents = len(self._index)
        self._recordings = None if settings.replay is None else Recordings(settings.replay)
        self._ledger = ledger
        self._gateway = Gateway(
            build_app(settings, self._index, self._recordings), settings, faults, log
        )
        config = uvicorn.Config(
            self._gateway,
            http=watched_protocol(ledger),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        self._server = _NotifyingServer(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(
            target=self._serve, args=(sock,), name="dsh-web-loopback", daemon=True
        )
        self._thread.start()
        if not self._server.ready.wait(_START_SECONDS) or not self._server.started:
            self.stop()
            raise RuntimeError("the loopback server did not start")

    def restart_rounds(self) -> None:
        """Begin replay rounds and the rate window again."""
        if self._recordings is not None:
            self._recordings.restart()
        self._gateway.rate_window.clear()

    def stop(self) -> None:
        """Break what is open and end the thread."""
        self._server.should_exit = True
        # Without this uvicorn would wait for hanging requests to finish.
        self._server.force_exit = True
        if self._loop is not None and not self._loop.is_closed():
            # The loop may close between the two lines; then nothing is left to break.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ledger.reset_all)
        self._thread.join(_STOP_SECONDS)
        self._index.close()

    def _serve(self, sock: socket.socket) -> None:
        try:
            asyncio.run(self._serve_on_loop(sock))
        finally:
            self._server.ready.set()
            sock.close()

    async def _serve_on_loop(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[sock])
        # Connections that came in while the first ones were being broken.
        self._ledger.reset_all()
        await asyncio.sleep(0)


class _NotifyingServer(uvicorn.Server):
    """A server that says when it answers, to a thread that cannot await it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's delay off only where the protocol is named; else answers wait 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(128)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
