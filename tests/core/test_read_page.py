"""Reading pages: fetch and conversion as one call, several of them in one call."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dsh_web import (
    CancelToken,
    InvalidRequestError,
    ProviderError,
    SelectionError,
    WebCancelledError,
    WebError,
    WebFetchRequest,
    WebFetchResult,
    WebPage,
    WebRuntime,
    WebTimeoutError,
)
from dsh_web._io.async_driver import AsyncDriver
from dsh_web._io.sync_driver import SyncDriver
from dsh_web.fetch_calls import PageCall
from tests.fetching import FakeFetcher, fetching, html, pdf, text

URL = "https://a.example/x"
HTML = "<title>Tides</title><body><h1>Tides</h1><p>High at noon.</p></body>"
ENDLESS = 10
"""Seconds that stand for a wait which must never be sat out."""


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call `read_page`, or `aread_page` in an event loop of its own."""

    def call(runtime: WebRuntime, *args: Any, **kwargs: Any) -> WebPage:
        if request.param == "sync":
            return runtime.read_page(*args, **kwargs)
        return asyncio.run(runtime.aread_page(*args, **kwargs))

    return call


@pytest.fixture(params=["sync", "async"])
def read_all(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call `read_pages`, or `aread_pages` in an event loop of its own."""

    def call(runtime: WebRuntime, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return runtime.read_pages(*args, **kwargs)
        return asyncio.run(runtime.aread_pages(*args, **kwargs))

    return call


def serving(*pages: Any, **settings: Any) -> WebRuntime:
    return fetching(FakeFetcher({page.url: page for page in pages}), **settings)


# -- one page --------------------------------------------------------------------------------------


def test_an_html_page_becomes_markdown_with_its_title(read):
    page = read(serving(html(URL, HTML)), URL)

    assert (page.url, page.status_code, page.kind, page.title) == (URL, 200, "html", "Tides")
    assert "High at noon." in page.text
    assert "<p>" not in page.text
    assert (page.page_count, page.truncated) == (None, False)


def test_plain_text_stays_as_it_is(read):
    page = read(serving(text(URL, "a < b\n  c")), URL)

    assert (page.kind, page.text, page.title) == ("text", "a < b\n  c", None)


def test_a_pdf_keeps_its_text_and_page_count(read):
    page = read(serving(pdf(URL, "Harbour dues", 3)), URL)

    assert (page.kind, page.text, page.page_count) == ("pdf", "Harbour dues", 3)


def test_an_http_error_status_is_a_page(read):
    page = read(serving(html(URL, "<p>Gone.</p>", status=410)), URL)

    assert (page.status_code, page.text.strip()) == (410, "Gone.")
    assert not page.is_usable


@pytest.mark.parametrize("body", [text(URL, "x" * 50), html(URL, f"<p>{'x' * 50}</p>")])
def test_a_cap_cuts_the_text_and_says_so(read, body):
    page = read(serving(body), URL, max_chars=20)

    assert len(page.text) <= 20
    assert page.truncated


def test_a_cap_that_is_not_reached_changes_nothing(read):
    page = read(serving(text(URL, "x" * 20)), URL, max_chars=20)

    assert (len(page.text), page.truncated) == (20, False)


def test_a_body_that_the_provider_cut_makes_a_truncated_page(read):
    assert read(serving(html(URL, HTML, truncated=True)), URL).truncated


def test_a_complete_request_is_taken_too(read):
    assert read(serving(text(URL, "x")), WebFetchRequest(url=URL)).text == "x"


@pytest.mark.parametrize("max_chars", [0, -1, True, 2.5])
def test_a_cap_that_is_none_is_refused(read, max_chars):
    with pytest.raises(InvalidRequestError, match="max_chars must be a whole number of 1 or more"):
        read(serving(), URL, max_chars=max_chars)


def test_a_page_reads_back_from_json():
    page = serving(pdf(URL, "Harbour dues", 3)).read_page(URL)

    assert WebPage.model_validate_json(page.model_dump_json()) == page


def test_without_a_provider_the_error_says_so(read):
    with pytest.raises(SelectionError) as caught:
        read(WebRuntime(), URL)

    assert caught.value.code == "WEB_PROVIDER_UNAVAILABLE"


def test_the_provider_that_would_fetch_can_be_asked_for():
    assert serving().fetch_provider_id() == "fake-fetch"
    with pytest.raises(SelectionError):
        WebRuntime().fetch_provider_id()


def test_a_flow_that_returns_something_else_is_a_provider_error(read):
    fetcher = FakeFetcher({URL: "not a page"})  # type: ignore[dict-item]

    with pytest.raises(ProviderError, match="returned str, not a WebFetchResult"):
        read(fetching(fetcher), URL)


# -- limits ----------------------------------------------------------------------------------------


class Converting:
    """A conversion that takes until it is released, longer than any limit below."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.release = threading.Event()

    def __call__(self, fetched: WebFetchResult) -> WebPage:
        self.started.set()
        self.release.wait(ENDLESS)
        return WebPage(url=fetched.url, status_code=200, kind="text", text="late")


@pytest.fixture
def converting() -> Iterator[Converting]:
    conversion = Converting()
    yield conversion
    conversion.release.set()


@pytest.fixture(params=["sync", "async"])
def convert(request: pytest.FixtureRequest, converting: Converting) -> Callable[..., Any]:
    """Run a call that fetches at once and then converts for long."""

    def run(cancel: CancelToken | None = None, timeout: float | None = None) -> WebPage:
        fetcher = FakeFetcher({URL: text(URL, "x")})
        call = PageCall(fetcher, WebFetchRequest(url=URL), cancel, timeout, converting)
        if request.param == "sync":
            return call.run(SyncDriver())
        return asyncio.run(call.run_async(AsyncDriver()))

    return run


def test_the_time_runs_out_during_the_conversion(convert, converting):
    with pytest.raises(WebTimeoutError, match=r"Fake fetch timed out after 0\.2 s"):
        convert(timeout=0.2)

    assert converting.started.is_set()
    assert not converting.release.is_set()


def test_a_cancel_ends_the_call_during_the_conversion(convert, converting):
    token = CancelToken()

    def cancel_once_it_converts() -> None:
        converting.started.wait(ENDLESS)
        token.cancel("enough")

    threading.Thread(target=cancel_once_it_converts).start()
    with pytest.raises(WebCancelledError) as caught:
        convert(cancel=token)

    assert str(caught.value.__cause__) == "enough"
    assert not converting.release.is_set()


async def test_the_event_loop_runs_on_during_the_conversion(converting):
    fetcher = FakeFetcher({URL: text(URL, "x")})
    call = PageCall(fetcher, WebFetchRequest(url=URL), None, None, converting)
    task = asyncio.ensure_future(call.run_async(AsyncDriver()))
    # Neither line could be passed if the conversion held the loop.
    assert await asyncio.to_thread(converting.started.wait, 10)
    converting.release.set()

    assert (await task).text == "late"


async def test_cancelling_the_task_leaves_the_conversion_behind(converting):
    fetcher = FakeFetcher({URL: text(URL, "x")})
    call = PageCall(fetcher, WebFetchRequest(url=URL), None, None, converting)
    task = asyncio.ensure_future(call.run_async(AsyncDriver()))
    assert await asyncio.to_thread(converting.started.wait, 10)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not converting.release.is_set()


def test_a_cancelled_call_reads_nothing(read):
    fetcher, token = FakeFetcher({}), CancelToken()
    token.cancel()

    with pytest.raises(WebCancelledError):
        read(fetching(fetcher), URL, cancel=token)

    assert fetcher.asked == []


# -- several pages ---------------------------------------------------------------------------------


def numbered(count: int) -> list[str]:
    return [f"https://a.example/{number}" for number in range(count)]


def test_pages_come_in_the_order_of_the_addresses(read_all):
    # The first is the last to be there.
    first_may_come = threading.Event()

    def before(url: str) -> None:
        if url.endswith("/0"):
            first_may_come.wait(ENDLESS)
        elif url.endswith("/2"):
            first_may_come.set()

    urls = numbered(3)
    fetcher = FakeFetcher({url: text(url, url) for url in urls}, before)

    assert [page.text for page in read_all(fetching(fetcher), urls)] == urls


def test_an_address_that_is_given_twice_is_read_once(read_all):
    fetcher = FakeFetcher({URL: text(URL, "x")})

    pages = read_all(fetching(fetcher), [URL, URL])

    assert [page.text for page in pages] == ["x", "x"]
    assert fetcher.asked == [URL]


def test_no_addresses_give_no_pages(read_all):
    assert read_all(serving(), []) == ()
    assert read_all(serving(), [], keep_errors=True) == ()


def test_a_lone_text_is_one_address(read_all):
    assert [page.text for page in read_all(serving(text(URL, "x")), URL)] == ["x"]


def test_no_more_pages_are_read_at_once_than_allowed(read_all):
    together = threading.Barrier(2)
    fetcher = FakeFetcher({}, lambda url: together.wait(ENDLESS))

    read_all(fetching(fetcher), numbered(6), concurrency=2)

    # Two at once, or the barrier would have broken; never three.
    assert fetcher.most_at_once == 2


def test_the_first_failure_is_raised(read_all):
    urls = numbered(3)
    pages = {url: text(url, "x") for url in urls} | {urls[1]: ProviderError("down")}

    with pytest.raises(ProviderError, match="down"):
        read_all(fetching(FakeFetcher(pages)), urls)


def test_errors_can_be_kept_in_their_places(read_all):
    urls = numbered(3)
    pages = {url: text(url, "x") for url in urls} | {urls[1]: ProviderError("down")}

    first, failed, last = read_all(fetching(FakeFetcher(pages)), urls, keep_errors=True)

    assert (first.text, last.text) == ("x", "x")
    assert isinstance(failed, WebError)
    assert str(failed) == "down"


def test_the_time_holds_for_all_pages_together(read_all):
    release = threading.Event()
    fetcher = FakeFetcher({}, lambda url: release.wait(ENDLESS))
    started = time.monotonic()

    outcomes = read_all(
        fetching(fetcher), numbered(4), concurrency=1, keep_errors=True, timeout=0.3
    )
    release.set()

    assert {outcome.code for outcome in outcomes} == {"WEB_TIMEOUT"}
    assert time.monotonic() - started < ENDLESS / 2
    # Those that came too late were not even asked for.
    assert fetcher.asked == numbered(1)


def test_a_cancel_is_raised_even_where_errors_are_kept(read_all):
    token, release = CancelToken(), threading.Event()

    def before(url: str) -> None:
        token.cancel("enough")
        release.wait(ENDLESS)

    with pytest.raises(WebCancelledError):
        read_all(fetching(FakeFetcher({}, before)), numbered(3), cancel=token, keep_errors=True)
    release.set()


@pytest.mark.parametrize("concurrency", [0, True, "4"])
def test_a_concurrency_that_is_none_is_refused(read_all, concurrency):
    with pytest.raises(InvalidRequestError, match="concurrency must be a whole number"):
        read_all(serving(), [URL], concurrency=concurrency)


def test_an_address_that_is_no_text_is_refused(read_all):
    with pytest.raises(InvalidRequestError, match="each url must be text, not int"):
        read_all(serving(), [URL, 3])
