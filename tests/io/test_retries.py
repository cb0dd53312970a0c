"""Retries over real connections, counted where they arrive."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from email.utils import formatdate

import pytest

from .raw_server import RawServer, answering, answering_once, http_answer, resetting
from .support import OK, Call, ended_at, provider_failure, runtime_for, runtime_on
from .test_cancel import RawServerOnPort

BUSY = http_answer(b'{"error": {"message": "busy"}}', status=503, retry_after="0")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(
    call: Call, serve: Callable[..., RawServer], status: int
) -> None:
    server = serve(answering(http_answer(status=status, retry_after="0"), OK))

    assert call(runtime_on(server, max_retries=2)).sources

    assert len(server.requests) == 2
    assert server.connections == 1
    assert server.requests[0] == server.requests[1]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_a_refusal_is_final(call: Call, serve: Callable[..., RawServer], status: int) -> None:
    server = serve(answering(http_answer(status=status, retry_after="0"), OK))

    error = provider_failure(lambda: call(runtime_on(server, max_retries=2)))

    assert error.status_code == status
    assert len(server.requests) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_attempts_are_counted(call: Call, serve: Callable[..., RawServer], retries: int) -> None:
    server = serve(answering(BUSY))

    error = provider_failure(lambda: call(runtime_on(server, max_retries=retries)))

    assert (error.status_code, str(error), error.retryable) == (503, "busy", True)
    assert len(server.requests) == retries + 1


def test_retry_after_is_waited_for(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(http_answer(status=429, retry_after_ms="300"), OK))
    started = time.monotonic()

    assert call(runtime_on(server, max_retries=1)).sources

    assert 0.3 <= time.monotonic() - started < 3


@pytest.mark.parametrize("hint", ["seconds", "date"])
def test_a_wait_beyond_the_deadline_ends_the_call_at_once(
    call: Call, serve: Callable[..., RawServer], hint: str
) -> None:
    text = "30" if hint == "seconds" else formatdate(time.time() + 30, usegmt=True)
    server = serve(answering(http_answer(status=429, retry_after=text)))
    runtime = runtime_on(server, max_retries=2)
    started = time.monotonic()

    error = provider_failure(lambda: call(runtime, timeout=5))

    assert ended_at(error) - started < 1
    assert error.status_code == 429
    assert error.retry_after == pytest.approx(30, abs=2)
    assert len(server.requests) == 1


def test_an_own_wait_beyond_the_deadline_ends_the_call_at_once(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(http_answer(status=503)))
    runtime = runtime_on(server, max_retries=9)

    error = provider_failure(lambda: call(runtime, timeout=0.3))

    assert error.status_code == 503
    assert len(server.requests) == 1


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def test_a_refused_connection_is_tried_again(call: Call) -> None:
    port = free_port()
    servers: list[RawServerOnPort] = []
    # The first wait is at least 0.375 s; the server is there long before that.
    timer = threading.Timer(0.1, lambda: servers.append(RawServerOnPort(port)))
    timer.start()

    assert call(runtime_for(f"http://127.0.0.1:{port}", max_retries=2)).sources

    timer.join()
    servers[0].close()


def test_a_refused_connection_is_an_error_that_says_so(call: Call) -> None:
    error = provider_failure(lambda: call(runtime_for(f"http://127.0.0.1:{free_port()}")))

    assert error.retryable
    assert str(error).startswith("Perplexity search request failed: cannot connect to 127.0.0.1: ")


def test_an_unknown_host_is_an_error_that_says_so(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*args: object, **settings: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    error = provider_failure(lambda: call(runtime_for("http://nowhere.example")))

    assert "cannot resolve nowhere.example: Name or service not known" in str(error)


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "\xfc\xdf..example", "x\u2024example"])
def test_a_host_name_that_cannot_be_one_is_a_provider_error(call: Call, host: str) -> None:
    provider_failure(lambda: call(runtime_for(f"http://{host}:1")))


def test_the_next_address_of_a_host_is_tried(
    call: Call, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, closed = serve(answering(OK)), free_port()

    def look_up(*args: object, **settings: object) -> list[object]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
            for port in (closed, closed, server.port)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    assert call(runtime_for(f"http://two.example:{server.port}")).sources
    assert server.requests[0].header("host") == f"two.example:{server.port}"


def test_a_connection_lost_while_reading_is_not_tried_again(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    for script in (resetting(), answering_once(), resetting(b"HTTP/1.1 200 OK\r\n\r\n{")):
        server = serve(script, answering(OK))

        error = provider_failure(lambda server=server: call(runtime_on(server, max_retries=2)))

        assert not error.retryable
        assert len(server.requests) == 1
