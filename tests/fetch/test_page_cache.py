"""What is kept of fetched pages, for how long, and for whom."""

from __future__ import annotations

import gzip
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from email.utils import formatdate
from typing import Any

import pytest
from cachetools import LRUCache
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    CancelToken,
    HttpFetchProvider,
    HttpHead,
    InvalidRequestError,
    PageCache,
    WebRuntime,
)
from dsh_web.page_rules import Asking, Kept

from ..io.raw_server import Peer, RawServer, Script, answering, answering_once, stalling
from .conftest import Fetch, Web, failure, page
from .pdfs import pdf

WebWith = Callable[..., tuple[Web, RawServer]]
URL = "http://ok.example/"
HOUR = 3600


class Clock:
    """The time of day, which tests move on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = time.time
        self.ahead = 0.0
        monkeypatch.setattr(time, "time", lambda: real() + self.ahead)

    def forward(self, seconds: float) -> None:
        self.ahead += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def caching(control: str = "max-age=3600", body: bytes = b"<p>Hello.</p>", **more: Any) -> bytes:
    return page(body, cache_control=control, **more)


def matching(etag: str, fresh: bytes, changed: bytes) -> Script:
    """Answer with `fresh`, and with `changed` whoever asks whether `etag` still holds."""

    def script(peer: Peer) -> None:
        while (seen := peer.request()) is not None:
            peer.send(changed if seen.header("if-none-match") == etag else fresh)

    return script


class Failing(MutableMapping[str, Any]):
    """A store that is out of order."""

    def __getitem__(self, key: str) -> Any:
        raise OSError("no such disk")

    def __setitem__(self, key: str, value: Any) -> None:
        raise OSError("no such disk")

    def __delitem__(self, key: str) -> None:
        raise OSError("no such disk")

    def __iter__(self) -> Iterator[str]:
        raise OSError("no such disk")

    def __len__(self) -> int:
        raise OSError("no such disk")


# -- hits ------------------------------------------------------------------------------------------


def test_nothing_is_kept_unless_asked_for(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(caching()))
    runtime = web.runtime()

    assert [fetch(runtime, URL).cached for _ in range(2)] == [False, False]
    assert len(server.requests) == 2


@pytest.mark.parametrize("store", [lambda: None, dict, lambda: LRUCache(10)])
def test_a_page_that_still_holds_contacts_nobody(
    fetch: Fetch, web_with: WebWith, store: Callable[[], Any]
) -> None:
    web, server = web_with(answering(caching()))
    runtime = web.runtime(cache=PageCache(store()))
    first, second = fetch(runtime, URL), fetch(runtime, f"{URL}#part")

    assert (first.cached, second.cached) == (False, True)
    assert second == first.model_copy(update={"cached": True})
    assert (len(server.requests), web.looked_up, len(web.dialled)) == (1, ["ok.example"], 1)


def test_other_addresses_are_other_pages(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(caching()))
    runtime = web.runtime(cache=PageCache())
    urls = [URL, f"{URL}a", f"{URL}?a", "http://ok.example:81/", "http://www.ok.example/"]

    assert not any(fetch(runtime, url).cached for url in urls)
    assert all(fetch(runtime, url).cached for url in urls)


def test_a_page_is_converted_like_when_it_came(fetch: Fetch, web_with: WebWith) -> None:
    latin = caching(body="<p>Grüße</p>".encode("latin-1"), content_type="text/html; charset=latin1")
    web, _ = web_with(answering(latin))
    runtime = web.runtime(cache=PageCache())

    assert [fetch(runtime, URL).body.content for _ in range(2)] == ["<p>Grüße</p>"] * 2


def test_a_compressed_page_is_kept_as_what_it_unfolds_to(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(
        answering(caching(body=gzip.compress(b"<p>Hi.</p>"), content_encoding="gzip"))
    )
    store: dict[str, Any] = {}
    runtime = web.runtime(cache=PageCache(store))

    assert [fetch(runtime, URL).body.content for _ in range(2)] == ["<p>Hi.</p>"] * 2
    assert [data["body"] for data in store.values()] == [b"<p>Hi.</p>"]
    assert len(server.requests) == 1


def test_a_pdf_is_kept_as_it_came(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(
        answering(
            caching(
                body=pdf(b"BT /F1 12 Tf 20 100 Td (Words.) Tj ET"), content_type="application/pdf"
            )
        )
    )
    runtime = web.runtime(cache=PageCache())
    first, second = fetch(runtime, URL), fetch(runtime, URL)

    assert "Words." in second.body.content
    assert (second.body, len(server.requests)) == (first.body, 1)


@pytest.mark.parametrize("status", [204, 404, 410, 500])
def test_any_final_answer_can_be_kept(fetch: Fetch, web_with: WebWith, status: int) -> None:
    body = b"" if status == 204 else b"<p>So it is.</p>"
    answer = caching(body=body, status=status, length=None if status == 204 else -1)
    web, server = web_with(answering(answer))
    runtime = web.runtime(cache=PageCache())

    assert [fetch(runtime, URL).status_code for _ in range(2)] == [status, status]
    assert len(server.requests) == 1


@pytest.mark.parametrize("store", [None, {}], ids=["memory", "store"])
def test_each_redirect_is_kept_by_its_own_rules(
    fetch: Fetch, web_with: WebWith, store: dict[str, Any] | None
) -> None:
    moved = caching(body=b"Over there.", status=301, location="/new")
    web, server = web_with(answering(moved, page(), page()))
    runtime = web.runtime(cache=PageCache(store))
    first, second = fetch(runtime, URL), fetch(runtime, URL)

    assert [request.target for request in server.requests] == ["/", "/new", "/new"]
    assert (first.url, second.url, second.cached) == (f"{URL}new", f"{URL}new", False)


def test_a_redirect_that_says_nothing_is_asked_for_again(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(
        answering(page(b"", 301, location="/new"), caching(), page(b"", 301, location="/new"))
    )
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)

    assert fetch(runtime, URL).cached
    assert [request.target for request in server.requests] == ["/", "/new", "/"]


def test_a_loop_of_kept_redirects_ends(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(caching(body=b"", status=301, location="/")))
    error = failure(lambda: fetch(web.runtime(cache=PageCache()), URL))

    assert error.code == "WEB_REDIRECT_BLOCKED"
    assert len(server.requests) == 1


def test_a_hit_waits_for_no_turn(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering_once(caching()), stalling())
    runtime = web.runtime(cache=PageCache(), max_connections_per_host=1)
    fetch(runtime, URL)
    cancel = CancelToken()
    other = threading.Thread(
        target=lambda: failure(lambda: runtime.fetch(f"{URL}slow", cancel=cancel))
    )
    other.start()
    server.wait_for("stalled")
    hit = fetch(runtime, URL, timeout=20)
    cancel.cancel()
    other.join(20)

    assert hit.cached


def test_whoever_waited_for_a_turn_uses_what_came_meanwhile(web_with: WebWith) -> None:
    allowed = threading.Event()

    def script(peer: Peer) -> None:
        while peer.request() is not None:
            assert allowed.wait(20)
            peer.send(caching())

    web, server = web_with(script)
    runtime = web.runtime(cache=PageCache(), max_connections_per_host=1)
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(runtime.fetch(URL).cached)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    server.wait_for("request")
    allowed.set()
    for thread in threads:
        thread.join(20)

    assert sorted(results) == [False, True, True, True]
    assert len(server.requests) == 1


# -- for how long ----------------------------------------------------------------------------------


@pytest.mark.parametrize("age", ["none", "date", "age"])
def test_a_page_is_fetched_again_when_its_time_is_over(
    fetch: Fetch, web_with: WebWith, clock: Clock, age: str
) -> None:
    now = time.time()
    answer = {
        "none": caching(),
        "date": caching("max-age=7200", date=formatdate(now - HOUR, usegmt=True)),
        "age": caching("max-age=7200", age="3600"),
    }[age]
    web, server = web_with(answering(answer))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)
    clock.forward(HOUR - 60)
    assert fetch(runtime, URL).cached
    clock.forward(120)

    assert not fetch(runtime, URL).cached
    assert len(server.requests) == 2


def test_an_expiry_date_counts_from_the_servers_own_date(
    fetch: Fetch, web_with: WebWith, clock: Clock
) -> None:
    ahead = time.time() + 24 * HOUR  # the server's clock
    answer = page(
        date=formatdate(ahead, usegmt=True), expires=formatdate(ahead + HOUR, usegmt=True)
    )
    web, server = web_with(answering(answer))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)
    clock.forward(HOUR - 60)
    assert fetch(runtime, URL).cached
    clock.forward(120)

    assert not fetch(runtime, URL).cached
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"cache_control": "no-store, max-age=3600"},
        {"cache_control": "max-age=3600\r\ncache-control: no-store"},
        {"cache_control": "no-store\r\ncache-control: max-age=3600"},
        {"cache_control": "max-age=0"},
        {"cache_control": "max-age=-5"},
        {"cache_control": "max-age=soon"},
        {"cache_control": "no-cache, max-age=3600"},
        {"cache_control": "s-maxage=3600"},
        {"cache_control": 'max-age=3600, no-cache="Content-Type"'},
        {"cache_control": 'max-age=3600, no-cache="Date"'},
        {"expires": "0"},
        {"expires": "Thu, 01 Jan 1970 00:00:00 GMT"},
        {"expires": "Thu, 01 Jan 99999 00:00:00 GMT"},
        {"cache_control": "max-age=3600", "vary": "*"},
        {"cache_control": "max-age=3600", "vary": "accept\r\nvary: *"},
        {"cache_control": "max-age=3600", "vary": "*\r\nvary: accept"},
        {"cache_control": "max-age=3600", "age": "3600"},
        {"cache_control": "max-age=3600", "age": "9" * 400},
        {"cache_control": "max-age=3600", "date": "Thu, 01 Jan 1970 00:00:00 GMT"},
    ],
    ids=repr,
)
def test_what_a_page_does_not_allow_is_not_kept(
    fetch: Fetch, web_with: WebWith, headers: dict[str, str]
) -> None:
    web, server = web_with(answering(page(**headers)))
    store: dict[str, Any] = {}
    runtime = web.runtime(cache=PageCache(store))

    assert [fetch(runtime, URL).cached for _ in range(2)] == [False, False]
    assert (store, len(server.requests)) == ({}, 2)


@pytest.mark.parametrize(
    "headers",
    [
        {"cache_control": "private, max-age=3600"},
        {"cache_control": "MAX-AGE = 3600"},
        {"cache_control": "max-age=3600", "vary": "Accept-Encoding, Cookie\r\nvary: Origin"},
        {"cache_control": "max-age=3600", "set_cookie": "id=hunter2"},
        {"cache_control": "max-age=60, s-maxage=0"},
        {"cache_control": "max-age=3600", "expires": "0"},
    ],
    ids=repr,
)
def test_what_a_page_allows_a_single_reader_is_kept(
    fetch: Fetch, web_with: WebWith, headers: dict[str, str]
) -> None:
    web, server = web_with(answering(page(**headers)))
    store: dict[str, Any] = {}
    runtime = web.runtime(cache=PageCache(store))

    assert [fetch(runtime, URL).cached for _ in range(2)] == [False, True]
    assert "hunter2" not in repr(store)
    assert len(server.requests) == 1


def test_nobody_guesses_how_long_a_page_holds(fetch: Fetch, web_with: WebWith) -> None:
    old = formatdate(time.time() - 1000 * 24 * HOUR, usegmt=True)
    web, server = web_with(answering(page(last_modified=old), page(b"<p>New.</p>")))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)

    assert fetch(runtime, URL).body.content == "<p>New.</p>"
    assert server.requests[1].header("if-modified-since") == old


# -- asking whether it still holds -----------------------------------------------------------------


def test_a_page_that_has_not_changed_is_not_sent_again(
    fetch: Fetch, web_with: WebWith, clock: Clock
) -> None:
    unchanged = page(b"", 304, length=None, content_type=None, cache_control="max-age=3600")
    web, server = web_with(matching('"1"', caching(etag='"1"'), unchanged))
    runtime = web.runtime(cache=PageCache())
    first = fetch(runtime, URL)
    clock.forward(2 * HOUR)
    again = fetch(runtime, URL)

    assert again == first.model_copy(update={"cached": True})
    assert [request.header("if-none-match") for request in server.requests] == [None, '"1"']
    # The answer has said that it holds another hour.
    clock.forward(HOUR - 60)
    assert fetch(runtime, URL).cached
    assert len(server.requests) == 2
    clock.forward(120)
    assert fetch(runtime, URL).cached
    assert len(server.requests) == 3


@pytest.mark.parametrize("control", ["no-cache", "max-age=0, must-revalidate", "max-age=0"])
def test_a_page_can_ask_to_be_asked_about_every_time(
    fetch: Fetch, web_with: WebWith, control: str
) -> None:
    unchanged = page(b"", 304, length=None, content_type=None, etag='W/"1"')
    web, server = web_with(matching('W/"1"', caching(control, etag='W/"1"'), unchanged))
    runtime = web.runtime(cache=PageCache())

    assert [fetch(runtime, URL).cached for _ in range(3)] == [False, True, True]
    assert len(server.requests) == 3


def test_a_page_that_has_changed_takes_the_place_of_the_old(
    fetch: Fetch, web_with: WebWith, clock: Clock
) -> None:
    changed = caching(body=b"<p>New.</p>", etag='"2"')
    web, server = web_with(matching('"1"', caching(etag='"1"'), changed))
    store: dict[str, Any] = {}
    runtime = web.runtime(cache=PageCache(store))
    fetch(runtime, URL)
    clock.forward(2 * HOUR)
    second, third = fetch(runtime, URL), fetch(runtime, URL)

    assert (second.body.content, second.cached) == ("<p>New.</p>", False)
    assert (third.body.content, third.cached) == ("<p>New.</p>", True)
    assert (len(server.requests), len(store)) == (2, 1)


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        (caching("no-store", b"<p>New.</p>"), False),
        (page(b"<p>Gone.</p>", 404), False),
        (page(b"<p>Later.</p>", 503), True),
        (page(b"", 304, length=None, content_type=None, cache_control="no-store"), False),
    ],
    ids=["no-store", "404", "503", "304 no-store"],
)
def test_an_old_page_goes_when_it_holds_no_more(
    fetch: Fetch, web_with: WebWith, answer: bytes, stays: bool
) -> None:
    web, _ = web_with(matching('"1"', caching("no-cache", etag='"1"'), answer))
    store: dict[str, Any] = {}
    runtime = web.runtime(cache=PageCache(store))
    fetch(runtime, URL)
    second = fetch(runtime, URL)

    assert second.cached == answer.startswith(b"HTTP/1.1 304")
    assert bool(store) == stays


def test_a_304_about_another_version_leads_to_a_plain_request(
    fetch: Fetch, web_with: WebWith
) -> None:
    unchanged = page(b"", 304, length=None, content_type=None, etag='"9"')
    web, server = web_with(matching('"1"', caching("no-cache", etag='"1"'), unchanged))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)
    second = fetch(runtime, URL)

    assert (second.status_code, second.cached) == (200, False)
    sent = [request.header("if-none-match") for request in server.requests]
    assert sent == [None, '"1"', None]


def test_a_304_that_takes_a_needed_header_away_leads_to_a_plain_request(
    fetch: Fetch, web_with: WebWith
) -> None:
    unchanged = page(
        b"", 304, length=None, content_type=None, cache_control='no-cache="content-type, date"'
    )
    web, server = web_with(matching('"1"', caching("no-cache", etag='"1"'), unchanged))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)
    second = fetch(runtime, URL)

    assert (second.body.content, second.cached) == ("<p>Hello.</p>", False)
    assert len(server.requests) == 3


def test_a_304_leaves_its_connection_to_the_next(web_with: WebWith) -> None:
    unchanged = page(b"", 304, length=None, content_type=None)
    web, server = web_with(matching('"1"', caching("no-cache", etag='"1"'), unchanged))
    runtime = web.runtime(cache=PageCache())

    assert [runtime.fetch(URL).cached for _ in range(4)] == [False, True, True, True]
    assert server.connections == 1


def test_a_304_that_nobody_asked_for_stays_what_it_is(
    fetch: Fetch, web_with: WebWith, clock: Clock
) -> None:
    unasked = page(b"", 304, length=None, content_type=None)
    web, _ = web_with(answering(caching(), unasked))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)
    clock.forward(2 * HOUR)
    second = fetch(runtime, URL)

    assert (second.status_code, second.body.content, second.cached) == (304, "", False)


def test_a_stale_page_does_not_stand_in_for_a_server_that_fails(
    fetch: Fetch, web_with: WebWith, clock: Clock
) -> None:
    web, _ = web_with(answering_once(caching(etag='"1"')), answering_once(b""))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)
    clock.forward(2 * HOUR)

    assert failure(lambda: fetch(runtime, URL)).code == "WEB_PROVIDER_ERROR"


def test_an_etag_that_cannot_be_sent_back_is_not(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(caching("no-cache", etag='"\xe9"')))
    runtime = web.runtime(cache=PageCache())
    fetch(runtime, URL)

    assert not fetch(runtime, URL).cached
    assert [request.header("if-none-match") for request in server.requests] == [None, None]


# -- whole bodies only -----------------------------------------------------------------------------


def test_a_page_over_the_limit_is_not_kept(fetch: Fetch, web_with: WebWith) -> None:
    chunked = b"1000\r\n" + b"x" * 0x1000 + b"\r\n0\r\n\r\n"
    answer = caching(body=chunked, length=None, transfer_encoding="chunked")
    web, server = web_with(*[answering_once(answer)] * 2)
    runtime = web.runtime(cache=PageCache(), max_response_bytes=1000)
    first, second = fetch(runtime, URL), fetch(runtime, URL)

    assert first.truncated
    assert (second.cached, len(server.requests)) == (False, 2)


@pytest.mark.parametrize("length", [100, None], ids=["broken off", "not delimited"])
def test_a_body_that_may_be_cut_is_not_kept(
    fetch: Fetch, web_with: WebWith, length: int | None
) -> None:
    web, server = web_with(
        answering_once(caching(length=length)), answering(page(b"<p>All of it.</p>"))
    )
    runtime = web.runtime(cache=PageCache())
    if length is None:
        assert fetch(runtime, URL).body.content == "<p>Hello.</p>"
    else:
        failure(lambda: fetch(runtime, URL))

    assert fetch(runtime, URL).body.content == "<p>All of it.</p>"
    assert len(server.requests) == 2


def test_a_part_of_a_page_is_not_kept(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(caching(status=206, content_range="bytes 0-12/99")))
    runtime = web.runtime(cache=PageCache())

    assert [fetch(runtime, URL).cached for _ in range(2)] == [False, False]
    assert len(server.requests) == 2


def test_a_smaller_limit_holds_for_what_another_provider_kept(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    chunked = b"1000\r\n" + b"x" * 0x1000 + b"\r\n0\r\n\r\n"
    server = serve(answering(caching(body=chunked, length=None, transfer_encoding="chunked")))
    cache = PageCache()
    whole = fetch(lenient(cache), server.url)
    cut = fetch(lenient(cache, max_response_bytes=1000), server.url)

    assert (len(whole.body.content), whole.truncated) == (0x1000, False)
    assert (len(cut.body.content), cut.truncated, cut.cached) == (1000, True, True)
    assert len(server.requests) == 1


# -- for whom --------------------------------------------------------------------------------------


def lenient(cache: PageCache, **settings: Any) -> WebRuntime:
    """Return a runtime that reaches loopback by itself, without a resolver of a test."""
    settings.setdefault("allow_private_hosts", True)
    runtime = WebRuntime()
    runtime.register_fetch_provider(HttpFetchProvider(cache=cache, **settings))
    return runtime


def test_providers_of_one_kind_share_what_is_kept(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    server, cache = serve(answering(caching())), PageCache()
    fetch(lenient(cache), server.url)

    assert fetch(lenient(cache), server.url).cached
    assert len(server.requests) == 1


def test_what_a_lenient_provider_kept_is_not_for_a_strict_one(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    server, cache = serve(answering(caching())), PageCache()
    fetch(lenient(cache), server.url)
    strict = lenient(cache, allow_private_hosts=False)

    assert failure(lambda: fetch(strict, server.url)).code == "WEB_BLOCKED_URL"


def test_what_came_by_a_route_of_its_own_stays_with_it(fetch: Fetch, web_with: WebWith) -> None:
    cache = PageCache()
    inside, _ = web_with(answering(caching(body=b"<p>Inside.</p>")))
    outside, _ = web_with(answering(caching(body=b"<p>Outside.</p>")))
    within, without = inside.runtime(cache=cache), outside.runtime(cache=cache)

    for _ in range(2):
        assert fetch(within, URL).body.content == "<p>Inside.</p>"
        assert fetch(without, URL).body.content == "<p>Outside.</p>"


def test_the_policy_on_sites_holds_for_what_is_kept(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    server, cache = serve(answering(caching())), PageCache()
    fetch(lenient(cache), server.url)

    for settings in ({"deny_domains": "127.0.0.1"}, {"allow_domains": "ok.example"}):
        error = failure(lambda settings=settings: fetch(lenient(cache, **settings), server.url))
        assert error.code == "WEB_BLOCKED_URL"
    url = server.url.replace("://", "://me:secret@")
    assert failure(lambda: fetch(lenient(cache), url)).code == "WEB_BLOCKED_URL"


def test_a_kept_redirect_is_checked_like_one_that_comes(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    moved = caching(body=b"", status=301, location="/secret/page")
    server, cache = serve(answering(moved, caching())), PageCache()
    fetch(lenient(cache), server.url)
    careful = lenient(cache, deny_domains="127.0.0.1/secret")

    assert failure(lambda: fetch(careful, server.url)).code == "WEB_REDIRECT_BLOCKED"
    assert len(server.requests) == 2


def test_a_page_that_varies_is_kept_for_each_reader(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    def script(peer: Peer) -> None:
        while (seen := peer.request()) is not None:
            peer.send(caching(body=str(seen.header("user-agent")).encode(), vary="User-Agent"))

    server, cache = serve(script), PageCache()
    readers = {name: lenient(cache, user_agent=name) for name in ("one/1", "two/2")}

    for _ in range(2):
        for name, runtime in readers.items():
            assert fetch(runtime, server.url).body.content == name
    assert len(server.requests) == 2


# -- stores ----------------------------------------------------------------------------------------


def test_a_store_that_fails_is_left_aside(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(caching(etag='"1"')))
    cache = PageCache(Failing())
    runtime = web.runtime(cache=cache)

    assert cache.fault is None
    assert [fetch(runtime, URL).cached for _ in range(2)] == [False, False]
    assert cache.fault == "the page cache failed (OSError) and was left aside"
    assert len(server.requests) == 2


@pytest.mark.parametrize("change", ["junk", {"status": "200"}, {"url": "http://else.example/"}])
def test_what_somebody_else_put_into_the_store_is_not_believed(
    fetch: Fetch, web_with: WebWith, change: Any
) -> None:
    web, server = web_with(answering(caching()))
    store: dict[str, Any] = {}
    runtime = web.runtime(cache=PageCache(store))
    fetch(runtime, URL)
    ((key, data),) = store.items()
    store[key] = {**data, **change} if isinstance(change, dict) else change

    assert fetch(runtime, URL).cached is False
    assert len(server.requests) == 2


def test_a_store_outlives_its_provider(fetch: Fetch, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(caching()))
    store: dict[str, Any] = {}
    fetch(lenient(PageCache(store)), server.url)
    again: dict[str, Any] = pickle.loads(pickle.dumps(store))

    assert fetch(lenient(PageCache(again)), server.url).cached
    assert len(server.requests) == 1


def test_a_store_may_take_its_time(web_with: WebWith) -> None:
    class Slow(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            assert hurry.wait(20)
            return super().get(key, default)

    hurry = threading.Event()
    web, server = web_with(answering(caching()))
    error = failure(lambda: web.runtime(cache=PageCache(Slow())).fetch(URL, timeout=0.05))
    hurry.set()

    assert error.code == "WEB_TIMEOUT"
    assert server.requests == []


def test_memory_holds_the_pages_that_were_used_last(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(caching()))
    runtime = web.runtime(cache=PageCache(max_entries=2))
    for path in ("a", "b", "a", "c"):
        fetch(runtime, URL + path)

    assert [fetch(runtime, URL + path).cached for path in ("a", "c", "b")] == [True, True, False]


def test_memory_holds_so_many_bytes_at_most(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(caching(body=b"x" * 400)))
    runtime = web.runtime(cache=PageCache(max_bytes=1000))
    for path in ("a", "b", "b", "c"):
        fetch(runtime, URL + path)
    assert [fetch(runtime, URL + path).cached for path in ("b", "c", "a")] == [True, True, False]

    tiny = web.runtime(cache=PageCache(max_bytes=399))
    assert [fetch(tiny, URL).cached for _ in range(2)] == [False, False]


def test_threads_share_a_cache(web_with: WebWith) -> None:
    web, server = web_with(answering(caching()))
    runtime = web.runtime(cache=PageCache(max_entries=3))
    wrong: list[Any] = []

    def work() -> None:
        for number in range(30):
            result = runtime.fetch(f"{URL}{number % 5}")
            if (result.url, result.body.content) != (f"{URL}{number % 5}", "<p>Hello.</p>"):
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert wrong == []
    assert 5 <= len(server.requests) <= 60


def test_a_pickled_provider_takes_its_store_along_but_not_its_memory(
    fetch: Fetch, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(caching()))
    for store, is_kept in ((None, False), ({}, True)):
        provider = HttpFetchProvider(allow_private_hosts=True, cache=PageCache(store))
        runtime, twin = WebRuntime(), WebRuntime()
        runtime.register_fetch_provider(provider)
        fetch(runtime, server.url)
        twin.register_fetch_provider(pickle.loads(pickle.dumps(provider)))

        assert fetch(twin, server.url).cached is is_kept


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_does_not_wait_for_its_parents_store() -> None:
    class Held(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            if os.getpid() != parent:
                return None
            reading.set()
            return done.wait(20) and None

    parent, reading, done = os.getpid(), threading.Event(), threading.Event()
    cache = PageCache(Held())
    reader = threading.Thread(target=lambda: cache.asking(URL, {}, scope=""))
    reader.start()
    assert reading.wait(20)
    child = os.fork()
    if child == 0:
        os._exit(0 if cache.asking(URL, {}, scope="").kept is None else 1)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    done.set()
    reader.join(20)

    assert ended == 0


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{"max_entries": 0}, {"max_entries": True}, {"max_bytes": 1.5}, {"store": "redis"}],
    ids=repr,
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(settings))):
        PageCache(**settings)


def test_a_provider_takes_a_page_cache_only() -> None:
    provider = HttpFetchProvider(cache={})  # type: ignore[arg-type]

    assert provider.unavailable_reason() == "cache must be a PageCache, or None, not dict"


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dsh_web.page_rules")
    monkeypatch.delattr("dsh_web.page_rules", raising=False)
    monkeypatch.setitem(sys.modules, "hishel", None)

    with pytest.raises(InvalidRequestError, match=r"hishel.*pip install \"dsh-web\[cache\]\""):
        PageCache()


def test_nobody_pays_for_the_rules_who_keeps_nothing(
    run_script: Callable[..., Any],
) -> None:
    done = run_script(
        "import sys, dsh_web; dsh_web.HttpFetchProvider(); dsh_web.PageCache;"
        "assert 'hishel' not in sys.modules"
    )

    assert done.returncode == 0, done.stderr


# -- hostile headers -------------------------------------------------------------------------------

odd = st.one_of(
    st.text(st.characters(max_codepoint=255), max_size=30),
    st.from_regex(r"(max-age|no-store|private|no-cache)?[= \",0-9]{0,30}", fullmatch=True),
    st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,3} [A-Z][a-z]{2} [0-9]{1,6} [0-9:]{0,12} (GMT|[+-]\d+)"),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["date", "Content-Type, ETag"]).map('max-age=9, no-cache="{}"'.format),
)
names = ["age", "cache-control", "date", "etag", "expires", "last-modified", "vary"]
heads = st.builds(
    HttpHead,
    st.sampled_from([200, 204, 206, 301, 304, 404, 500]),
    st.dictionaries(st.sampled_from(names), odd),
    st.just(1_800_000_000.0),
)


@given(heads, heads)
def test_no_header_that_a_server_can_write_breaks_the_rules(
    first: HttpHead, second: HttpHead
) -> None:
    kept = Asking(URL, {}, None).to_keep(first)
    if kept is None:
        return
    assert Kept.of_data(kept.as_data()) == kept
    asking = Asking(URL, {}, kept)
    assert asking.fresh is not None or asking.conditions
    if asking.fresh is None:
        refreshed = asking.refreshed(second) if second.status == 304 else None
        if refreshed is not None:
            asking.worth_keeping(refreshed)
        asking.to_keep(second)
