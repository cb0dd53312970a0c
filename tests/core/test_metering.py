"""What a runtime adds up, and what its budget refuses."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import respx

from dsh_web import (
    Budget,
    BudgetExceededError,
    CancelToken,
    Emit,
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    ProviderError,
    Resolve,
    TextDelta,
    Usage,
    UsageReported,
    UsageTotal,
    WebCancelledError,
    WebError,
    WebRuntime,
    WebSearchResult,
)
from tests.core.perplexity import KEY

EXACT = Usage(input_tokens=10, output_tokens=5, total_tokens=15, searches=2, cost_usd=0.25)
ESTIMATED = Usage(searches=1, cost_usd=0.5, cost_is_estimate=True)


class Counter:
    """A provider that counts its runs and reports a given usage."""

    id = "counter"

    def __init__(self, usage: Usage | None = EXACT, error: Exception | None = None) -> None:
        self.usage = usage
        self.error = error
        self.runs = 0

    def available(self) -> bool:
        return True

    def search_flow(self, request):
        self.runs += 1
        yield Resolve(lambda: None)
        if self.error is not None:
            raise self.error
        return WebSearchResult(provider=self.id, usage=self.usage)


class Streaming(Counter):
    def stream_flow(self, request):
        self.runs += 1
        yield Resolve(lambda: None)
        yield Emit(TextDelta(text="a"))
        yield Emit(UsageReported(usage=EXACT))
        yield Emit(TextDelta(text="b"))
        if self.error is not None:
            raise self.error
        return WebSearchResult(provider=self.id, content="ab", usage=self.usage)


def runtime_with(provider: Any, **settings: Any) -> WebRuntime:
    runtime = WebRuntime(**settings)
    runtime.register_search_provider(provider)
    return runtime


@pytest.fixture(params=["sync", "async"])
def search(request: pytest.FixtureRequest):
    """Return `search(runtime, **fields)`, once through each of the two methods."""

    def search(runtime: WebRuntime, query: str = "q", **fields: Any) -> WebSearchResult:
        if request.param == "async":
            return asyncio.run(runtime.asearch(query, **fields))
        return runtime.search(query, **fields)

    return search


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest):
    """Return `read(runtime, most)`: take so many events of a stream, then leave it."""

    async def read_async(runtime: WebRuntime, most: int, fields: dict[str, Any]) -> int:
        count = 0
        async with runtime.astream("q", **fields) as stream:
            while count < most and await anext(stream, None) is not None:
                count += 1
        return count

    def read(runtime: WebRuntime, most: int = 99, **fields: Any) -> int:
        if request.param == "async":
            return asyncio.run(read_async(runtime, most, fields))
        count = 0
        with runtime.stream("q", **fields) as stream:
            while count < most and next(stream, None) is not None:
                count += 1
        return count

    return read


# -- totals --------------------------------------------------------------------------------------


def test_nothing_is_consumed_before_the_first_call():
    assert UsageTotal() == WebRuntime().usage
    assert UsageTotal().is_exact


def test_a_good_call_adds_what_it_reports(search):
    runtime = runtime_with(Counter())
    search(runtime)
    search(runtime)

    expected = UsageTotal(
        calls=2, searches=4, input_tokens=20, output_tokens=10, total_tokens=30, cost_usd=0.5
    )
    assert expected == runtime.usage
    assert runtime.usage.is_exact


def test_a_failed_call_counts_as_a_call_of_unknown_cost(search):
    runtime = runtime_with(Counter(error=ProviderError("no")))
    with pytest.raises(ProviderError):
        search(runtime)

    assert UsageTotal(calls=1, failed_calls=1) == runtime.usage
    assert not runtime.usage.is_exact


def test_an_estimate_is_added_and_makes_the_total_inexact(search):
    runtime = runtime_with(Counter(ESTIMATED))
    search(runtime)

    assert UsageTotal(calls=1, searches=1, cost_usd=0.5, estimated_calls=1) == runtime.usage
    assert not runtime.usage.is_exact


@pytest.mark.parametrize("usage", [None, Usage(), Usage(cost_usd=float("nan"))])
def test_a_call_that_reports_no_cost_is_unpriced_and_counts_as_one_search(search, usage):
    runtime = runtime_with(Counter(usage))
    search(runtime)

    assert UsageTotal(calls=1, searches=1, unpriced_calls=1) == runtime.usage
    assert not runtime.usage.is_exact


def test_an_answer_without_any_search_counts_none(search):
    runtime = runtime_with(Counter(Usage(searches=0, cost_usd=0.0)))
    search(runtime)

    assert (0, True) == (runtime.usage.searches, runtime.usage.is_exact)


def test_a_negative_number_gives_nothing_back(search):
    runtime = runtime_with(Counter(Usage(searches=-3, input_tokens=-1, cost_usd=-9.0)))
    search(runtime)

    assert UsageTotal(calls=1) == runtime.usage


def test_a_flow_that_returns_no_result_is_a_failed_call(search):
    class Wrong(Counter):
        def search_flow(self, request):
            yield Resolve(lambda: None)
            return {"provider": "counter"}

    runtime = runtime_with(Wrong())
    with pytest.raises(ProviderError, match="not a WebSearchResult"):
        search(runtime)

    assert UsageTotal(calls=1, failed_calls=1) == runtime.usage


def test_several_queries_are_several_calls(search):
    runtime = runtime_with(Counter())
    runtime.search_many(["a", "b", "b"])
    runtime.search_each(["a", "b", "c"])
    asyncio.run(runtime.asearch_many(["a", "b"]))

    assert (7, 14) == (runtime.usage.calls, runtime.usage.searches)


def test_an_answer_that_does_not_match_its_schema_has_cost_its_price(search):
    runtime = runtime_with(Answering("no JSON"))
    with pytest.raises(ProviderError):
        search(runtime, response_format={"type": "object"})

    assert (1, 0, 0.25) == (
        runtime.usage.calls,
        runtime.usage.failed_calls,
        runtime.usage.cost_usd,
    )


class Answering(Counter):
    supports_response_format = True

    def __init__(self, content: str) -> None:
        super().__init__()
        self.content = content

    def search_flow(self, request):
        result = yield from super().search_flow(request)
        return result.model_copy(update={"content": self.content})


# -- streams -------------------------------------------------------------------------------------


def test_a_stream_counts_like_a_search(read):
    runtime = runtime_with(Streaming())

    assert 4 == read(runtime)
    assert UsageTotal(
        calls=1, searches=2, input_tokens=10, output_tokens=5, total_tokens=15, cost_usd=0.25
    ) == (runtime.usage)


def test_a_provider_that_cannot_stream_counts_once(read):
    runtime = runtime_with(Counter())

    assert 1 == read(runtime)
    assert (1, 0.25, True) == (
        runtime.usage.calls,
        runtime.usage.cost_usd,
        runtime.usage.is_exact,
    )


def test_a_stream_that_nobody_reads_costs_nothing(read):
    runtime = runtime_with(Streaming())

    assert 0 == read(runtime, 0)
    assert UsageTotal() == runtime.usage


def test_a_stream_left_early_is_a_call_of_unknown_cost(read):
    runtime = runtime_with(Streaming())
    read(runtime, 1)

    assert UsageTotal(calls=1, failed_calls=1) == runtime.usage
    assert not runtime.usage.is_exact


def test_a_stream_left_after_it_reported_its_usage_has_cost_that_much(read):
    runtime = runtime_with(Streaming())
    read(runtime, 3)

    usage = runtime.usage
    assert (1, 1, 2, 0.25) == (usage.calls, usage.failed_calls, usage.searches, usage.cost_usd)


def test_a_stream_that_fails_is_a_failed_call(read):
    runtime = runtime_with(Streaming(error=ProviderError("cut")))
    with pytest.raises(ProviderError):
        read(runtime)

    assert (1, 1) == (runtime.usage.calls, runtime.usage.failed_calls)


def test_a_stream_that_is_cancelled_before_it_starts_is_not_counted(read):
    token = CancelToken()
    token.cancel()
    provider = Streaming()
    runtime = runtime_with(provider)
    with pytest.raises(WebCancelledError):
        read(runtime, cancel=token)

    assert (UsageTotal(), 0) == (runtime.usage, provider.runs)


# -- calls that never were -----------------------------------------------------------------------


def test_a_call_cancelled_before_it_starts_is_not_counted(search):
    token = CancelToken()
    token.cancel()
    runtime = runtime_with(Counter())
    with pytest.raises(WebCancelledError):
        search(runtime, cancel=token)

    assert UsageTotal() == runtime.usage


@pytest.mark.parametrize(
    "fields",
    [
        {"query": " "},
        {"max_results": 0},
        {"mode": "finance"},
        {"recency": "day", "published_after": "2026-01-02"},
        {"include_domains": ["a.example"], "exclude_domains": ["b.example"]},
    ],
    ids=str,
)
def test_an_invalid_request_is_not_counted(search, fields):
    runtime = runtime_with(PerplexitySearchProvider(api_key=KEY))
    with pytest.raises(InvalidRequestError):
        search(runtime, **fields)

    assert UsageTotal() == runtime.usage


def test_a_streamed_invalid_request_is_not_counted(read):
    runtime = runtime_with(PerplexityAgentProvider(api_key=KEY))
    with pytest.raises(InvalidRequestError):
        read(runtime, recency="day", published_after="2026-01-02")

    assert UsageTotal() == runtime.usage


# -- budgets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "runs", "used"),
    [
        (Budget(calls=2), 2, "2 of 2 calls"),
        (Budget(searches=3), 2, "4 of 3 searches"),
        (Budget(usd=0.5), 2, "0.5000 of 0.5000 US dollars"),
        (Budget(usd=0.3), 2, "0.5000 of 0.3000 US dollars"),
        (Budget(calls=0), 0, "0 of 0 calls"),
        (Budget(usd=0), 0, "0.0000 of 0.0000 US dollars"),
    ],
    ids=str,
)
def test_a_used_up_budget_refuses_the_next_call_before_anything_runs(search, budget, runs, used):
    provider = Counter()
    runtime = runtime_with(provider, budget=budget)
    for _ in range(runs):
        search(runtime)
    with pytest.raises(BudgetExceededError) as caught:
        search(runtime)

    expected = (
        f"the web budget is used up ({used}): answer with what you have, or ask for a larger budget"
    )
    assert expected == str(caught.value)
    assert ("WEB_BUDGET_EXCEEDED", "counter", False) == (
        caught.value.code,
        caught.value.provider,
        caught.value.retryable,
    )
    assert (runs, runs, 0) == (provider.runs, runtime.usage.calls, runtime.usage.failed_calls)


def test_a_used_up_budget_sends_nothing_and_asks_for_no_key():
    def no_key() -> str:
        raise AssertionError("the key was asked for")

    runtime = runtime_with(PerplexitySearchProvider(api_key=no_key), budget=Budget(calls=0))
    with respx.mock(assert_all_called=False) as wire:
        route = wire.post("https://api.perplexity.ai/search").respond(json={"results": []})
        with pytest.raises(BudgetExceededError):
            runtime.search("q")

    assert 0 == route.call_count


def test_a_used_up_budget_refuses_a_stream(read):
    provider = Streaming()
    runtime = runtime_with(provider, budget=Budget(calls=1))
    read(runtime)
    with pytest.raises(BudgetExceededError):
        read(runtime)

    assert 1 == provider.runs


def test_failed_calls_use_up_a_budget_of_calls(search):
    runtime = runtime_with(Counter(error=ProviderError("no")), budget=Budget(calls=1))
    with pytest.raises(ProviderError):
        search(runtime)
    with pytest.raises(BudgetExceededError):
        search(runtime)

    assert 1 == runtime.usage.failed_calls


def test_failed_calls_use_up_no_searches(search):
    provider = Counter(error=ProviderError("no"))
    runtime = runtime_with(provider, budget=Budget(searches=1))
    for _ in range(3):
        with pytest.raises(ProviderError):
            search(runtime)

    assert 3 == provider.runs


def test_several_queries_beyond_the_budget_are_refused_as_a_whole():
    runtime = runtime_with(Counter(), budget=Budget(calls=2))
    with pytest.raises(BudgetExceededError):
        runtime.search_many(["a", "b", "c"])

    assert 2 >= runtime.usage.calls


def test_several_queries_can_keep_the_budgets_error_in_its_place():
    runtime = runtime_with(Counter(), budget=Budget(calls=2))
    outcomes = runtime.search_each(["a", "b", "c"], keep_errors=True)

    assert 1 == sum(isinstance(outcome, BudgetExceededError) for outcome in outcomes)
    assert 2 == sum(isinstance(outcome, WebSearchResult) for outcome in outcomes)


@pytest.mark.parametrize("name", ["calls", "searches", "usd"])
@pytest.mark.parametrize(
    ("limit", "error"),
    [(-1, InvalidRequestError), ("5", TypeError), (True, TypeError), ([], TypeError)],
)
def test_a_limit_that_is_no_limit_is_refused(name, limit, error):
    with pytest.raises(error, match=name):
        Budget(**{name: limit})


def test_a_budget_that_is_not_a_number_is_refused():
    with pytest.raises(InvalidRequestError, match="usd"):
        Budget(usd=float("nan"))


def test_the_budget_can_be_read():
    assert Budget(calls=3) == WebRuntime(budget=Budget(calls=3)).budget


# -- at the same time ----------------------------------------------------------------------------


class Gated(Counter):
    """Holds every call until all that can come are there."""

    def __init__(self, usage: Usage | None = EXACT) -> None:
        super().__init__(usage)
        self.open = threading.Event()
        self.inside = threading.Semaphore(0)
        self._lock = threading.Lock()

    def search_flow(self, request):
        with self._lock:
            self.runs += 1
        self.inside.release()
        yield Resolve(lambda: self.open.wait(20))
        return WebSearchResult(provider=self.id, usage=self.usage)


def attempt(runtime: WebRuntime) -> str:
    try:
        runtime.search("q")
    except WebError as error:
        return error.code
    return "ok"


@pytest.mark.parametrize("budget", [Budget(calls=5), Budget(searches=5)], ids=str)
def test_sixteen_threads_never_start_more_calls_than_the_budget_allows(budget):
    provider = Gated(Usage(searches=1))
    runtime = runtime_with(provider, budget=budget)
    with ThreadPoolExecutor(16) as threads:
        futures = [threads.submit(attempt, runtime) for _ in range(16)]
        for _ in range(5):
            assert provider.inside.acquire(timeout=20)
        provider.open.set()
        outcomes = [future.result(20) for future in futures]

    assert (5, 11) == (outcomes.count("ok"), outcomes.count("WEB_BUDGET_EXCEEDED"))
    assert (5, 5) == (provider.runs, runtime.usage.calls)


async def test_tasks_never_start_more_calls_than_the_budget_allows():
    provider = Counter(Usage(searches=1))
    runtime = runtime_with(provider, budget=Budget(searches=5))
    outcomes = await asyncio.gather(
        *(runtime.asearch(f"q{number}") for number in range(40)), return_exceptions=True
    )

    assert 5 == sum(isinstance(outcome, WebSearchResult) for outcome in outcomes)
    assert 35 == sum(isinstance(outcome, BudgetExceededError) for outcome in outcomes)
    assert 5 == provider.runs


def test_totals_from_many_threads_lose_nothing():
    runtime = runtime_with(Counter(Usage(searches=1, input_tokens=3, cost_usd=0.5)))
    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(lambda _: attempt(runtime), range(200)))

    assert ["ok"] * 200 == outcomes
    assert UsageTotal(calls=200, searches=200, input_tokens=600, cost_usd=100.0) == runtime.usage


def test_a_call_that_failed_gives_its_place_in_a_budget_of_searches_back():
    provider = Gated()
    runtime = runtime_with(provider, budget=Budget(searches=1))
    token = CancelToken()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(lambda: runtime.search("q", cancel=token))
        assert provider.inside.acquire(timeout=20)
        assert "WEB_BUDGET_EXCEEDED" == attempt(runtime)
        token.cancel()
        assert isinstance(running.exception(20), WebCancelledError)
    provider.open.set()

    assert "ok" == attempt(runtime)


# -- real providers ------------------------------------------------------------------------------


def test_an_agent_run_counts_what_it_reports():
    body = {
        "id": "resp_1",
        "status": "completed",
        "model": "openai/gpt-6-luna",
        "output": [],
        "usage": {
            "input_tokens": 7,
            "output_tokens": 3,
            "total_tokens": 10,
            "tool_calls_details": {"search_web": {"invocation": 2}},
            "cost": {"total_cost": 0.125},
        },
    }
    runtime = runtime_with(PerplexityAgentProvider(api_key=KEY))
    with respx.mock:
        respx.post("https://api.perplexity.ai/v1/agent").respond(json=body)
        runtime.search("q")

    expected = UsageTotal(
        calls=1, searches=2, input_tokens=7, output_tokens=3, total_tokens=10, cost_usd=0.125
    )
    assert expected == runtime.usage


def test_retries_of_one_call_are_one_call():
    provider = PerplexitySearchProvider(api_key=KEY)
    runtime = runtime_with(provider)
    answers = [
        httpx.Response(429, headers={"retry-after-ms": "1"}),
        httpx.Response(200, json={"id": "s", "results": []}),
    ]
    with respx.mock:
        respx.post("https://api.perplexity.ai/search").mock(side_effect=answers)
        runtime.search("q")

    assert (1, 0, 0.005) == (
        runtime.usage.calls,
        runtime.usage.failed_calls,
        runtime.usage.cost_usd,
    )
