"""Parallel's Search over a real connection: what leaves the process, and what comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dsh_web import ParallelSearchProvider, WebRuntime, WebSearchResult
from tests.core.parallel import found_body, hit

from .raw_server import RawServer, answering, http_answer
from .support import KEY, Call

OK = http_answer(json.dumps(found_body(hit(1, "One.", "Two."), hit(2))).encode())


def runtime_on(server: RawServer, **settings: Any) -> WebRuntime:
    runtime = WebRuntime()
    provider = ParallelSearchProvider(api_key=KEY, base_url=server.url, **settings)
    runtime.register_search_provider(provider)
    return runtime


def bodies(server: RawServer) -> list[Any]:
    return [json.loads(request.body) for request in server.requests]


def test_a_search_sends_its_key_in_the_vendors_header_alone(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(OK))
    result = call(runtime_on(server), "tidal power")

    (request,) = server.requests
    assert ("POST", "/v1/search") == (request.head.split(" ")[0], request.target)
    assert (KEY, None) == (request.header("x-api-key"), request.header("authorization"))
    assert ["tidal power"] == bodies(server)[0]["search_queries"]
    assert ("One.", "Two.") == result.sources[0].excerpts


def test_a_window_is_counted_from_the_clock(call: Call, serve: Callable[..., RawServer]) -> None:
    server = serve(answering(OK))
    before = datetime.now(UTC)
    result = call(runtime_on(server), recency="week")

    sent = bodies(server)[0]["advanced_settings"]["source_policy"]["after_date"]
    week = timedelta(days=7)
    assert (before - week).date() <= date.fromisoformat(sent) <= (datetime.now(UTC) - week).date()
    assert (
        "Parallel only approximates the filter recency: only pages published since the first day "
        "of that time are asked for",
    ) == result.warnings


def test_a_search_that_was_refused_for_the_moment_is_sent_again(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    busy = http_answer(b"{}", status=503, **{"retry-after-ms": "1"})
    left = [busy, OK]

    def script(peer: Any) -> None:
        while peer.request() is not None and peer.send(left.pop(0)):
            pass

    server = serve(script)
    result = call(runtime_on(server))

    assert 2 == len(result.sources)
    assert 2 == len(server.requests)


@pytest.fixture(params=["sync", "async"])
def search_many(request: pytest.FixtureRequest) -> Callable[..., WebSearchResult]:
    def search_many(runtime: WebRuntime, queries: list[str], **fields: Any) -> WebSearchResult:
        if request.param == "async":
            return asyncio.run(runtime.asearch_many(queries, **fields))
        return runtime.search_many(queries, **fields)

    return search_many


def test_several_queries_are_as_many_requests(
    search_many: Callable[..., WebSearchResult], serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(OK))
    search_many(runtime_on(server), ["tides", "waves"])

    sent = sorted(body["search_queries"] for body in bodies(server))
    assert [["tides"], ["waves"]] == sent


def test_queries_that_are_asked_jointly_are_one_request(
    search_many: Callable[..., WebSearchResult], serve: Callable[..., RawServer]
) -> None:
    server = serve(answering(OK))
    result = search_many(
        runtime_on(server, joint_queries=True), ["tides", "waves"], objective="To compare."
    )

    (body,) = bodies(server)
    assert (["tides", "waves"], "To compare.") == (body["search_queries"], body["objective"])
    assert ["https://site1.example/", "https://site2.example/"] == [s.url for s in result.sources]
