"""An httpx client of the caller's, a proxy of the environment, and fakes that patch the stack."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from subprocess import CompletedProcess
from typing import Any

import httpx
import pytest
import respx

from dsh_web import CancelToken, PerplexitySearchProvider, WebRuntime, WebSearchResult

from .raw_server import Peer, RawServer, answering, http_answer, sending, stalling
from .support import (
    BODY,
    CANCEL_WITHIN,
    KEY,
    OK,
    SLACK,
    Call,
    ended_at,
    failure,
    provider_failure,
    runtime_for,
    runtime_on,
)
from .test_cancel import MID_BODY, Cancelling

Transport = httpx.MockTransport | None


def through_sync(
    url: str, transport: Transport, settings: dict[str, Any], **call: Any
) -> WebSearchResult:
    with httpx.Client(transport=transport, **settings) as client:
        return runtime_for(url, http_client=client).search("q", **call)


def through_async(
    url: str, transport: Transport, settings: dict[str, Any], **call: Any
) -> WebSearchResult:
    async def run() -> WebSearchResult:
        async with httpx.AsyncClient(transport=transport, **settings) as client:
            return await runtime_for(url, async_http_client=client).asearch("q", **call)

    return asyncio.run(run())


def through_sync_from_async(
    url: str, transport: Transport, settings: dict[str, Any], **call: Any
) -> WebSearchResult:
    with httpx.Client(transport=transport, **settings) as client:
        return asyncio.run(runtime_for(url, http_client=client).asearch("q", **call))


Through = Callable[..., WebSearchResult]


@pytest.fixture(params=[through_sync, through_async, through_sync_from_async])
def through(request: pytest.FixtureRequest) -> Through:
    function: Through = request.param
    return function


def test_a_clients_transport_is_used(through: Through) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=BODY)

    result = through("https://api.example", httpx.MockTransport(answer), {"headers": {"x-me": "1"}})

    assert result.sources[0].title == "A"
    assert seen[0].url == "https://api.example/search"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert seen[0].headers["x-me"] == "1"
    assert json.loads(seen[0].content) == {"query": "q"}


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_mocked_answer_is_read_in_any_encoding(through: Through, encoding: str) -> None:
    body = gzip.compress(BODY) if encoding == "gzip" else BODY

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=body, headers={"content-encoding": encoding})

    assert through("https://api.example", httpx.MockTransport(answer), {}).sources


def test_a_client_reaches_a_real_server(through: Through, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(http_answer(gzip.compress(BODY), content_encoding="gzip")))

    assert through(server.url, None, {}).sources

    assert len(server.requests) == 1


def test_a_clients_failure_is_a_provider_error(through: Through) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError(f"no luck with {request.headers['authorization']}", request=request)

    error = provider_failure(lambda: through("https://api.example", httpx.MockTransport(fail), {}))

    assert str(error) == "Perplexity search request failed: no luck with Bearer [masked]"


def test_a_failing_hook_of_a_client_is_a_provider_error(
    serve: Callable[..., RawServer],
) -> None:
    def hook(response: httpx.Response) -> None:
        response.raise_for_status()

    server = serve(answering(http_answer(status=500)))

    provider_failure(lambda: through_sync(server.url, None, {"event_hooks": {"response": [hook]}}))


def test_a_hook_of_a_client_may_read_the_answer(serve: Callable[..., RawServer]) -> None:
    bodies: list[bytes] = []
    server = serve(answering(http_answer(gzip.compress(BODY), content_encoding="gzip")))

    assert through_sync(
        server.url, None, {"event_hooks": {"response": [lambda r: bodies.append(r.read())]}}
    ).sources

    assert bodies == [BODY]


def test_the_cap_holds_for_a_client(through: Through, serve: Callable[..., RawServer]) -> None:
    bomb = gzip.compress(bytes(50_000_000), 9)
    bodies = [
        sending(
            lambda: itertools.chain(
                [b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(bytes(65_536), 800)
            )
        ),
        answering(http_answer(bomb, content_encoding="gzip")),
    ]
    for script in bodies:
        server = serve(script)
        error = provider_failure(lambda server=server: through(server.url, None, {}))
        assert "larger than" in str(error)


def test_the_deadline_holds_for_a_client(through: Through, serve: Callable[..., RawServer]) -> None:
    def drip(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        for _ in range(60):
            if peer.hung_up.wait(0.02) or not peer.send(b" "):
                return

    server = serve(drip)
    started = time.monotonic()

    error = failure(lambda: through(server.url, None, {}, timeout=0.2))

    assert error.code == "WEB_TIMEOUT"
    assert ended_at(error) - started < 0.2 + SLACK + 1  # leaving the client closes it, too


def test_a_cancel_does_not_wait_for_a_client(
    serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(stalling(MID_BODY))
    client = httpx.Client()
    runtime = runtime_on(server, http_client=client)
    cancelling = Cancelling(token, lambda: server.wait_for("stalled"))

    error = failure(lambda: runtime.search("q", cancel=token))

    cancelling.assert_prompt(error, ended_at(error))
    server.close()
    client.close()


async def test_a_cancel_closes_the_connection_of_an_async_client(
    serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(stalling(MID_BODY))
    async with httpx.AsyncClient() as client:
        runtime = runtime_on(server, async_http_client=client)
        task = asyncio.create_task(runtime.asearch("q", cancel=token))
        await asyncio.to_thread(server.wait_for, "stalled")
        moment = time.monotonic()
        token.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        hung_up_at = await asyncio.to_thread(server.wait_for_hang_up)

    assert getattr(outcome, "code", None) == "WEB_ABORTED"
    assert hung_up_at - moment < CANCEL_WITHIN


def test_the_default_timeout_of_a_client_does_not_cut_a_long_answer_short(
    through: Through,
) -> None:
    limits: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        limits.append(request.extensions["timeout"])
        return httpx.Response(200, content=BODY)

    through("https://api.example", httpx.MockTransport(answer), {}, timeout=60)
    through("https://api.example", httpx.MockTransport(answer), {"timeout": 7}, timeout=60)

    assert 50 < limits[0]["read"] <= 60
    assert limits[1]["read"] == 7


def test_a_client_that_is_closed_is_a_provider_error() -> None:
    client = httpx.Client()
    client.close()

    error = provider_failure(
        lambda: runtime_for("http://127.0.0.1:1", http_client=client).search("q")
    )

    assert "closed" in str(error)


def test_the_callers_client_stays_open(serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))

    with httpx.Client() as client:
        with runtime_on(server, http_client=client) as runtime:
            runtime.search("q")
        assert not client.is_closed


# -- proxies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("with_scheme", [True, False])
def test_a_proxy_of_the_environment_is_used(
    call: Call,
    serve: Callable[..., RawServer],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    with_scheme: bool,
) -> None:
    proxy = serve(answering(OK))
    monkeypatch.setenv(variable, proxy.url if with_scheme else proxy.url.removeprefix("http://"))
    runtime = runtime_for("http://far.example")

    assert call(runtime).sources
    assert call(runtime).sources
    runtime.close()

    assert proxy.requests[0].target == "http://far.example/search"
    assert proxy.requests[0].header("authorization") == f"Bearer {KEY}"
    assert len(proxy.requests) == 2


def test_a_host_that_the_environment_exempts_is_reached_directly(
    call: Call,
    serve: Callable[..., RawServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy, server = serve(answering(OK)), serve(answering(OK))
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", ".example")

    assert call(runtime_on(server)).sources
    provider_failure(lambda: call(runtime_for("http://exempt.example"), timeout=5))

    assert len(server.requests) == 1
    assert proxy.connections == 0


def test_a_new_runtime_sees_the_environment_as_it_is_then(
    call: Call, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = serve(answering(OK)), serve(answering(OK))

    for proxy in proxies:
        monkeypatch.setenv("http_proxy", proxy.url)
        with runtime_for("http://far.example") as runtime:
            assert call(runtime).sources

    assert [len(proxy.requests) for proxy in proxies] == [1, 1]


def test_the_deadline_holds_for_a_proxy(
    call: Call, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(stalling())
    monkeypatch.setenv("http_proxy", proxy.url)
    started = time.monotonic()
    runtime = runtime_for("http://slow.example")

    error = failure(lambda: call(runtime, timeout=0.2))

    assert error.code == "WEB_TIMEOUT"
    assert ended_at(error) - started < 0.2 + SLACK
    proxy.wait_for_hang_up()


PROXIED_FORK = """
import asyncio, os, sys
from dsh_web import PerplexitySearchProvider, WebRuntime
runtime = WebRuntime()
runtime.register_search_provider(
    PerplexitySearchProvider(api_key="k", base_url="http://far.example"))
