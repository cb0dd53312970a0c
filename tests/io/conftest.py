"""Servers, certificates, and one `call` fixture that runs a test in sync and in async colour."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dsh_web import CancelToken, WebRuntime, WebSearchResult

from .raw_server import RawServer, Script
from .support import Call, wait_until

ROOT = Path(__file__).parents[2]


class _SyncCall:
    name = "sync"

    def __call__(self, runtime: WebRuntime, query: str = "q", **settings: Any) -> WebSearchResult:
        return runtime.search(query, **settings)


class _AsyncCall:
    name = "async"

    def __call__(self, runtime: WebRuntime, query: str = "q", **settings: Any) -> WebSearchResult:
        return asyncio.run(runtime.asearch(query, **settings))


@pytest.fixture(params=[_SyncCall(), _AsyncCall()], ids=lambda call: call.name)
def call(request: pytest.FixtureRequest) -> Call:
    return request.param


@pytest.fixture
def token() -> CancelToken:
    return CancelToken()


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    """Return a factory of servers, which are closed when the test is over."""
    servers: list[RawServer] = []

    def start(*scripts: Script, tls: ssl.SSLContext | None = None) -> RawServer:
        servers.append(RawServer(*scripts, tls=tls))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(
            ("PERPLEXITY", "PPLX", "PARALLEL", "DSH_WEB")
        ):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind() -> Iterator[None]:
    yield
    wait_until(lambda: not [t for t in threading.enumerate() if t.name.startswith("dsh-web")])


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a program in an interpreter where warnings are errors."""

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-X", "dev", "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    return run


class Certificate:
    """A self-signed certificate for one name, and the contexts of both ends."""

    def __init__(self, folder: Path, name: str) -> None:
        self.cert, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec",
             "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}",
             "-addext", f"subjectAltName=DNS:{name}",
             "-keyout", str(self.key), "-out", str(self.cert)],
            check=True,
            capture_output=True,
        )  # fmt: skip

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        return context

    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.cert))


@pytest.fixture(scope="session")
def localhost(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("localhost"), "localhost")


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("elsewhere"), "elsewhere.example")
