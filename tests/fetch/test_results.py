"""What a fetched page becomes: statuses, redirects, types, caps."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from dsh_web import HttpFetchProvider, InvalidRequestError, WebFetchResult, WebRuntime

from ..io.raw_server import RawServer, answering, answering_once, resetting, sending
from .conftest import PUBLIC, Fetch, Web, failure, page

WebWith = Callable[..., tuple[Web, RawServer]]


def fetched(
    fetch: Fetch,
    web_with: WebWith,
    *answers: bytes,
    url: str = "http://ok.example/",
    **settings: Any,
) -> WebFetchResult:
    web, _ = web_with(answering(*answers))
    return fetch(web.runtime(**settings), url)


def refused(
    fetch: Fetch,
    web_with: WebWith,
    *answers: bytes,
    url: str = "http://ok.example/",
    **settings: Any,
) -> Any:
    return failure(lambda: fetched(fetch, web_with, *answers, url=url, **settings))


# -- statuses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status", [200, 201, 203, 300, 306, 400, 401, 403, 404, 410, 418, 429, 500, 503]
)
def test_every_page_is_a_result_whatever_its_status(
    fetch: Fetch, web_with: WebWith, status: int
) -> None:
    result = fetched(fetch, web_with, page(b"<h1>Not here</h1>", status))

    assert (result.status_code, result.body.kind) == (status, "html")
    assert result.body.content == "<h1>Not here</h1>"
    assert not result.truncated


@pytest.mark.parametrize("status", [204, 205, 304])
def test_a_status_without_a_body_is_an_empty_result(
    fetch: Fetch, web_with: WebWith, status: int
) -> None:
    result = fetched(fetch, web_with, page(b"", status, content_type=None))

    assert (result.status_code, result.body.kind, result.body.content) == (status, "text", "")


@pytest.mark.parametrize("status", [200, 404])
def test_an_empty_body_needs_no_type(fetch: Fetch, web_with: WebWith, status: int) -> None:
    result = fetched(fetch, web_with, page(b"", status, content_type=None))

    assert (result.status_code, result.body.content) == (status, "")


def test_a_part_that_nobody_asked_for_is_marked_as_one(fetch: Fetch, web_with: WebWith) -> None:
    result = fetched(fetch, web_with, page(b"half", 206, content_range="bytes 0-3/8"))

    assert (result.status_code, result.truncated) == (206, True)


def test_early_hints_are_passed_over(fetch: Fetch, web_with: WebWith) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n"

    assert fetched(fetch, web_with, hints + page()).status_code == 200


def test_a_switch_of_protocols_is_a_failure(fetch: Fetch, web_with: WebWith) -> None:
    switched = (
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
    )

    assert refused(fetch, web_with, switched).code == "WEB_PROVIDER_ERROR"


@pytest.mark.parametrize("answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n"])
def test_what_is_no_http_is_a_failure(fetch: Fetch, web_with: WebWith, answer: bytes) -> None:
    web, _ = web_with(answering_once(answer))

    assert failure(lambda: fetch(web.runtime(), "http://ok.example/")).code == "WEB_PROVIDER_ERROR"


def test_a_connection_that_breaks_in_the_body_is_a_failure(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(resetting(page(b"<p>", length=1000)))

    assert failure(lambda: fetch(web.runtime(), "http://ok.example/")).code == "WEB_PROVIDER_ERROR"


# -- redirects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_within_the_origin_are_followed(
    fetch: Fetch, web_with: WebWith, status: int
) -> None:
    web, server = web_with(answering(page(b"", status, location="../b?c#d"), page()))
    result = fetch(web.runtime(), "http://ok.example/x/a")

    assert (result.url, result.status_code) == ("http://ok.example/b?c", 200)
    assert [request.target for request in server.requests] == ["/x/a", "/b?c"]


@pytest.mark.parametrize(
    "location",
    [
        "http://else.example/",
        "http://sub.ok.example/",
        "https://ok.example/",
        "http://ok.example:8080/",
        "//else.example/",
        "http://93.184.216.34/",
    ],
)
def test_a_redirect_to_another_origin_is_blocked_and_names_it(
    fetch: Fetch, web_with: WebWith, location: str
) -> None:
    web, server = web_with(answering(page(b"", 302, location=location)))
    error = failure(lambda: fetch(web.runtime(), "http://ok.example/"))

    assert error.code == "WEB_REDIRECT_BLOCKED"
    assert location.removeprefix("//") in error.message
    assert (len(server.requests), web.looked_up) == (1, ["ok.example"])


def test_a_redirect_to_the_same_origin_in_another_spelling_is_followed(
    fetch: Fetch, web_with: WebWith
) -> None:
    moved = page(b"", 302, location="HTTP://OK.Example.:80/b")

    assert fetched(fetch, web_with, moved, page()).url == "http://ok.example/b"


@pytest.mark.parametrize("number", [0, 1, 5])
def test_as_many_redirects_are_followed_as_are_allowed(
    fetch: Fetch, web_with: WebWith, number: int
) -> None:
    moved = page(b"", 302, location="/next")

    result = fetched(fetch, web_with, *[moved] * number, page(), max_redirects=number)
    assert result.status_code == 200


@pytest.mark.parametrize("number", [0, 1, 5])
def test_one_more_is_blocked(fetch: Fetch, web_with: WebWith, number: int) -> None:
    web, server = web_with(answering(page(b"", 302, location="/next")))
    error = failure(lambda: fetch(web.runtime(max_redirects=number), "http://ok.example/"))

    assert (error.code, error.status_code) == ("WEB_REDIRECT_BLOCKED", 302)
    assert len(server.requests) == number + 1


def test_five_are_allowed_by_default(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page(b"", 302, location="/")))

    failure(lambda: fetch(web.runtime(), "http://ok.example/"))
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_that_leads_nowhere_is_a_page_like_any_other(
    fetch: Fetch, web_with: WebWith, status: int
) -> None:
    assert fetched(fetch, web_with, page(b"moved", status)).body.content == "moved"


@pytest.mark.parametrize(
    "headers", [{"refresh": "0; url=/next"}, {"link": "</next>; rel=canonical"}]
)
def test_only_location_is_a_redirect(
    fetch: Fetch, web_with: WebWith, headers: dict[str, str]
) -> None:
    assert fetched(fetch, web_with, page(**headers)).url == "http://ok.example/"


def test_the_body_of_a_redirect_may_be_anything(fetch: Fetch, web_with: WebWith) -> None:
    moved = page(b"\x89PNG", 302, content_type="image/png", location="/b")

    assert fetched(fetch, web_with, moved, page()).status_code == 200


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/html", "html"),
        ("TEXT/HTML; charset=UTF-8", "html"),
        ("text/html;", "html"),
        ("application/xhtml+xml", "html"),
        ("text/plain", "text"),
        ("text/markdown; variant=GFM", "text"),
        ("text/css", "text"),
        ("application/json", "text"),
        ("application/ld+json", "text"),
        ("application/problem+json; charset=utf-8", "text"),
        ("text/xml", "text"),
        ("application/xml", "text"),
        ("application/rss+xml", "text"),
        ("image/svg+xml", "text"),
        ("text/html, text/html", "html"),
    ],
)
def test_text_is_read_by_its_type(
    fetch: Fetch, web_with: WebWith, content_type: str, kind: str
) -> None:
    result = fetched(fetch, web_with, page(b"<a>1</a>", content_type=content_type))

    assert (result.body.kind, result.body.content) == (kind, "<a>1</a>")


@pytest.mark.parametrize(
    "content_type",
    [
        None, "", "image/png", "application/octet-stream", "video/mp4", "application/zip", "html",
        "texthtml", "multipart/mixed; boundary=x", "application/javascript", "*/*", "text/",
        "application/jsonp", "application/x+jsonx",
    ],
)  # fmt: skip
def test_everything_else_is_refused_with_its_type(
    fetch: Fetch, web_with: WebWith, content_type: str | None
) -> None:
    error = refused(fetch, web_with, page(b"x" * 10, content_type=content_type))

    assert (error.code, error.status_code) == ("WEB_UNSUPPORTED_CONTENT_TYPE", 200)
    assert "only HTML, text, JSON" in error.message


def test_a_refused_body_is_not_read(fetch: Fetch, web_with: WebWith) -> None:
    head = page(b"", content_type="image/png", length=100_000_000)
    web, server = web_with(sending(lambda: iter([head] + [b"x" * 65_536] * 1500)))
    error = failure(lambda: fetch(web.runtime(), "http://ok.example/"))

    assert error.code == "WEB_UNSUPPORTED_CONTENT_TYPE"
    server.wait_for_hang_up()
    assert server.count("answer") == 0


# -- caps ------------------------------------------------------------------------------------------


def test_a_declared_size_over_the_cap_is_refused_unread(fetch: Fetch, web_with: WebWith) -> None:
    error = refused(fetch, web_with, page(b"x" * 101), max_response_bytes=100)

    assert (error.code, error.status_code) == ("WEB_FETCH_TOO_LARGE", 200)
    assert "101 bytes" in error.message
    assert "max_response_bytes" in error.message


def test_five_megabytes_are_the_default_cap(fetch: Fetch, web_with: WebWith) -> None:
    error = refused(fetch, web_with, page(b"x", length=5_000_001))

    assert error.code == "WEB_FETCH_TOO_LARGE"


def test_exactly_the_cap_is_whole(fetch: Fetch, web_with: WebWith) -> None:
    result = fetched(fetch, web_with, page(b"x" * 100), max_response_bytes=100)

    assert (len(result.body.content), result.truncated) == (100, False)


@pytest.mark.parametrize(("size", "is_cut"), [(100, False), (101, True), (5000, True)])
def test_a_body_of_unknown_size_is_cut_at_the_cap(
    fetch: Fetch, web_with: WebWith, size: int, is_cut: bool
) -> None:
    web, _ = web_with(answering_once(page(b"x" * size, length=None)))
    result = fetch(web.runtime(max_response_bytes=100), "http://ok.example/")

    assert (result.body.content, result.truncated) == ("x" * 100, is_cut)


def test_a_body_without_end_is_cut_and_hung_up_on(fetch: Fetch, web_with: WebWith) -> None:
    def endless() -> Any:
        yield page(b"", length=None)
        while True:
            yield b"x" * 65_536

    web, server = web_with(sending(endless))
    result = fetch(web.runtime(max_response_bytes=200_000), "http://ok.example/")

    assert (len(result.body.content), result.truncated) == (100_000, True)
    server.wait_for_hang_up()


@pytest.mark.parametrize(("size", "is_cut"), [(99, False), (100, False), (101, True)])
def test_characters_are_counted_after_decoding(
    fetch: Fetch, web_with: WebWith, size: int, is_cut: bool
) -> None:
    body = ("ä" * size).encode()
    result = fetched(fetch, web_with, page(body), max_body_chars=100)

    assert (result.body.content, result.truncated) == ("ä" * min(size, 100), is_cut)


def test_half_a_character_at_the_cut_is_left_out(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering_once(page("äää".encode(), length=None)))
    result = fetch(web.runtime(max_response_bytes=5), "http://ok.example/")

    assert (result.body.content, result.truncated) == ("ää", True)


# -- domains ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "url", "said"),
    [
        (
            {"allow_domains": ["ok.example"]},
            "http://else.example/",
            "only these sites are allowed: ok.example",
        ),
        ({"allow_domains": []}, "http://ok.example/", "only these sites are allowed: none"),
        ({"allow_domains": "ok.example/docs"}, "http://ok.example/", "ok.example/docs"),
        ({"deny_domains": ["ok.example"]}, "http://www.ok.example/", "ok.example is not allowed"),
        (
            {"deny_domains": ".example", "allow_domains": ["ok.example"]},
            "http://ok.example/",
            ".example is not allowed",
        ),
    ],
)
def test_a_page_outside_of_the_policy_is_blocked_before_any_look_up(
    fetch: Fetch, settings: dict[str, Any], url: str, said: str
) -> None:
    web = Web()
    error = failure(lambda: fetch(web.runtime(**settings), url))

    assert error.code == "WEB_BLOCKED_URL"
    assert said in error.message
    assert (web.looked_up, web.dialled) == ([], [])


def test_a_page_inside_of_it_is_fetched(fetch: Fetch, web_with: WebWith) -> None:
    result = fetched(
        fetch,
        web_with,
        page(),
        url="http://www.ok.example/docs/a",
        allow_domains=["ok.example/docs"],
    )
    assert result.status_code == 200


def test_a_redirect_out_of_it_is_blocked(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page(b"", 302, location="/private/"), page()))
    runtime = web.runtime(deny_domains=["ok.example/private"])

    assert failure(lambda: fetch(runtime, "http://ok.example/")).code == "WEB_REDIRECT_BLOCKED"
    assert len(server.requests) == 1


def test_something_that_is_no_domain_is_refused_at_once() -> None:
    with pytest.raises(InvalidRequestError, match="not a domain"):
        HttpFetchProvider(allow_domains=["not a domain"])


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_url_length": 0}, "max_url_length"),
        ({"max_response_bytes": -1}, "max_response_bytes"),
        ({"max_body_chars": True}, "max_body_chars"),
        ({"max_redirects": -1}, "max_redirects"),
        ({"timeout": 0}, "timeout"),
        ({"max_connections_per_host": 0}, "max_connections_per_host"),
        ({"user_agent": "a\r\nx: y"}, "user_agent"),
        ({"user_agent": " "}, "user_agent"),
    ],
)
def test_settings_that_make_no_sense_make_it_unavailable(
    settings: dict[str, Any], said: str
) -> None:
    provider = HttpFetchProvider(**settings)
    runtime = WebRuntime(fetch_provider="http")
    runtime.register_fetch_provider(provider)

    assert not provider.available()
    error = failure(lambda: runtime.fetch("http://ok.example/"))
    assert error.code == "WEB_PROVIDER_CONFIGURED_UNAVAILABLE"
    assert said in error.message


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_keeps_the_settings(twin: Callable[[Any], Any]) -> None:
    provider = HttpFetchProvider(max_redirects=2, allow_domains=["ok.example"])
    copied = twin(provider)

    assert (copied.max_redirects, copied.allow_domains) == (2, ("ok.example",))
    assert copied.available()
    runtime = WebRuntime()
    runtime.register_fetch_provider(copied)
    assert failure(lambda: runtime.fetch("http://else.example/")).code == "WEB_BLOCKED_URL"


def test_the_long_url_is_refused_with_both_lengths(fetch: Fetch) -> None:
    error = failure(lambda: fetch(Web().runtime(), "http://ok.example/" + "a" * 2031))

    assert error.code == "WEB_INVALID_URL"
    assert "2049 characters, of which 2048 are allowed" in error.message


def test_the_same_runtime_goes_on_after_any_failure(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(page(content_type="image/png")), answering(page()))
    runtime = web.runtime()
    failure(lambda: fetch(runtime, "http://ok.example/"))
    failure(lambda: fetch(runtime, "http://127.0.0.1/"))

    assert fetch(runtime, "http://ok.example/").status_code == 200
    assert {address for address, _ in web.dialled} == {PUBLIC}
