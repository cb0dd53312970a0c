"""How far several calls have come, told by a bar or by a function."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import pytest

from dsh_web import (
    InvalidRequestError,
    PerplexitySearchProvider,
    ProviderError,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
)
from dsh_web.server import LoopbackServer

QUERIES = ["one", "two", "three"]


class Provider:
    id = "stub"

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Any:
        yield from ()
        if request.query == "bad":
            raise ProviderError("no", provider=self.id)
        source = WebSearchSource(url=f"https://{request.query}.example/")
        return WebSearchResult(sources=(source,), provider=self.id)


@pytest.fixture
def runtime() -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(Provider())
    return runtime


class Seen(list[tuple[int, int]]):
    def __call__(self, done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.append((done, total))


async def test_a_function_hears_of_every_query_in_the_calling_thread(runtime: WebRuntime) -> None:
    for seen, call in (
        (Seen(), lambda seen: runtime.search_many(QUERIES, progress=seen)),
        (Seen(), lambda seen: runtime.search_each(QUERIES, progress=seen)),
        (Seen(), lambda seen: runtime.asearch_many(QUERIES, progress=seen)),
        (Seen(), lambda seen: runtime.asearch_each(QUERIES, progress=seen)),
    ):
        outcome = call(seen)
        if not isinstance(outcome, WebSearchResult | tuple):
            await outcome
        assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


async def test_a_failed_query_counts_as_done_where_errors_are_kept(runtime: WebRuntime) -> None:
    sync, native = Seen(), Seen()

    runtime.search_each(["one", "bad"], keep_errors=True, progress=sync)
    await runtime.asearch_each(["one", "bad"], keep_errors=True, progress=native)

    assert sync == native == [(0, 2), (1, 2), (2, 2)]


async def test_one_query_and_one_repeated_query_count_once(runtime: WebRuntime) -> None:
    seen = Seen()

    runtime.search_each(["one", "one"], progress=seen)
    await runtime.asearch_each(["one"], progress=seen)

    assert seen == [(0, 1), (1, 1)] * 2


async def test_queries_that_go_out_together_are_done_together() -> None:
    sync, native = Seen(), Seen()
    with LoopbackServer() as server:
        runtime = WebRuntime()
        runtime.register_search_provider(
            PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
        )
        runtime.search_many(["sort a list", "open a file"], progress=sync)
        await runtime.asearch_many(["sort a list", "open a file"], progress=native)

    assert sync == native == [(0, 2), (1, 2), (2, 2)]


def test_what_a_progress_function_raises_reaches_the_caller(runtime: WebRuntime) -> None:
    def broken(done: int, total: int) -> None:
        if done:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        runtime.search_each(QUERIES, progress=broken)
    assert runtime.search("one").sources  # it still works


async def test_what_a_progress_function_raises_reaches_the_awaiting_caller(
    runtime: WebRuntime,
) -> None:
    def broken(done: int, total: int) -> None:
        if done:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await runtime.asearch_each(QUERIES, progress=broken)
    assert (await runtime.asearch("one")).sources


def test_true_draws_a_bar_that_ends_full(
    runtime: WebRuntime, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime.search_each(QUERIES, progress=True)

    assert "3/3" in capsys.readouterr().err


def test_a_bar_without_tqdm_is_an_error_that_says_what_to_do(
    runtime: WebRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def imported(name: str, package: str | None = None) -> Any:
        if name.startswith("tqdm"):
            raise ModuleNotFoundError(name="tqdm")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", imported)

    with pytest.raises(InvalidRequestError, match=r"dsh-web\[notebook\]"):
        runtime.search_each(QUERIES, progress=True)
    with pytest.raises(InvalidRequestError, match="True, False or a function"):
        runtime.search_each(QUERIES, progress=3)  # type: ignore[arg-type]
    assert len(runtime.search_each(QUERIES)) == 3


async def test_pages_are_counted_too() -> None:
    from dsh_web import HttpFetchProvider

    sync, native = Seen(), Seen()
    with LoopbackServer() as server:
        runtime = WebRuntime()
        runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
        urls = [f"{server.url}/a", f"{server.url}/b", f"{server.url}/a"]
        runtime.read_pages(urls, keep_errors=True, progress=sync)
        await runtime.aread_pages(urls, keep_errors=True, progress=native)

    assert sync == native == [(0, 2), (1, 2), (2, 2)]
