"""Several queries in one request, where the provider's API takes them."""

import asyncio
import json
from typing import Any

import httpx
import pytest
import respx

from dsh_web import (
    Budget,
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    ProviderError,
    UnsupportedFilterError,
    WebRuntime,
    WebSearchResult,
)
from tests.core.perplexity import KEY, agent_body, found, page, said, search_body

SEARCH = "https://api.perplexity.ai/search"


def runtime_with(provider: Any = None, **settings: Any) -> WebRuntime:
    runtime = WebRuntime(**settings)
    runtime.register_search_provider(
        provider or PerplexitySearchProvider(api_key=KEY, max_retries=0)
    )
    return runtime


@pytest.fixture(params=["sync", "async"])
def search_many(request: pytest.FixtureRequest):
    """Return `search_many(runtime, queries, **fields)`, once through each of the two methods."""

    def search_many(runtime: WebRuntime, queries: list[str], **fields: Any) -> WebSearchResult:
        if request.param == "async":
            return asyncio.run(runtime.asearch_many(queries, **fields))
        return runtime.search_many(queries, **fields)

    return search_many


@pytest.fixture
def wire():
    with respx.mock as mock:
        yield mock.post(SEARCH)


def sent(wire: respx.Route) -> list[Any]:
    return [json.loads(call.request.content) for call in wire.calls]


def numbers(result: WebSearchResult) -> list[int]:
    return [int(source.url[12]) for source in result.sources]


def answers(*results: object) -> dict[str, Any]:
    return {"json": search_body(*results)}


def test_several_queries_are_one_request_with_a_list(search_many, wire):
    wire.respond(**answers(page(1), page(2)))
    search_many(runtime_with(), ["a", "b"])

    assert [{"query": ["a", "b"], "max_results": 8}] == sent(wire)


def test_one_query_is_sent_as_a_text(search_many, wire):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(), ["a"])

    assert ["a"] == [body["query"] for body in sent(wire)]


def test_exact_repeats_are_sent_once(search_many, wire):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(), ["b", "a", "b"])

    assert [["b", "a"]] == [body["query"] for body in sent(wire)]


def test_repeats_of_one_query_are_sent_as_a_text(search_many, wire):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(), ["a", "a"])

    assert ["a"] == [body["query"] for body in sent(wire)]


def test_a_flat_list_keeps_the_providers_order(search_many, wire):
    wire.respond(**answers(page(3), page(1), page(2)))

    assert [3, 1, 2] == numbers(search_many(runtime_with(), ["a", "b"]))


def test_a_page_that_a_flat_list_repeats_counts_once(search_many, wire):
    wire.respond(**answers(page(1), page(2), page(1), page(3), page(2)))

    assert [1, 2, 3] == numbers(search_many(runtime_with(), ["a", "b"]))


def test_lists_per_query_are_interleaved_by_rank(search_many, wire):
    wire.respond(**answers([page(1), page(2), page(3)], [page(4), page(5)]))

    assert [1, 4, 2, 5, 3] == numbers(search_many(runtime_with(), ["a", "b"]))


def test_a_page_in_several_lists_keeps_its_first_place(search_many, wire):
    wire.respond(**answers([page(1), page(2)], [page(2), page(1), page(3)]))

    assert [1, 2, 3] == numbers(search_many(runtime_with(), ["a", "b"]))


@pytest.mark.parametrize("nothing", [[], None])
def test_a_query_without_hits_leaves_the_others_theirs(search_many, wire, nothing):
    wire.respond(**answers([page(1)], nothing, [page(2)]))

    result = search_many(runtime_with(), ["a", "b", "c"])
    assert ([1, 2], ()) == (numbers(result), result.warnings)


def test_a_stray_page_beside_lists_is_kept(search_many, wire):
    wire.respond(**answers([page(1), page(2)], page(3)))

    assert [1, 3, 2] == numbers(search_many(runtime_with(), ["a", "b"]))


def test_one_bad_entry_in_a_list_is_counted_and_loses_nothing_else(search_many, wire):
    wire.respond(**answers([page(1), 5], [{"url": None}, page(2)]))

    result = search_many(runtime_with(), ["a", "b"])
    assert [1, 2] == numbers(result)
    assert ("2 source entries without a usable http(s) address left out",) == result.warnings


def test_no_hits_at_all_are_an_empty_result(search_many, wire):
    wire.respond(**answers())

    result = search_many(runtime_with(), ["a", "b"])
    assert ((), False) == (result.sources, result.truncated)


@pytest.mark.parametrize("shape", ["flat", "grouped"])
def test_the_bound_holds_for_all_queries_together(search_many, wire, shape):
    pages = [page(number) for number in range(1, 5)]
    wire.respond(**answers(*(pages if shape == "flat" else [pages[:2], pages[2:]])))

    result = search_many(runtime_with(), ["a", "b"], max_results=3)
    assert (3, True) == (len(result.sources), result.truncated)
    assert 3 == sent(wire)[0]["max_results"]


def test_exactly_the_bound_is_not_truncated(search_many, wire):
    wire.respond(**answers([page(1)], [page(2)]))

    assert not search_many(runtime_with(), ["a", "b"], max_results=2).truncated


