"""A fallback tells the truth: who answered, who did not and why, and what was lost on the way."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from dsh_web import (
    FallbackProvider,
    InvalidRequestError,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    ProviderError,
    SelectionError,
    Sleep,
    TransportError,
    UnsupportedFilterError,
    WebCancelledError,
    WebError,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
)
from dsh_web.cancel import CancelToken
from dsh_web.events import TextDelta
from dsh_web.flow import Emit
from dsh_web.seam import FilterSupport
from dsh_web.server import Fault, LoopbackServer

EXACT = FilterSupport(level="exact")


class Stub:
    """A provider that plays a script of steps, errors and results."""

    def __init__(self, name: str, *script: Any, filters: tuple[str, ...] = (), **more: Any) -> None:
        self.id = name
        self._script = script
        self.asked: list[WebSearchRequest] = []
        self.answers: list[Any] = []
        self.supported_filters = dict.fromkeys(filters, EXACT)
        self.supports_response_format = more.get("schema", False)
        self.is_up = more.get("is_up", True)

    def available(self) -> bool:
        return self.is_up

    def unavailable_reason(self) -> str:
        return "no key"

    def search_flow(self, request: WebSearchRequest) -> Any:
        self.asked.append(request)
        for step in self._script:
            if isinstance(step, Exception):
                raise step
            self.answers.append((yield step))
        return WebSearchResult(
            sources=(WebSearchSource(url=f"https://{self.id}.example/"),), provider=self.id
        )

    stream_flow = search_flow


def fault(status: int | None, **details: Any) -> ProviderError:
    return ProviderError(f"out with {status}", status_code=status, **details)


def below_http() -> ProviderError:
    error = ProviderError("cannot connect", retryable=False)
    error.__cause__ = TransportError("cannot connect")
    return error


def runtime_with(*providers: Any, **options: Any) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(FallbackProvider(providers, **options))
    return runtime


def search(*providers: Any, **fields: Any) -> WebSearchResult:
    return runtime_with(*providers).search("q", **fields)


def test_the_first_one_answers_and_nothing_is_said() -> None:
    second = Stub("b")

    result = search(Stub("a"), second)

    assert (result.provider, result.warnings) == ("a", ())
    assert second.asked == []


@pytest.mark.parametrize("status", [500, 502, 503, 408, 409, 425, 429, 200])
def test_what_is_out_of_service_hands_over_and_says_why(status: int) -> None:
    result = search(Stub("a", fault(status)), Stub("b"))

    assert result.provider == "b"
    assert result.warnings == (
        f"a failed: out with {status} (HTTP {status})",
        "b answered instead",
    )


def test_what_cannot_be_reached_hands_over() -> None:
    assert search(Stub("a", below_http()), Stub("b")).provider == "b"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422, 307])
def test_what_has_to_be_mended_is_raised_at_once(status: int) -> None:
    second = Stub("b")

    with pytest.raises(ProviderError, match=f"out with {status}"):
        search(Stub("a", fault(status)), second)

    assert second.asked == []


def test_a_key_that_cannot_be_resolved_is_raised_at_once() -> None:
    with pytest.raises(ProviderError, match="resolving"):
        search(Stub("a", ProviderError("resolving the key failed")), Stub("b"))


def test_a_short_wait_is_waited_and_a_long_one_is_not() -> None:
    short, long = Stub("a", Sleep(0.01)), Stub("a", Sleep(60.0), fault(429, retry_after=60.0))

    assert search(short, Stub("b")).provider == "a"
    assert short.answers == [True]
    result = search(long, Stub("b"))
    assert result.provider == "b"
    assert long.answers == [False]
    assert "it asked to wait 60 s" in result.warnings[0]


def test_how_long_a_wait_may_be_can_be_set() -> None:
    provider = Stub("a", Sleep(0.02), fault(503))

    runtime_with(provider, Stub("b"), longest_wait=0.01).search("q")

    assert provider.answers == [False]


def test_after_the_last_one_its_error_is_raised_with_the_whole_story() -> None:
    with pytest.raises(ProviderError) as caught:
        search(Stub("a", fault(503)), Stub("b", fault(429, retry_after=9.0)))

    assert caught.value.status_code == 429
    assert caught.value.retry_after == 9.0
    assert caught.value.provider == "b"
    assert "tried in turn: a failed: out with 503 (HTTP 503); b failed" in str(caught.value)


def test_a_filter_that_the_second_one_lacks_is_named() -> None:
    second = Stub("b", filters=("country",))
    first = Stub("a", fault(503), filters=("recency", "country"))

    result = search(first, second, recency="day", country="NZ")

    assert result.warnings == (
        "a failed: out with 503 (HTTP 503)",
        "b answered instead",
        "b does not support the filter recency; it was left out",
    )
    assert second.asked[0].recency is None
    assert second.asked[0].country == "NZ"


def test_a_provider_that_would_lose_a_filter_can_be_passed_over() -> None:
    first = Stub("a", fault(503), filters=("recency",))
    second, third = Stub("b"), Stub("c", filters=("recency",))

    result = runtime_with(first, second, third, on_lost_filter="skip").search("q", recency="day")

    assert result.provider == "c"
    assert second.asked == []
    assert "b was passed over: b does not support the filter recency" in result.warnings[1]


def test_a_filter_that_the_first_one_lacks_is_refused_before_anything_is_sent() -> None:
    first = Stub("a")

    with pytest.raises(UnsupportedFilterError):
        search(first, Stub("b", filters=("recency",)), recency="day")

    assert first.asked == []


def test_what_only_the_second_one_refuses_passes_it_over() -> None:
    refusing = Stub("b", InvalidRequestError("too many domains"))

    result = search(Stub("a", fault(503)), refusing, Stub("c"))

    assert result.provider == "c"
    assert "b was passed over: too many domains" in result.warnings


def test_an_answer_by_a_schema_comes_from_those_that_can() -> None:
    schema = {"type": "object", "properties": {}}
    first = Stub("a", fault(503), schema=True)

    with pytest.raises(ProviderError) as caught:
        search(first, Stub("b"), response_format=schema)

    assert "b was passed over: it does not support response_format" in str(caught.value)


def test_an_unavailable_provider_makes_it_unavailable_with_its_reason() -> None:
    with pytest.raises(SelectionError, match="b: no key"):
        search(Stub("a"), Stub("b", is_up=False))


@pytest.mark.parametrize(
    "arguments",
    [
        ([Stub("a")], {}),
        ([Stub("a"), Stub("b")], {"longest_wait": -1}),
        ([Stub("a"), Stub("b")], {"longest_wait": float("nan")}),
        ([Stub("a"), Stub("b")], {"on_lost_filter": "drop"}),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: Any) -> None:
    providers, options = arguments
    with pytest.raises(InvalidRequestError):
        FallbackProvider(providers, **options)


def test_a_stream_goes_on_elsewhere_only_before_something_was_delivered() -> None:
    before = Stub("a", fault(503))
    after = Stub("a", Emit(TextDelta(text="Half")), fault(503))

    events = list(runtime_with(before, Stub("b", Emit(TextDelta(text="Whole")))).stream("q"))
    assert [e.text for e in events if e.kind == "text"] == ["Whole"]
    assert events[-1].result.provider == "b"

    second = Stub("b")
    with pytest.raises(ProviderError):
        list(runtime_with(after, second).stream("q"))
    assert second.asked == []


def test_a_cancel_is_no_reason_to_ask_somebody_else() -> None:
    token, second = CancelToken(), Stub("b")
    token.cancel("enough")

    with pytest.raises(WebCancelledError):
        runtime_with(Stub("a", Sleep(5.0)), second).search("q", cancel=token)

    assert second.asked == []


def test_explain_shows_what_the_first_one_would_send() -> None:
    runtime = runtime_with(
        PerplexitySearchProvider(api_key="k"), ParallelSearchProvider(api_key="k")
    )

    plan = runtime.explain("tea", recency="day")

    assert plan.url == "https://api.perplexity.ai/search"
    assert plan.filters == {"recency": "exact"}


def test_it_pickles_without_keys() -> None:
    provider = FallbackProvider(
        [PerplexitySearchProvider(api_key="secret-1"), ParallelSearchProvider(api_key="secret-2")]
    )

    copy = pickle.loads(pickle.dumps(provider))

    assert [p.id for p in copy.providers] == ["perplexity-search", "parallel"]
    assert b"secret" not in pickle.dumps(provider)
    assert "secret" not in repr(provider)


# -- over real HTTP --------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as server:
        yield server


def served(server: LoopbackServer, **first: Any) -> WebRuntime:
    common = {"api_key": server.api_key, "base_url": server.url, "max_retries": 0}
    return runtime_with(
        PerplexityAgentProvider(**{**common, **first}), PerplexitySearchProvider(**common)
    )


async def test_a_503_and_a_dead_host_hand_over_for_real(server: LoopbackServer) -> None:
    server.add_fault(Fault(status=503))
    broken = served(server).search("sort a list", max_results=3)
    dead = await served(server, base_url="http://127.0.0.1:9").asearch("sort a list", max_results=3)

    assert broken.provider == dead.provider == "perplexity-search"
    assert broken.warnings[0].startswith("perplexity failed: ")
    assert "cannot connect" in dead.warnings[0]
    assert len(broken.sources) == len(dead.sources) == 3


async def test_a_wrong_key_stops_for_real(server: LoopbackServer) -> None:
    with pytest.raises(WebError) as caught:
        await served(server, api_key="wrong").asearch("sort a list")

    assert caught.value.status_code == 401
    assert len(server.requests) == 1
