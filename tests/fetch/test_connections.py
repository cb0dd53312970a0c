"""Where a fetch connects to, what it sends, and which connections it shares with whom."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import trustme

from dsh_web import PerplexitySearchProvider, WebRuntime
from dsh_web._version import __version__

from ..io.raw_server import Peer, RawServer, answering
from ..io.support import OK
from .conftest import PUBLIC, PUBLIC_TOO, Fetch, Web, failure, page

WebWith = Callable[..., tuple[Web, RawServer]]


class Authority:
    """A private CA, trusted by `client`."""

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self.client = ssl.create_default_context()
        self._ca.configure_trust(self.client)

    def server_for(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(name).configure_cert(context)
        return context


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


# -- TLS -------------------------------------------------------------------------------------------


def test_tls_is_verified_against_the_name_not_the_address(
    fetch: Fetch, web_with: WebWith, authority: Authority
) -> None:
    web, server = web_with(answering(page()), tls=authority.server_for("ok.example"))
    runtime = web.runtime(ssl_context=authority.client)

    assert fetch(runtime, "https://ok.example/").body.content == "<p>Hello.</p>"
    assert web.dialled == [(PUBLIC, 443)]
    assert server.requests[0].header("host") == "ok.example"


@pytest.mark.parametrize("name", ["else.example", PUBLIC, "127.0.0.1", "sub.ok.example"])
def test_a_certificate_for_another_name_is_refused(
    fetch: Fetch, web_with: WebWith, authority: Authority, name: str
) -> None:
    web, server = web_with(answering(page()), tls=authority.server_for(name))
    runtime = web.runtime(ssl_context=authority.client)
    error = failure(lambda: fetch(runtime, "https://ok.example/"))

    assert error.code == "WEB_PROVIDER_ERROR"
    assert "certificate" in error.message.lower()
    assert not error.retryable
    assert server.requests == []


def test_a_certificate_of_an_unknown_authority_is_refused(
    fetch: Fetch, web_with: WebWith, authority: Authority
) -> None:
    web, server = web_with(answering(page()), tls=authority.server_for("ok.example"))

    assert "certificate" in failure(lambda: fetch(web.runtime(), "https://ok.example/")).message
    assert server.requests == []


def test_the_name_is_sent_for_the_server_to_choose_its_certificate_by(
    fetch: Fetch, web_with: WebWith, authority: Authority
) -> None:
    context = authority.server_for("ok.example")
    names: list[str | None] = []
    context.sni_callback = lambda sock, name, context: names.append(name)
    web, _ = web_with(answering(page()), tls=context)
    fetch(web.runtime(ssl_context=authority.client), "https://ok.example/")

    assert names == ["ok.example"]


# -- what is sent ----------------------------------------------------------------------------------


def test_a_request_says_who_asks_and_nothing_else(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page()))
    fetch(web.runtime(), "http://ok.example:8080/a?b=1#part")
    head = server.requests[0].head
    names = [line.partition(":")[0].lower() for line in head.split("\r\n")[1:]]

    assert head.startswith("GET /a?b=1 HTTP/1.1\r\n")
    assert sorted(names) == ["accept", "accept-encoding", "host", "user-agent"]
    assert server.requests[0].header("host") == "ok.example:8080"
    assert server.requests[0].header("user-agent") == f"dsh-web/{__version__}"


def test_the_user_agent_can_be_set(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page()))
    fetch(web.runtime(user_agent="reader/2.0 (+https://me.example)"), "http://ok.example/")

    assert server.requests[0].header("user-agent") == "reader/2.0 (+https://me.example)"


def test_cookies_are_never_sent_back(fetch: Fetch, web_with: WebWith) -> None:
    moved = page(b"", 302, location="/next", set_cookie="session=1; Path=/")
    web, server = web_with(answering(moved, page(set_cookie="other=1")))
    runtime = web.runtime()
    fetch(runtime, "http://ok.example/")
    fetch(runtime, "http://ok.example/")

    assert [request.header("cookie") for request in server.requests] == [None, None, None]


def test_credentials_of_the_environment_are_never_sent(
    fetch: Fetch, web_with: WebWith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine ok.example login me password hunter2\ndefault login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    web, server = web_with(answering(page()))
    fetch(web.runtime(), "http://ok.example/")

    assert server.requests[0].header("authorization") is None


def never(peer: Peer) -> None:
    peer.server.note("used")
    peer.wait_for_hang_up()


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_not_asked(
    fetch: Fetch,
    web_with: WebWith,
    serve: Callable[..., RawServer],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    proxy = serve(never)
    monkeypatch.setenv(name, proxy.url)
    web, server = web_with(answering(page()))

    assert fetch(web.runtime(), "http://ok.example/").status_code == 200
    assert (proxy.connections, len(server.requests)) == (0, 1)


def test_a_client_of_the_callers_is_not_asked_either(fetch: Fetch, web_with: WebWith) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"the client was asked for {request.url}")

    web, server = web_with(answering(page()))
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        runtime = web.runtime(
            http_client=client,
            async_http_client=httpx.AsyncClient(transport=httpx.MockTransport(answer)),
        )
        assert fetch(runtime, "http://ok.example/").status_code == 200

    assert len(server.requests) == 1


# -- several addresses -----------------------------------------------------------------------------


def closed_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_the_next_checked_address_is_tried_when_one_does_not_answer(
    fetch: Fetch, web_with: WebWith
) -> None:
    web, _ = web_with(answering(page()), names={"ok.example": [PUBLIC, PUBLIC_TOO]})
    ports = {PUBLIC: closed_port(), PUBLIC_TOO: web.port}
    dialled: list[str] = []

    def dial(address: str, port: int) -> tuple[str, int]:
        dialled.append(address)
        there = ports[address]
        assert there is not None
        return ("127.0.0.1", there)

    web.dial = dial  # type: ignore[method-assign]

    assert fetch(web.runtime(), "http://ok.example/").status_code == 200
    assert dialled == [PUBLIC, PUBLIC_TOO]


def test_a_host_that_does_not_answer_is_a_failure_worth_another_try(
    fetch: Fetch,
) -> None:
    web = Web(port=closed_port())
    error = failure(lambda: fetch(web.runtime(), "http://ok.example/a?key=hunter2"))

    assert (error.code, error.retryable, error.provider) == ("WEB_PROVIDER_ERROR", True, "http")
    assert error.message.startswith("fetching 'http://ok.example/a' failed: cannot connect to")
    assert "hunter2" not in error.message


def test_a_name_that_does_not_exist_is_a_failure_that_says_so(fetch: Fetch) -> None:
    import socket

    def unknown() -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    web = Web(names={"nowhere.example": unknown})
    error = failure(lambda: fetch(web.runtime(), "http://nowhere.example/"))

    assert error.code == "WEB_PROVIDER_ERROR"
    assert "cannot resolve nowhere.example: Name or service not known" in error.message


def test_a_name_without_any_address_is_a_failure(fetch: Fetch) -> None:
    error = failure(
        lambda: fetch(Web(names={"empty.example": []}).runtime(), "http://empty.example/")
    )

    assert "cannot connect to empty.example: no address" in error.message


# -- the pool --------------------------------------------------------------------------------------


def test_fetches_from_one_host_share_a_connection(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page()))
    runtime = web.runtime()
    for _ in range(5):
        fetch(runtime, "http://ok.example/")

    assert (len(server.requests), server.connections) == (5, 1)
    assert web.looked_up == ["ok.example"]


def test_so_do_the_hops_of_a_redirect(fetch: Fetch, web_with: WebWith) -> None:
    moved = page(b"moved", 301, location="/next")
    web, server = web_with(answering(moved, page()))

    assert fetch(web.runtime(), "http://ok.example/").url == "http://ok.example/next"
    assert (len(server.requests), server.connections) == (2, 1)


def test_another_providers_connection_is_never_used_for_a_page(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    """The address of a provider is configured; it says nothing about what pages may reach."""
    server = serve(answering(OK, page()))
    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexitySearchProvider(api_key="invented-key-1", base_url=server.url)
    )
    web = Web()
    runtime.register_fetch_provider(web_provider(web))
    if fetch.name == "sync":
        runtime.search("q")
    else:
        import asyncio

        asyncio.run(runtime.asearch("q"))

    assert failure(lambda: fetch(runtime, server.url)).code == "WEB_BLOCKED_URL"
    assert (len(server.requests), web.dialled) == (1, [])


def web_provider(web: Web) -> object:
    from dsh_web import HttpFetchProvider

    return HttpFetchProvider(resolve=web.resolve, dial=web.dial)


def test_connections_are_not_shared_between_two_policies(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    from dsh_web import HttpFetchProvider

    server = serve(answering(page()))
    runtime = WebRuntime()
    dispose = runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    fetch(runtime, server.url)
    dispose()
    runtime.register_fetch_provider(HttpFetchProvider())

    assert failure(lambda: fetch(runtime, server.url)).code == "WEB_BLOCKED_URL"
    assert len(server.requests) == 1


def test_idle_connections_to_ever_new_hosts_do_not_pile_up(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page()))
    runtime = web.runtime()
    for number in range(80):
        fetch(runtime, f"http://host{number}.example/")
    driver = vars(runtime)["_sync" if fetch.name == "sync" else "_async"]

    assert server.connections == 80
    assert driver.idle_count() == 64
    runtime.close()
