"""Several searches in one call: together, ended together, and nothing left running."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from dsh_web import (
    CancelToken,
    PerplexitySearchProvider,
    Resolve,
    WebError,
    WebRuntime,
    WebSearchResult,
)

from .raw_server import Peer, RawServer, answering, http_answer, slow, stalling
from .support import (
    CANCEL_WITHIN,
    HANG_UP_WITHIN,
    KEY,
    OK,
    SLACK,
    assert_no_key_in,
    ended_at,
    failure,
    runtime_for,
)
from .test_cancel import Cancelling


class OneByOne(PerplexitySearchProvider):
    """Sends each query on its own, as every API does that takes one at a time."""

    most_joint_queries = 1


def runtime_on(server: RawServer, **settings: Any) -> WebRuntime:
    return runtime_for(server.url, kind=OneByOne, **settings)


class _Sync:
    name = "sync"

    def many(self, runtime: WebRuntime, *queries: str, **settings: Any) -> WebSearchResult:
        return runtime.search_many(queries, **settings)

    def each(self, runtime: WebRuntime, *queries: str, **settings: Any) -> tuple[Any, ...]:
        return runtime.search_each(queries, **settings)


class _Async:
    name = "async"

    def many(self, runtime: WebRuntime, *queries: str, **settings: Any) -> WebSearchResult:
        return asyncio.run(runtime.asearch_many(queries, **settings))

    def each(self, runtime: WebRuntime, *queries: str, **settings: Any) -> tuple[Any, ...]:
        return asyncio.run(runtime.asearch_each(queries, **settings))


Colour = _Sync | _Async


@pytest.fixture(params=[_Sync(), _Async()], ids=lambda colour: colour.name)
def colour(request: pytest.FixtureRequest) -> Colour:
    made: Colour = request.param
    return made


def by_query(**scripts: Callable[[Peer], None]) -> Callable[[Peer], None]:
    """Serve each request by its query."""

    def script(peer: Peer) -> None:
        while (seen := peer.request()) is not None:
            scripts[json.loads(seen.body)["query"]](peer)

    return script


def answer(peer: Peer) -> None:
    peer.send(OK)


def stall(peer: Peer) -> None:
    peer.server.note("stalled")
    peer.wait_for_hang_up()


def refuse(peer: Peer) -> None:
    peer.send(http_answer(b'{"error": {"message": "bad query"}}', status=400))


def refuse_once_the_other_waits(peer: Peer) -> None:
    peer.server.wait_for("stalled")
    peer.server.note("refused")
    peer.send(http_answer(b'{"error": {"message": "bad query"}}', status=400))


def test_the_queries_run_at_the_same_time(colour: Colour, serve: Callable[..., RawServer]) -> None:
    server = serve(slow(0.3, OK))
    started = time.monotonic()

    results = colour.each(runtime_on(server), "a", "b", "c", "d")

    assert len(results) == 4
    assert time.monotonic() - started < 0.3 + SLACK
    assert server.connections == 4


def test_the_first_failure_ends_the_others_and_is_the_one_raised(
    colour: Colour, serve: Callable[..., RawServer]
) -> None:
    server = serve(by_query(bad=refuse_once_the_other_waits, good=stall))
    runtime = runtime_on(server, max_retries=0)

    error = failure(lambda: colour.many(runtime, "good", "bad"))

    assert (error.code, str(error)) == ("WEB_PROVIDER_ERROR", "bad query")
    (waiting,) = [peer for peer in server.peers if peer.hung_up.wait(HANG_UP_WITHIN)][:1]
    assert waiting.hung_up_at is not None
    assert waiting.hung_up_at - ended_at(error) < SLACK


def test_a_failure_returns_only_after_all_have_settled(
    colour: Colour, serve: Callable[..., RawServer]
) -> None:
    settled: list[str] = []

    class Slow(OneByOne):
        def search_flow(self, request: Any) -> Any:
            try:
                return (yield from super().search_flow(request))
            finally:
                settled.append(request.query)

    server = serve(by_query(bad=refuse_once_the_other_waits, good=stall))
    runtime = WebRuntime()
    runtime.register_search_provider(Slow(api_key=KEY, base_url=server.url))

    failure(lambda: colour.each(runtime, "good", "bad"))

    assert sorted(settled) == ["bad", "good"]


def test_errors_can_be_kept_in_their_place(colour: Colour, serve: Callable[..., RawServer]) -> None:
    server = serve(by_query(bad=refuse, good=answer))

    results = colour.each(runtime_on(server), "good", "bad", keep_errors=True)

    assert isinstance(results[0], WebSearchResult)
    assert isinstance(results[1], WebError)
    assert_no_key_in(results[1])


def test_a_cancel_ends_all_of_them(
    colour: Colour, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(stalling(), stalling(), stalling(), answering(OK))
    runtime = runtime_on(server)
    cancelling = Cancelling(token, lambda: server.wait_for("stalled", 3))

    error = failure(lambda: colour.many(runtime, "a", "b", "c", cancel=token))

    cancelling.assert_prompt(error, ended_at(error))
    for number in range(3):
        assert server.wait_for_hang_up(number) - cancelling.at < HANG_UP_WITHIN
    assert colour.many(runtime, "a", "b").sources


def test_a_cancel_before_the_start_sends_nothing(
    colour: Colour, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(answering(OK))
    token.cancel()

    error = failure(lambda: colour.many(runtime_on(server), "a", "b", cancel=token))

    assert error.code == "WEB_ABORTED"
    assert server.connections == 0


def test_the_timeout_holds_for_all_together(
    colour: Colour, serve: Callable[..., RawServer]
) -> None:
    server = serve(stalling())
    started = time.monotonic()

    error = failure(lambda: colour.many(runtime_on(server), "a", "b", "c", timeout=0.3))

    assert error.code == "WEB_TIMEOUT"
    assert ended_at(error) - started < 0.3 + SLACK
    for number in range(3):
        server.wait_for_hang_up(number)


def test_nothing_is_left_running(colour: Colour, serve: Callable[..., RawServer]) -> None:
    server = serve(by_query(bad=refuse_once_the_other_waits, good=stall))
    before = set(threading.enumerate())

    failure(lambda: colour.many(runtime_on(server), "good", "bad"))

    mine = [t for t in set(threading.enumerate()) - before if t.name != "raw-server"]
    assert mine == []


async def test_cancelling_the_task_ends_all_of_them(serve: Callable[..., RawServer]) -> None:
    server = serve(stalling(), stalling(), answering(OK))
    runtime = runtime_on(server)
    task = asyncio.create_task(runtime.asearch_many(["a", "b"]))
    await asyncio.to_thread(server.wait_for, "stalled", 2)

    moment = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task

    assert time.monotonic() - moment < CANCEL_WITHIN
    assert_no_key_in(caught.value, deep=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    for number in range(2):
        assert await asyncio.to_thread(server.wait_for_hang_up, number) - moment < HANG_UP_WITHIN
    assert (await runtime.asearch_many(["a", "b"])).sources


def test_a_provider_that_breaks_for_one_query_ends_the_others(
    colour: Colour, serve: Callable[..., RawServer]
) -> None:
    server = serve(stalling())
    provider = PerplexitySearchProvider(api_key=KEY, base_url=server.url)

    class Broken:
        id = "broken"

        def available(self) -> bool:
            return True

        def search_flow(self, request: Any) -> Any:
            if request.query == "broken":
                # On a thread: the other query may need this one to get ahead.
                yield Resolve(lambda: server.wait_for("stalled"))
                raise ZeroDivisionError
            return (yield from provider.search_flow(request))

    runtime = WebRuntime()
    runtime.register_search_provider(Broken())

    error = failure(lambda: colour.each(runtime, "good", "broken"))

    assert isinstance(error.__cause__, ZeroDivisionError)
    server.wait_for_hang_up(0)


def test_a_cancelled_call_raises_even_where_errors_are_kept(
    colour: Colour, serve: Callable[..., RawServer]
) -> None:
    server = serve(by_query(a=stall, b=stall))
    runtime = runtime_on(server)
    token = CancelToken()
    threading.Thread(target=lambda: (server.wait_for("stalled", 2), token.cancel("enough"))).start()

    with pytest.raises(WebError) as caught:
        colour.each(runtime, "a", "b", keep_errors=True, cancel=token)

    assert caught.value.code == "WEB_ABORTED"
