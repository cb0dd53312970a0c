# ruff: noqa: RUF001
"""No connection is attempted to an address that is not public, however it is spelled or reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dsh_web import HttpFetchProvider, WebRuntime

from ..io.raw_server import RawServer, answering
from ..shared.network_watch import Traffic
from .conftest import PUBLIC, Fetch, Web, failure, page
from .hostile import ANSWERS, IN_REDIRECTS, OTHERS, SPELLED

REFUSED = {"WEB_BLOCKED_URL", "WEB_INVALID_URL"}


def test_the_table_is_as_long_as_it_claims() -> None:
    assert len({*SPELLED.values(), *OTHERS.values()}) + len(ANSWERS) >= 300


@pytest.mark.parametrize("url", SPELLED.values(), ids=SPELLED.keys())
def test_every_spelling_of_an_address_is_blocked_without_a_connection(
    fetch: Fetch, traffic: Traffic, url: str
) -> None:
    web = Web()
    error = failure(lambda: fetch(web.runtime(), url))

    assert error.code == "WEB_BLOCKED_URL"
    assert (web.dialled, web.looked_up) == ([], [])
    assert (traffic.connected, traffic.looked_up) == ([], [])


@pytest.mark.parametrize("url", SPELLED.values(), ids=SPELLED.keys())
def test_so_is_it_with_the_resolver_of_the_system(fetch: Fetch, traffic: Traffic, url: str) -> None:
    runtime = WebRuntime()
    runtime.register_fetch_provider(HttpFetchProvider())

    assert failure(lambda: fetch(runtime, url)).code == "WEB_BLOCKED_URL"
    assert (traffic.connected, traffic.looked_up) == ([], [])


@pytest.mark.parametrize("url", OTHERS.values(), ids=OTHERS.keys())
def test_odd_urls_are_refused_without_a_connection(
    fetch: Fetch, traffic: Traffic, url: str
) -> None:
    web = Web()

    assert failure(lambda: fetch(web.runtime(), url)).code in REFUSED
    assert (web.dialled, traffic.connected) == ([], [])


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_harmless_name_with_one_bad_address_is_blocked_without_a_connection(
    fetch: Fetch, traffic: Traffic, answer: list[str]
) -> None:
    web = Web(names={"intranet.example": answer})
    error = failure(lambda: fetch(web.runtime(), "https://intranet.example/"))

    assert error.code in {"WEB_BLOCKED_URL", "WEB_PROVIDER_ERROR"}
    assert (web.dialled, traffic.connected) == ([], [])
    assert web.looked_up == ["intranet.example"]


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "localhost.", "ｌｏｃａｌｈｏｓｔ"])
def test_what_the_system_calls_localhost_is_blocked(
    fetch: Fetch, traffic: Traffic, name: str
) -> None:
    runtime = WebRuntime()
    runtime.register_fetch_provider(HttpFetchProvider())

    assert failure(lambda: fetch(runtime, f"http://{name}/")).code == "WEB_BLOCKED_URL"
    assert traffic.connected == []


@pytest.mark.parametrize("url", IN_REDIRECTS.values(), ids=IN_REDIRECTS.keys())
def test_a_redirect_to_one_is_blocked_and_nothing_but_the_page_was_connected_to(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]], url: str
) -> None:
    location = url.encode().decode("latin-1")
    web, server = web_with(answering(page(b"", 302, location=location)))
    error = failure(lambda: fetch(web.runtime(), "http://ok.example/"))

    assert error.code == "WEB_REDIRECT_BLOCKED"
    assert web.dialled == [(PUBLIC, 80)]
    assert (len(server.requests), server.connections) == (1, 1)


def changing(*answers: list[str]) -> Callable[[], list[str]]:
    """Return a resolver's answers, one per look-up; the last one repeats."""
    remaining = list(answers)
    return lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def test_a_name_that_changes_after_the_check_is_not_looked_up_again(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]]
) -> None:
    rebinding = changing([PUBLIC], ["127.0.0.1"])
    web, _ = web_with(answering(page()), names={"ok.example": rebinding})

    assert fetch(web.runtime(), "http://ok.example/").status_code == 200
    assert web.looked_up == ["ok.example"]
    assert web.dialled == [(PUBLIC, 80)]


def test_a_name_that_changes_before_the_next_hop_is_checked_again(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]]
) -> None:
    rebinding = changing([PUBLIC], ["127.0.0.1"])
    moved = page(b"", 302, location="/next", connection="close")
    web, server = web_with(answering(moved), names={"ok.example": rebinding})
    error = failure(lambda: fetch(web.runtime(), "http://ok.example/"))

    assert error.code == "WEB_REDIRECT_BLOCKED"
    assert web.dialled == [(PUBLIC, 80)]
    assert len(server.requests) == 1


def test_a_name_that_changes_between_two_fetches_is_checked_again(
    fetch: Fetch, web_with: Callable[..., tuple[Web, RawServer]]
) -> None:
    rebinding = changing([PUBLIC], ["10.0.0.1"])
    web, server = web_with(answering(page(connection="close")), names={"ok.example": rebinding})
    runtime = web.runtime()
    fetch(runtime, "http://ok.example/")

    assert failure(lambda: fetch(runtime, "http://ok.example/")).code == "WEB_BLOCKED_URL"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("url", "names", "said"),
    [
        ("http://127.0.0.1/", {}, "127.0.0.1 is a loopback address: it is not fetched unless"),
        ("http://2130706433/", {}, "127.0.0.1 is a loopback address"),
        ("http://[::ffff:7f00:1]/", {}, "an IPv6 form of 127.0.0.1, which is a loopback address"),
        (
            "http://wiki.example/",
            {"wiki.example": ["10.0.0.1"]},
            "wiki.example resolves to 10.0.0.1, which is a private address",
        ),
    ],
)
def test_the_message_says_why_and_who_can_change_it(
    fetch: Fetch, url: str, names: dict[str, Any], said: str
) -> None:
    error = failure(lambda: fetch(Web(names=names).runtime(), url))

    assert said in error.message
    assert "allow_private_hosts=True" in error.message
    assert error.provider == "http"


# -- what a developer may allow --------------------------------------------------------------------


def test_private_hosts_can_be_allowed(fetch: Fetch, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(page()))
    runtime = WebRuntime()
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))

    assert fetch(runtime, server.url).body.content == "<p>Hello.</p>"


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://metadata.google.internal/",
    ],
)
def test_metadata_services_stay_blocked_even_then(fetch: Fetch, traffic: Traffic, url: str) -> None:
    web = Web(names={"metadata.google.internal": ["169.254.169.254"]})
    error = failure(lambda: fetch(web.runtime(allow_private_hosts=True), url))

    assert error.code == "WEB_BLOCKED_URL"
    assert "the metadata service of a cloud" in error.message
    assert "allow_private_hosts" not in error.message
    assert (web.dialled, traffic.connected) == ([], [])
