"""TLS: whom to trust, and that everything else stays as it is without."""

from __future__ import annotations

import asyncio
import gc
import itertools
import ssl
from collections.abc import Callable

from .conftest import Certificate
from .raw_server import (
    Peer,
    RawServer,
    answering,
    answering_once,
    http_answer,
    sending,
)
from .support import BODY, OK, Call, provider_failure, runtime_for, runtime_on


def test_a_context_of_the_callers_is_used_and_the_connection_kept(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(answering(OK), tls=localhost.server_context())
    runtime = runtime_on(server, ssl_context=localhost.client_context())

    for _ in range(5):
        assert call(runtime).sources

    assert server.connections == 1


def test_a_certificate_for_another_name_is_refused_once_and_for_all(
    call: Call, serve: Callable[..., RawServer], elsewhere: Certificate
) -> None:
    server = serve(answering(OK), tls=elsewhere.server_context())
    runtime = runtime_on(server, ssl_context=elsewhere.client_context(), max_retries=2)

    error = provider_failure(lambda: call(runtime))

    assert "certificate" in str(error).lower()
    assert not error.retryable
    assert server.connections == 1
    assert server.requests == []


def test_an_unknown_authority_is_refused(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(answering(OK), tls=localhost.server_context())

    error = provider_failure(lambda: call(runtime_on(server, max_retries=2)))

    assert "certificate" in str(error).lower()
    assert server.connections == 1
    assert server.requests == []


def test_a_server_without_tls_is_a_provider_error(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(lambda peer: peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    context = localhost.client_context()

    provider_failure(
        lambda: call(runtime_for(f"https://localhost:{server.port}", ssl_context=context))
    )


def test_a_large_request_and_a_large_answer_pass(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    snippet = "x" * 4_000_000
    body = BODY.replace(b"text of a", snippet.encode())
    server = serve(answering(http_answer(body)), tls=localhost.server_context())
    runtime = runtime_on(server, ssl_context=localhost.client_context())

    assert call(runtime, "y" * 4_000_000).sources[0].snippet == snippet
    assert call(runtime).sources[0].snippet == snippet
    assert server.connections == 1
    assert len(server.requests[0].body) > 4_000_000


def test_a_cap_holds(call: Call, serve: Callable[..., RawServer], localhost: Certificate) -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    server = serve(
        sending(lambda: itertools.chain([head], itertools.repeat(bytes(65_536), 800))),
        tls=localhost.server_context(),
    )

    error = provider_failure(
        lambda: call(runtime_on(server, ssl_context=localhost.client_context()))
    )

    assert "larger than" in str(error)


def test_a_body_that_ends_with_the_connection_needs_no_goodbye(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(
        answering_once(b"HTTP/1.1 200 OK\r\n\r\n" + BODY), tls=localhost.server_context()
    )

    assert call(runtime_on(server, ssl_context=localhost.client_context())).sources


def test_a_body_that_is_cut_short_is_noticed(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(
        answering_once(http_answer(BODY, length=len(BODY) + 1)), tls=localhost.server_context()
    )

    provider_failure(lambda: call(runtime_on(server, ssl_context=localhost.client_context())))


def test_a_goodbye_while_idle_is_noticed(
    call: Call, serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(OK)
        assert isinstance(peer.sock, ssl.SSLSocket)
        peer.sock.setblocking(False)
        try:
            peer.sock.unwrap()
        except ssl.SSLError:
            peer.server.note("goodbye")

    server = serve(script, tls=localhost.server_context())
    runtime = runtime_on(server, ssl_context=localhost.client_context())
    call(runtime)
    server.wait_for("goodbye")

    assert call(runtime).sources
    assert server.connections == 2


async def test_many_tls_searches_at_once(
    serve: Callable[..., RawServer], localhost: Certificate
) -> None:
    server = serve(answering(OK), tls=localhost.server_context())
    runtime = runtime_on(server, ssl_context=localhost.client_context())

    for _ in range(5):
        await asyncio.gather(*(runtime.asearch("q") for _ in range(20)))

    assert len(server.requests) == 100
    assert server.connections <= 20
    runtime.close()
    gc.collect()
