"""One request for identical calls: those under way, and those asked again soon."""

import asyncio
import copy
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from cachetools import TTLCache

from dsh_web import (
    CancelToken,
    Emit,
    PerplexitySearchProvider,
    ProviderError,
    Resolve,
    TextDelta,
    Usage,
    WebCancelledError,
    WebError,
    WebRuntime,
    WebSearchResult,
    WebSearchSource,
    WebTimeoutError,
)
from tests.core.perplexity import KEY

PATIENCE = 20.0
"""Seconds after which something that has to happen counts as never happening."""


class Gated:
    """A provider whose runs end when they are told to, in the order in which they began."""

    id = "gated"

    def __init__(self, *, is_open: bool = False) -> None:
        self.runs = 0
        self.began = threading.Semaphore(0)
        self.error: Exception | None = None
        self._lock = threading.Lock()
        self._is_open = is_open
        self.gates: list[Future[None]] = []

    def available(self) -> bool:
        return True

    def search_flow(self, request):
        gate: Future[None] = Future()
        with self._lock:
            self.runs += 1
            run = self.runs
            self.gates.append(gate)
        if self._is_open:
            gate.set_result(None)
        self.began.release()
        yield Resolve(lambda: gate.result(PATIENCE))
        if self.error is not None:
            raise self.error
        return WebSearchResult(
            provider=self.id,
            content=f"run {run} of {request.query}",
            sources=[WebSearchSource(url=f"https://site{n}.example/") for n in range(3)],
            usage=Usage(searches=1, cost_usd=0.5),
            raw={"run": run} if request.include_raw else None,
        )

    def wait_for_run(self) -> None:
        assert self.began.acquire(timeout=PATIENCE), "no call has begun"

    def open(self) -> None:
        self._is_open = True
        for gate in self.gates:
            if not gate.done():
                gate.set_result(None)


def runtime_with(provider: Any, **settings: Any) -> WebRuntime:
    runtime = WebRuntime(**settings)
    runtime.register_search_provider(provider)
    return runtime


@pytest.fixture
def provider() -> Iterator[Gated]:
    gated = Gated()
    yield gated
    gated.open()


@pytest.fixture
def runtime(provider: Gated) -> WebRuntime:
    return runtime_with(provider, coalesce=True)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(64) as pool:
        yield pool


@pytest.fixture(params=["sync", "async"])
def search(request: pytest.FixtureRequest):
    """Return a blocking `search(runtime, query, **fields)`, in either colour."""

    def search(runtime: WebRuntime, query: str = "q", **fields: Any) -> WebSearchResult:
        if request.param == "async":
            return asyncio.run(runtime.asearch(query, **fields))
        return runtime.search(query, **fields)

    return search


def waiting(runtime: WebRuntime) -> int:
    """Return how many calls wait for one that is under way."""
    flights = list(runtime._shared._flights.values())
    return sum(len(flight._landed._callbacks) for flight in flights)


def wait_until(happened: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.001)


def assert_nothing_left(runtime: WebRuntime) -> None:
    assert {} == runtime._shared._flights


# -- which calls share ---------------------------------------------------------------------------


def test_calls_do_not_share_unless_asked_to(provider, threads, search):
    runtime = runtime_with(provider)
    futures = [threads.submit(search, runtime) for _ in range(3)]
    for _ in range(3):
        provider.wait_for_run()
    provider.open()

    assert [False] * 3 == [future.result(PATIENCE).cached for future in futures]


def test_identical_calls_share_one_request(provider, runtime, threads, search):
    futures = [threads.submit(search, runtime) for _ in range(10)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 9)
    provider.open()
    results = [future.result(PATIENCE) for future in futures]

    assert (1, {"run 1 of q"}) == (provider.runs, {result.content for result in results})
    assert [False] + [True] * 9 == sorted(result.cached for result in results)
    assert_nothing_left(runtime)


def test_threads_and_event_loops_share_with_each_other(provider, runtime, threads):
    async def several() -> list[WebSearchResult]:
        return list(await asyncio.gather(*(runtime.asearch("q") for _ in range(4))))

    futures = [threads.submit(runtime.search, "q") for _ in range(4)]
    loops = [threads.submit(asyncio.run, several()) for _ in range(3)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 15)
    provider.open()
    results = [future.result(PATIENCE) for future in futures]
    results += [result for loop in loops for result in loop.result(PATIENCE)]

    assert (1, 16) == (provider.runs, len(results))
    assert 15 == sum(result.cached for result in results)
    assert_nothing_left(runtime)