@pytest.mark.parametrize("max_results", [None, 21])
def test_more_than_one_request_can_bring_is_asked_for_query_by_query(
    search_many, wire, max_results
):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(), ["a", "b"], max_results=max_results)

    assert ["a", "b"] == sorted(body["query"] for body in sent(wire))


def test_five_queries_still_fit_one_request(search_many, wire):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(max_queries=5), list("abcde"))

    assert [list("abcde")] == [body["query"] for body in sent(wire)]


def test_more_than_five_queries_are_requests_of_their_own(search_many, wire):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(max_queries=6), list("abcdef"))

    assert list("abcdef") == sorted(body["query"] for body in sent(wire))


def test_more_queries_than_allowed_are_refused_before_anything_is_sent(search_many):
    with pytest.raises(InvalidRequestError, match="queries must contain at most 4 queries"):
        search_many(runtime_with(), list("abcde"))


def test_a_blank_query_among_others_is_refused_before_anything_is_sent(search_many):
    with pytest.raises(InvalidRequestError, match="each query must be a non-empty string"):
        search_many(runtime_with(), ["a", " "])


def test_a_result_per_query_needs_a_request_per_query(wire):
    wire.respond(**answers(page(1)))
    outcomes = runtime_with().search_each(["a", "b"])

    assert 2 == len(outcomes)
    assert ["a", "b"] == sorted(body["query"] for body in sent(wire))


def test_several_queries_are_one_billable_request(search_many, wire):
    wire.respond(**answers([page(1)], [page(2)]))
    runtime = runtime_with()
    result = search_many(runtime, ["a", "b", "c"])

    assert (1, 1, 0.005) == (
        runtime.usage.calls,
        runtime.usage.searches,
        runtime.usage.cost_usd,
    )
    assert (1, 0.005, True) == (
        result.usage.searches,
        result.usage.cost_usd,
        result.usage.cost_is_estimate,
    )


def test_several_queries_fit_a_budget_of_one_call(search_many, wire):
    wire.respond(**answers(page(1)))

    assert [1] == numbers(search_many(runtime_with(budget=Budget(calls=1)), ["a", "b"]))


def test_filters_are_sent_once_for_all_queries(search_many, wire):
    wire.respond(**answers(page(1)))
    search_many(runtime_with(), ["a", "b"], country="NZ", exclude_domains=["a.example"])

    expected = {
        "query": ["a", "b"],
        "max_results": 8,
        "country": "NZ",
        "search_domain_filter": ["-a.example"],
    }
    assert [expected] == sent(wire)


def test_a_filter_that_is_refused_is_refused_for_all(search_many):
    with pytest.raises(UnsupportedFilterError, match="mode=finance"):
        search_many(runtime_with(), ["a", "b"], mode="finance")


def test_a_warning_about_a_filter_comes_once(search_many, wire):
    wire.respond(**answers(page(1)))
    result = search_many(runtime_with(), ["a", "b"], mode="finance", on_unsupported="warn")

    assert ("Perplexity does not support the filter mode=finance; it was left out",) == (
        result.warnings
    )


def test_the_raw_body_is_kept_on_request(search_many, wire):
    body = search_body([page(1)], [page(2)])
    wire.respond(json=body)

    assert body == search_many(runtime_with(), ["a", "b"], include_raw=True).raw


def test_a_failing_request_fails_them_all_once(search_many, wire):
    wire.respond(400, json={"error": {"message": "no such country", "code": 400}})
    runtime = runtime_with()
    with pytest.raises(ProviderError, match="no such country"):
        search_many(runtime, ["a", "b"])

    assert (1, 1, 1) == (wire.call_count, runtime.usage.calls, runtime.usage.failed_calls)


def test_a_failing_request_is_retried_as_a_whole(search_many, wire):
    good = httpx.Response(200, json=search_body(page(1)))
    wire.mock(side_effect=[httpx.Response(503, headers={"retry-after-ms": "1"}), good])
    runtime = runtime_with(PerplexitySearchProvider(api_key=KEY))

    assert [1] == numbers(search_many(runtime, ["a", "b"]))
    assert [["a", "b"], ["a", "b"]] == [body["query"] for body in sent(wire)]


def test_a_provider_without_joint_queries_gets_a_request_per_query(search_many):
    runtime = runtime_with(PerplexityAgentProvider(api_key=KEY))
    with respx.mock:
        route = respx.post("https://api.perplexity.ai/v1/agent").respond(
            json=agent_body(found(page(1)), said("yes"))
        )
        result = search_many(runtime, ["a", "b"])

    assert ["a", "b"] == sorted(body["input"] for body in sent(route))
    assert "## a\n\nyes\n\n## b\n\nyes" == result.content
    assert (2, [1]) == (runtime.usage.calls, numbers(result))


def test_the_same_queries_in_another_order_are_another_request(wire):
    wire.respond(**answers(page(1)))
    runtime = runtime_with(cache={})
    first = runtime.search_many(["a", "b"])
    again = runtime.search_many(["a", "b"])
    other = runtime.search_many(["b", "a"])

    assert (False, True, False) == (first.cached, again.cached, other.cached)
    assert 2 == wire.call_count