assert runtime.search("q").sources
child = os.fork()
for _ in range(3):
    assert runtime.search("q").sources
if child == 0:
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
"""


def test_parent_and_child_do_not_share_the_connection_to_a_proxy(
    serve: Callable[..., RawServer],
    run_script: Callable[..., CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = serve(answering(OK))
    monkeypatch.setenv("http_proxy", proxy.url)

    done = run_script(PROXIED_FORK)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(proxy.requests) == 7
    assert proxy.connections == 2


# -- fakes ---------------------------------------------------------------------------------------


@respx.mock
def test_respx_fakes_the_server(call: Call) -> None:
    route = respx.post("https://api.perplexity.ai/search").respond(content=BODY)
    runtime = WebRuntime()
    runtime.register_search_provider(PerplexitySearchProvider(api_key=KEY))

    assert call(runtime).sources[0].url == "https://a.example/"
    assert call(runtime).sources

    assert route.call_count == 2
    assert route.calls.last.request.headers["authorization"] == f"Bearer {KEY}"


@respx.mock
def test_respx_fakes_failures_and_retries(call: Call) -> None:
    respx.post("https://api.perplexity.ai/search").mock(
        side_effect=[
            httpx.ConnectError("refused"),
            httpx.Response(503, headers={"retry-after": "0"}),
            httpx.Response(200, content=BODY),
        ]
    )
    runtime = WebRuntime()
    runtime.register_search_provider(PerplexitySearchProvider(api_key=KEY, max_retries=2))

    assert call(runtime).sources


@respx.mock
def test_respx_fakes_a_redirect_that_is_not_followed(call: Call) -> None:
    target = respx.post("https://other.example/").respond(content=BODY)
    respx.post("https://api.perplexity.ai/search").respond(
        307, headers={"location": "https://other.example/"}
    )
    runtime = WebRuntime()
    runtime.register_search_provider(PerplexitySearchProvider(api_key=KEY))

    provider_failure(lambda: call(runtime))

    assert not target.called


def test_a_streamed_answer_of_a_client_is_closed_when_it_is_too_large() -> None:
    closed = threading.Event()

    class Endless(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return itertools.repeat(bytes(65_536))

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in self:
                yield chunk

        def close(self) -> None:
            closed.set()

        async def aclose(self) -> None:
            closed.set()

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Endless()))
    for through in (through_sync, through_async):
        closed.clear()
        provider_failure(lambda through=through: through("https://api.example", transport, {}))
        assert closed.is_set()