async def test_tasks_of_one_loop_share(provider, runtime):
    tasks = [asyncio.create_task(runtime.asearch("q")) for _ in range(5)]
    await asyncio.to_thread(provider.wait_for_run)
    provider.open()
    results = await asyncio.gather(*tasks)

    assert (1, 4) == (provider.runs, sum(result.cached for result in results))


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("Q", {}),
        ("q ", {}),
        ("q", {"max_results": 2}),
        ("q", {"include_raw": True}),
        ("q", {"on_unsupported": "warn", "country": "NZ"}),
    ],
    ids=str,
)
def test_other_calls_have_a_request_of_their_own(provider, runtime, threads, query, fields):
    provider.supported_filters = {}
    first = threads.submit(runtime.search, "q")
    provider.wait_for_run()
    second = threads.submit(runtime.search, query, **fields)
    provider.wait_for_run()
    provider.open()

    assert not first.result(PATIENCE).cached
    assert not second.result(PATIENCE).cached


def test_an_object_that_takes_the_place_of_another_shares_nothing_with_it():
    cache: dict[str, Any] = {}
    runtime = WebRuntime(cache=cache)
    for _ in range(20):
        dispose = runtime.register_search_provider(Gated(is_open=True))
        assert not runtime.search("q").cached
        dispose()
        gc.collect()

    assert 20 == len(cache)


def test_two_runtimes_can_keep_their_results_in_one_place():
    cache: dict[str, Any] = {}
    first = runtime_with(Gated(is_open=True), cache=cache)
    second = runtime_with(Gated(is_open=True), cache=cache)

    assert [False, False, True] == [r.search("q").cached for r in (first, second, first)]


def test_streams_are_not_shared(provider):
    class Streaming(Gated):
        def stream_flow(self, request):
            yield Emit(TextDelta(text="a"))
            return (yield from self.search_flow(request))

    streaming = Streaming(is_open=True)
    runtime = runtime_with(streaming, coalesce=True, cache={})
    for _ in range(2):
        with runtime.stream("q") as stream:
            assert ["text", "done"] == [event.kind for event in stream]

    assert 2 == streaming.runs
    assert not stream.result.cached


# -- each keeps its own limits -------------------------------------------------------------------


def test_one_that_waits_keeps_its_own_timeout(provider, runtime, threads, search):
    leader = threads.submit(runtime.search, "q")
    provider.wait_for_run()
    began = time.monotonic()
    with pytest.raises(WebTimeoutError):
        search(runtime, timeout=0.05)

    assert 0.05 <= time.monotonic() - began < 2
    assert 0 == waiting(runtime)
    provider.open()
    assert "run 1 of q" == leader.result(PATIENCE).content


def test_one_that_waits_can_be_cancelled_alone(provider, runtime, threads, search):
    leader = threads.submit(runtime.search, "q")
    provider.wait_for_run()
    token = CancelToken()
    waiter = threads.submit(search, runtime, cancel=token)
    wait_until(lambda: waiting(runtime) == 1)
    token.cancel("enough")

    error = waiter.exception(2)
    assert isinstance(error, WebCancelledError)
    assert "enough" == error.__cause__.reason
    assert 0 == waiting(runtime)
    provider.open()
    assert not leader.result(PATIENCE).cached


async def test_a_task_that_waits_can_be_cancelled_alone(provider, runtime):
    leader = asyncio.create_task(runtime.asearch("q"))
    await asyncio.to_thread(provider.wait_for_run)
    waiter = asyncio.create_task(runtime.asearch("q"))
    await asyncio.to_thread(wait_until, lambda: waiting(runtime) == 1)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter

    assert 0 == waiting(runtime)
    provider.open()
    assert not (await leader).cached


def test_a_very_long_timeout_is_no_trouble(provider, runtime, threads, search):
    leader = threads.submit(runtime.search, "q")
    provider.wait_for_run()
    waiter = threads.submit(search, runtime, timeout=1e12)
    wait_until(lambda: waiting(runtime) == 1)
    provider.open()

    assert [False, True] == [future.result(PATIENCE).cached for future in (leader, waiter)]


def test_another_takes_over_from_a_leader_that_is_cancelled(provider, runtime, threads, search):
    token = CancelToken()
    leader = threads.submit(search, runtime, cancel=token)
    provider.wait_for_run()
    waiters = [threads.submit(search, runtime) for _ in range(3)]
    wait_until(lambda: waiting(runtime) == 3)
    token.cancel()
    assert isinstance(leader.exception(PATIENCE), WebCancelledError)
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 2)
    provider.open()

    results = [waiter.result(PATIENCE) for waiter in waiters]
    assert {"run 2 of q"} == {result.content for result in results}
    assert (2, [False, True, True]) == (provider.runs, sorted(r.cached for r in results))
    assert_nothing_left(runtime)


def test_another_takes_over_from_a_leader_that_runs_out_of_time(provider, runtime, threads, search):
    leader = threads.submit(search, runtime, timeout=0.2)
    provider.wait_for_run()
    waiter = threads.submit(search, runtime)
    assert isinstance(leader.exception(PATIENCE), WebTimeoutError)
    provider.wait_for_run()
    provider.open()

    assert "run 2 of q" == waiter.result(PATIENCE).content


async def test_another_takes_over_from_a_task_that_is_cancelled(provider, runtime, threads):
    leader = asyncio.create_task(runtime.asearch("q"))
    await asyncio.to_thread(provider.wait_for_run)
    task = asyncio.create_task(runtime.asearch("q"))
    thread = threads.submit(runtime.search, "q")
    await asyncio.to_thread(wait_until, lambda: waiting(runtime) == 2)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    await asyncio.to_thread(provider.wait_for_run)
    await asyncio.to_thread(wait_until, lambda: waiting(runtime) == 1)
    provider.open()

    assert {"run 2 of q"} == {(await task).content, (await asyncio.wrap_future(thread)).content}


# -- failures ------------------------------------------------------------------------------------


def test_a_leaders_failure_reaches_all_that_wait(provider, runtime, threads, search):
    cause = ValueError("why")
    provider.error = ProviderError("no luck", status_code=503, request_id="r-1", retryable=True)
    provider.error.__cause__ = cause
    futures = [threads.submit(search, runtime) for _ in range(6)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 5)
    provider.open()
    errors = [future.exception(PATIENCE) for future in futures]

    assert (1, {ProviderError}) == (provider.runs, {type(error) for error in errors})
    assert {("no luck", 503, "r-1", True, "gated")} == {
        (e.message, e.status_code, e.request_id, e.retryable, e.provider) for e in errors
    }
    assert all(error.__cause__ is cause for error in errors)
    assert 6 == len({id(error) for error in errors})
    assert_nothing_left(runtime)


def test_the_next_call_after_a_failure_runs(provider, runtime, search):
    provider.open()
    provider.error = ProviderError("no luck")
    with pytest.raises(ProviderError):
        search(runtime)
    provider.error = None

    assert "run 2 of q" == search(runtime).content


def test_a_slip_of_a_provider_is_tried_by_everybody(provider, runtime, threads, search):
    provider.error = KeyError("oops")
    futures = [threads.submit(search, runtime) for _ in range(3)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 2)
    provider.open()

    assert {"gated search failed: KeyError: 'oops'"} == {
        str(future.exception(PATIENCE)) for future in futures
    }
    assert_nothing_left(runtime)


def test_a_failure_that_cannot_be_copied_still_reaches_all(provider, runtime, threads, search):
    class Odd(WebError):
        def __init__(self, number: int) -> None:
            super().__init__(f"odd {number}", code="ODD")

        def __reduce__(self):
            raise TypeError("not to be copied")

    provider.error = Odd(3)
    futures = [threads.submit(search, runtime) for _ in range(3)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 2)
    provider.open()

    assert {"odd 3"} == {str(future.exception(PATIENCE)) for future in futures}


async def test_a_failure_that_nobody_waits_for_is_logged_nowhere(provider, runtime):
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    provider.error = ProviderError("no luck")
    tasks = [asyncio.create_task(runtime.asearch("q")) for _ in range(4)]
    await asyncio.to_thread(provider.wait_for_run)
    provider.open()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    gc.collect()
    await asyncio.sleep(0)

    assert 4 == sum(isinstance(outcome, ProviderError) for outcome in outcomes)
    assert [] == complaints


# -- deadlocks -----------------------------------------------------------------------------------


async def test_a_blocking_call_on_the_loop_of_the_leader_runs_by_itself(runtime, provider):
    leader = asyncio.create_task(runtime.asearch("q"))
    await asyncio.to_thread(provider.wait_for_run)
    provider._is_open = True

    # The leader cannot go on before this returns.
    assert "run 2 of q" == runtime.search("q", timeout=PATIENCE).content
    provider.open()
    assert "run 1 of q" == (await leader).content
    assert_nothing_left(runtime)


def test_many_threads_and_loops_over_few_queries_all_come_to_an_end():
    provider = Gated(is_open=True)
    cache: TTLCache[str, Any] = TTLCache(maxsize=2, ttl=0.002)
    runtime = runtime_with(provider, coalesce=True, cache=cache)

    async def several(number: int) -> list[str]:
        calls = [runtime.asearch(f"q{(number + n) % 3}") for n in range(4)]
        return [result.content for result in await asyncio.gather(*calls)]

    def work(number: int) -> int:
        if number % 4 == 0:
            return len(asyncio.run(several(number)))
        if number % 4 == 1:
            try:
                runtime.search(f"q{number % 3}", timeout=0.0005)
            except WebTimeoutError:
                pass
            return 1
        if number % 4 == 2:
            token = CancelToken()
            threading.Timer(0.0005, token.cancel).start()
            try:
                runtime.search(f"q{number % 3}", cancel=token)
            except WebCancelledError:
                pass
            return 1
        return len(runtime.search_each(["q0", "q1", "q2"]))

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(work, range(240), timeout=60))

    assert 60 * (4 + 1 + 1 + 3) == sum(outcomes)
    assert_nothing_left(runtime)
    wait_until(lambda: not any(isinstance(t, threading.Timer) for t in threading.enumerate()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_nobody_waits_for_a_call_of_the_parent(provider, runtime, threads):
    leader = threads.submit(runtime.search, "q")
    provider.wait_for_run()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            provider._is_open = True
            status = 0 if runtime.search("q", timeout=10).content == "run 2 of q" else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    provider.open()

    assert 0 == os.waitstatus_to_exitcode(status)
    assert "run 1 of q" == leader.result(PATIENCE).content


def test_a_finished_call_holds_on_to_nothing(provider, threads):
    runtime = runtime_with(provider, coalesce=True)
    token = CancelToken()
    futures = [threads.submit(runtime.search, "q", cancel=token) for _ in range(4)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 3)
    flight = weakref.ref(next(iter(runtime._shared._flights.values())))
    provider.open()
    for future in futures:
        future.result(PATIENCE)
    del futures, future
    # A worker keeps its last job until it gets another one.
    threads.shutdown()
    gc.collect()

    assert flight() is None
    assert {} == token._callbacks


# -- the cache -----------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_identical_call_is_answered_from_the_cache(search):
    provider = Gated(is_open=True)
    runtime = runtime_with(provider, cache=TTLCache(maxsize=8, ttl=60))
    first, second = search(runtime), search(runtime)

    assert (False, True, 1) == (first.cached, second.cached, provider.runs)
    assert first == second.model_copy(update={"cached": False})


def test_a_kept_result_costs_nothing(search):
    runtime = runtime_with(Gated(is_open=True), cache={})
    for _ in range(3):
        search(runtime)

    assert (1, 0.5) == (runtime.usage.calls, runtime.usage.cost_usd)


def test_a_shared_result_costs_nothing(provider, runtime, threads, search):
    futures = [threads.submit(search, runtime) for _ in range(4)]
    provider.wait_for_run()
    wait_until(lambda: waiting(runtime) == 3)
    provider.open()
    for future in futures:
        future.result(PATIENCE)

    assert (1, 0, 0.5) == (
        runtime.usage.calls,
        runtime.usage.failed_calls,
        runtime.usage.cost_usd,
    )


def test_a_result_is_kept_for_its_time_to_live(search):
    clock = Clock()
    runtime = runtime_with(Gated(is_open=True), cache=TTLCache(maxsize=8, ttl=60, timer=clock))
    search(runtime)
    clock.now = 59.0
    before = search(runtime).cached
    clock.now = 60.0

    assert (True, False) == (before, search(runtime).cached)


def test_failures_are_not_kept(search):
    provider = Gated(is_open=True)
    provider.error = ProviderError("no luck")
    runtime = runtime_with(provider, cache={})
    for _ in range(2):
        with pytest.raises(ProviderError):
            search(runtime)
    provider.error = None

    assert not search(runtime).cached
    assert 3 == provider.runs


def test_filters_and_bounds_tell_kept_results_apart(search):
    runtime = runtime_with(Gated(is_open=True), cache={})
    sizes = [len(search(runtime, max_results=n).sources) for n in (1, 2, 1, 2)]

    assert ([1, 2, 1, 2], 2) == (sizes, runtime.usage.calls)


def test_a_warning_about_a_filter_is_that_of_the_call_not_of_the_kept_result(search):
    runtime = runtime_with(Gated(is_open=True), cache={})
    warned = search(runtime, country="NZ", on_unsupported="warn")
    again = search(runtime, country="NZ", on_unsupported="warn")
    plain = search(runtime, on_unsupported="warn")

    assert (1, 1, 0) == tuple(len(result.warnings) for result in (warned, again, plain))
    assert (True, True) == (again.cached, plain.cached)


def test_what_one_caller_does_to_the_raw_body_is_not_seen_by_others(search):
    runtime = runtime_with(Gated(is_open=True), cache={})
    for _ in range(3):
        result = search(runtime, include_raw=True)
        assert {"run": 1} == result.raw
        result.raw["run"] = "changed"


def test_several_kept_results_make_a_kept_merged_one():
    runtime = runtime_with(Gated(is_open=True), cache={})
    first = runtime.search_many(["a", "b"])
    second = runtime.search_many(["a", "b"])
    third = runtime.search_many(["a", "c"])

    assert [False, True, False] == [result.cached for result in (first, second, third)]
    # What a merged result says it used is what was used for it.
    assert (1.0, 0.5) == (first.usage.cost_usd, third.usage.cost_usd)


class Failing(dict[str, Any]):
    """A cache whose reading, writing or both fail."""

    def __init__(self, *, on_get: Exception | None = None, on_set: Exception | None = None) -> None:
        super().__init__()
        self.on_get, self.on_set = on_get, on_set

    def __contains__(self, key: object) -> bool:
        return True  # an entry that expires right after it was seen

    def __getitem__(self, key: str) -> Any:
        if self.on_get is not None:
            raise self.on_get
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if self.on_set is not None:
            raise self.on_set
        super().__setitem__(key, value)


@pytest.mark.parametrize(
    "cache",
    [
        Failing(on_get=OSError("unreachable")),
        Failing(on_set=OSError("unreachable")),
        Failing(on_get=OSError("unreachable"), on_set=OSError("unreachable")),
    ],
    ids=["get", "set", "both"],
)
@pytest.mark.parametrize("coalesce", [False, True])
def test_a_failing_cache_breaks_no_search_but_warns(cache, coalesce, search):
    provider = Gated(is_open=True)
    runtime = runtime_with(provider, cache=cache, coalesce=coalesce)
    results = [search(runtime), search(runtime)]

    warning = "the result cache failed (OSError) and was left aside"
    assert [(warning,)] * 2 == [result.warnings for result in results]
    assert 2 == provider.runs
    assert_nothing_left(runtime)


def test_an_entry_that_expires_while_it_is_looked_up_is_a_miss(search):
    provider = Gated(is_open=True)

    assert () == search(runtime_with(provider, cache=Failing())).warnings
    assert 1 == provider.runs


@pytest.mark.parametrize("entry", [None, 5, "text", {"provider": "x"}])
def test_an_entry_that_is_no_result_is_a_miss(search, entry):
    class Full(Failing):
        def __getitem__(self, key: str) -> Any:
            return entry

    provider = Gated(is_open=True)

    assert "run 1 of q" == search(runtime_with(provider, cache=Full())).content


def test_a_value_too_large_for_the_cache_is_only_a_warning(search):
    runtime = runtime_with(Gated(is_open=True), cache=TTLCache(maxsize=0, ttl=60))

    assert ("the result cache failed (ValueError) and was left aside",) == search(runtime).warnings


def test_a_cache_is_used_by_one_thread_at_a_time():
    class Careful(dict[str, Any]):
        busy = 0

        def _alone(self) -> None:
            Careful.busy += 1
            assert Careful.busy == 1
            time.sleep(0)
            Careful.busy -= 1

        def __getitem__(self, key: str) -> Any:
            self._alone()
            return super().__getitem__(key)

        def __setitem__(self, key: str, value: Any) -> None:
            self._alone()
            super().__setitem__(key, value)

    provider = Gated(is_open=True)
    runtime = runtime_with(provider, cache=Careful(), coalesce=True)
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(lambda n: runtime.search(f"q{n % 5}"), range(200)))
    finally:
        sys.setswitchinterval(pause)

    assert (5, 200, set()) == (
        provider.runs,
        len(results),
        {warning for result in results for warning in result.warnings},
    )


def test_a_runtime_that_shares_can_be_copied_and_keeps_no_key():
    runtime = runtime_with(PerplexitySearchProvider(api_key=KEY), coalesce=True, cache={})

    assert runtime is copy.deepcopy(runtime)
    assert KEY not in repr(vars(runtime._shared))
