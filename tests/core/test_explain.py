"""A search that is not made: what would be sent, and what would become of its filters."""

import json
from typing import Any

import pytest
import respx

from dsh_web import (
    Budget,
    Explanation,
    FilterSupport,
    HttpRequest,
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    ProviderError,
    Resolve,
    SelectionError,
    Sleep,
    UnsupportedFilterError,
    UsageTotal,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web._secret import Secret
from dsh_web.filters import FILTERS
from tests.core.perplexity import KEY, agent_body, said, search_body, sonar_body

BASE = "https://api.perplexity.ai"
PROVIDERS = {
    "agent": (PerplexityAgentProvider, "/v1/agent", agent_body(said("a"))),
    "search": (PerplexitySearchProvider, "/search", search_body()),
    "sonar": (PerplexitySonarProvider, "/chat/completions", sonar_body()),
}
VALUES: dict[str, Any] = {
    "recency": "week",
    "published_after": "2026-01-02",
    "published_before": "2026-02-03",
    "updated_after": "2026-01-02",
    "updated_before": "2026-02-03",
    "include_domains": ["a.example"],
    "exclude_domains": ["b.example"],
    "country": "nz",
    "languages": ["en", "fr"],
    "context_size": "low",
    "max_tokens_per_page": 100,
    "max_tokens": 900,
    "objective": "To compare tides.",
    "search_queries": ["tides", "tidal range"],
}
MODES = ["web", "academic", "sec", "people", "finance"]
EVERY = [*VALUES.items(), *(("mode", mode) for mode in MODES)]


@pytest.fixture(params=list(PROVIDERS))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def runtime_with(provider: Any, **settings: Any) -> WebRuntime:
    runtime = WebRuntime(**settings)
    runtime.register_search_provider(provider)
    return runtime


def runtime_of(kind: str, **settings: Any) -> WebRuntime:
    return runtime_with(PROVIDERS[kind][0](**{"api_key": KEY, **settings}))


def explain(kind: str, query: str = "q", **fields: Any) -> Explanation:
    return runtime_of(kind).explain(query, **fields)


def test_it_names_the_provider_and_the_address(kind):
    shown = explain(kind)

    expected = (PROVIDERS[kind][0].id, "POST", BASE + PROVIDERS[kind][1])
    assert expected == (shown.provider, shown.method, shown.url)


def test_the_headers_are_those_of_a_call_with_the_key_masked(kind):
    headers = explain(kind).headers

    assert "Bearer [masked]" == headers["authorization"]
    assert "application/json" == headers["content-type"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"max_results": 99},
        {"query": '日本 🎉 \\ "quoted"\nline'},
        {"recency": "week", "country": "nz", "exclude_domains": ["https://www.a.example/x/"]},
        {"published_after": "2026-01-02", "context_size": "high", "max_results": 3},
        {"mode": "people"},
        {"mode": "people", "country": "nz", "recency": "day"},
        {"mode": "finance"},
        {"mode": "academic", "languages": ["EN"]},
        {"response_format": {"type": "object", "title": "T"}},
    ],
    ids=str,
)
def test_the_body_is_what_a_call_then_sends(kind, fields):
    runtime = runtime_of(kind)
    fields = {"query": "tides", **fields}
    shown = runtime.explain(fields.pop("query"), **fields)
    answer = json.loads(json.dumps(PROVIDERS[kind][2]).replace('"a"', '"{}"'))
    answer = json.loads(json.dumps(answer).replace("Bees dance.[1]", "{}"))
    with respx.mock:
        route = respx.post(shown.url).respond(json=answer)
        query = shown.body.get("query") or shown.body.get("input")
        runtime.search(
            query or shown.body["messages"][0]["content"], on_unsupported="warn", **fields
        )
    request = route.calls.last.request

    assert json.loads(request.content) == shown.body
    assert {**shown.headers, "authorization": f"Bearer {KEY}"} == {
        name: request.headers[name] for name in shown.headers
    }


def test_settings_of_the_provider_show():
    shown = runtime_of("agent", effort="low", extra_body={"max_steps": 2}).explain("q")

    assert ("low", 2) == (shown.body["effort"], shown.body["max_steps"])


def test_a_complete_request_can_be_explained():
    request = WebSearchRequest(query="q", country="NZ")
    shown = runtime_of("search").explain(request, max_results=3)

    assert {"query": "q", "country": "NZ", "max_results": 3} == shown.body


# -- filters -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), EVERY, ids=str)
def test_a_filter_changes_the_request_or_is_refused(kind, name, value):
    shown = explain(kind, **{name: value})

    changes = shown.body != explain(kind).body
    fate = shown.filters[name]
    is_default = (name, value) == ("mode", "web")
    assert changes == (fate != "refused" and not is_default)
    assert (fate == "exact") == (shown.warnings == ())


def test_the_walk_covers_every_filter():
    assert sorted(FILTERS) == sorted({name for name, _ in EVERY})


@pytest.mark.parametrize(
    ("fields", "filters", "warnings"),
    [
        ({}, {}, ()),
        ({"recency": "day"}, {"recency": "exact"}, ()),
        (
            {"country": "NZ", "recency": "day"},
            {"recency": "exact", "country": "approximate"},
            (
                (
                    "Perplexity only approximates the filter country: it localizes the search, "
                    "it does not restrict the sources"
                ),
            ),
        ),
        (
            {"languages": ["en"]},
            {"languages": "refused"},
            ("Perplexity does not support the filter languages; it was left out",),
        ),
        (
            {"mode": "sec"},
            {"mode": "refused"},
            ("Perplexity does not support the filter mode=sec; it was left out",),
        ),
    ],
    ids=str,
)
def test_filters_are_exact_approximate_or_refused(fields, filters, warnings):
    shown = explain("agent", **fields)

    assert (filters, warnings) == (shown.filters, shown.warnings)


def test_a_filter_that_is_lost_beside_the_mode_is_refused():
    shown = explain("agent", mode="people", recency="day", updated_after="2026-01-02")

    expected = {"mode": "exact", "recency": "refused", "updated_after": "refused"}
    assert expected == shown.filters
    assert (
        "Perplexity does not support the filter recency with mode=people; it was left out",
        "Perplexity does not support the filter updated_after with mode=people; it was left out",
    ) == shown.warnings


@pytest.mark.parametrize(
    "fields",
    [
        {"country": "NZ"},
        {"languages": ["en"]},
        {"mode": "people", "recency": "day"},
        {"mode": "sec", "country": "NZ"},
        {"response_format": {"type": "object"}},
    ],
    ids=str,
)
def test_the_warnings_are_those_of_the_result(kind, fields):
    runtime = runtime_of(kind)
    shown = runtime.explain("q", **fields)
    answer = json.dumps(PROVIDERS[kind][2]).replace('"a"', '"{}"').replace("Bees dance.[1]", "{}")
    with respx.mock:
        respx.post(shown.url).respond(json=json.loads(answer))
        result = runtime.search("q", on_unsupported="warn", **fields)

    from_memory = "no web search was run: the answer comes from the model's memory"
    assert [w for w in result.warnings if w != from_memory] == list(shown.warnings)


def test_a_search_without_an_answer_cannot_follow_a_schema():
    shown = explain("search", response_format={"type": "object"})

    assert ("Perplexity does not support response_format; it was left out",) == shown.warnings
    assert {"query": "q"} == shown.body


@pytest.mark.parametrize(
    "fields",
    [
        {"recency": "day", "published_after": "2026-01-02"},
        {"include_domains": ["a.example"], "exclude_domains": ["b.example"]},
        {"include_domains": [f"site{n}.example" for n in range(21)]},
        {"country": "Atlantis"},
        {"published_after": "01/02/2026"},
        {"published_after": "2026-02-03", "published_before": "2026-01-02"},
        {"query": " "},
        {"max_results": 0},
        {"response_format": {"type": "array"}},
        {"unheard_of": 1},
    ],
    ids=str,
)
def test_what_a_call_would_refuse_is_refused(kind, fields):
    with pytest.raises(InvalidRequestError):
        explain(kind, **fields)


def test_a_refusal_of_the_provider_names_it():
    with pytest.raises(InvalidRequestError) as caught:
        explain("search", context_size="low", max_tokens=5)

    assert "perplexity-search" == caught.value.provider


# -- cost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings", "fields", "cost"),
    [
        ("agent", {}, {}, 0.0015),
        ("agent", {"effort": "xhigh"}, {}, None),
        ("search", {}, {"max_results": 20}, 0.005),
        ("search", {"extra_body": {"search_type": "fast"}}, {}, 0.001),
        ("sonar", {}, {}, 0.005),
        ("sonar", {"model": "sonar-pro"}, {"context_size": "high"}, 0.014),
    ],
    ids=str,
)
def test_it_estimates_the_cost(kind, settings, fields, cost):
    assert cost == runtime_of(kind, **settings).explain("q", **fields).estimated_cost_usd


# -- nothing happens -----------------------------------------------------------------------------


def no_key() -> str:
    raise AssertionError("the key was asked for")


async def no_async_key() -> str:
    raise AssertionError("the key was asked for")


@pytest.mark.parametrize("api_key", [no_key, no_async_key])
def test_no_key_is_asked_for_and_nothing_is_sent(kind, api_key):
    runtime = runtime_of(kind, api_key=api_key)
    with respx.mock:  # any request would raise
        shown = runtime.explain("q", mode="people", recency="day")

    assert "Bearer [masked]" == shown.headers["authorization"]


def test_nothing_is_counted_or_refused_by_a_budget(kind):
    runtime = runtime_with(PROVIDERS[kind][0](api_key=KEY), budget=Budget(calls=0))

    assert "POST" == runtime.explain("q").method
    assert UsageTotal() == runtime.usage


def test_the_key_is_in_no_field(kind):
    runtime = runtime_of(kind, base_url="https://user:hunter2@gateway.example/pplx")
    shown = runtime.explain(f"is {KEY} my key?", max_results=3)

    for text in (repr(shown), shown.model_dump_json(), str(shown)):
        assert KEY not in text
        assert "hunter2" not in text
    assert "https://gateway.example/pplx" + PROVIDERS[kind][1] == shown.url


def test_it_survives_being_stored(kind):
    shown = explain(kind, country="NZ", mode="sec")

    assert shown == Explanation.model_validate_json(shown.model_dump_json())


def test_no_provider_is_a_selection_error():
    with pytest.raises(SelectionError):
        WebRuntime().explain("q")


# -- providers of strangers ----------------------------------------------------------------------


class Stranger:
    id = "stranger"

    def __init__(self, flow: Any) -> None:
        self.search_flow = flow

    def available(self) -> bool:
        return True


UNKNOWN = (None, None, {}, None)


def facts(shown: Explanation) -> tuple[Any, ...]:
    return shown.method, shown.url, shown.headers, shown.body


def explained(flow: Any) -> Explanation:
    return runtime_with(Stranger(flow)).explain("q")


def test_a_flow_that_resolves_a_key_first_goes_on_with_a_stand_in():
    def flow(request):
        key = yield Resolve(no_key)
        yield Sleep(1)
        headers = {"x-api-key": Secret(key)}
        yield HttpRequest("PUT", "https://a.example/", secret_headers=headers, body=b"plain")

    expected = ("PUT", "https://a.example/", {"x-api-key": "[masked]"}, "plain")
    assert expected == facts(explained(flow))


def test_a_flow_that_never_sends_cannot_be_foretold():
    def flow(request):
        links = yield Resolve(no_key)
        return WebSearchResult(provider="stranger", content=str(links))

    assert UNKNOWN == facts(explained(flow))


@pytest.mark.parametrize("error", [KeyError("token"), TypeError("no dict"), ProviderError("no")])
def test_a_flow_that_cannot_work_with_the_stand_in_cannot_be_foretold(error):
    def flow(request):
        yield Resolve(no_key)
        raise error

    assert UNKNOWN == facts(explained(flow))


def test_a_flow_that_never_stops_resolving_cannot_be_foretold():
    def flow(request):
        while True:
            yield Resolve(no_key)

    assert UNKNOWN == facts(explained(flow))


def test_a_flow_that_is_no_flow_cannot_be_foretold():
    assert UNKNOWN == facts(explained(lambda request: []))


def test_a_flow_that_refuses_the_request_is_heard():
    def flow(request):
        yield from ()
        raise UnsupportedFilterError("not on Sundays")

    with pytest.raises(UnsupportedFilterError) as caught:
        explained(flow)

    assert "stranger" == caught.value.provider


def test_keys_that_a_stranger_sends_in_the_open_are_masked():
    def flow(request):
        body = json.dumps({"api_key": KEY, "q": "q", "max_tokens": 5, "more": [{"secret": KEY}]})
        yield HttpRequest(
            "POST",
            f"https://user:{KEY}@a.example/find?q=1&api_key={KEY}&n=2",
            {"Authorization": f"Token {KEY}", "X-Auth-Token": KEY, "accept": "*/*"},
            body=body.encode(),
        )

    shown = explained(flow)
    assert KEY not in shown.model_dump_json()
    assert "https://a.example/find?q=1&api_key=[masked]&n=2" == shown.url
    assert {"api_key": "[masked]", "q": "q", "max_tokens": 5, "more": [{"secret": "[masked]"}]} == (
        shown.body
    )
    assert "*/*" == shown.headers["accept"]


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[" * 100_000, b"{", b""])
def test_a_body_that_is_no_json_is_shown_as_text_or_not_at_all(body):
    def flow(request):
        yield HttpRequest("POST", "https://a.example/", body=body)

    shown = explained(flow)
    assert (body.decode("utf-8", "replace") or None) == shown.body


@pytest.mark.parametrize("cost", ["much", float("nan"), True, None, {}])
def test_a_strange_estimate_is_none(cost):
    provider = Stranger(lambda request: iter(()))
    provider.estimated_cost = lambda request: cost

    assert runtime_with(provider).explain("q").estimated_cost_usd is None


def test_an_estimate_that_fails_is_none():
    def estimated_cost(request):
        raise ZeroDivisionError

    provider = Stranger(lambda request: iter(()))
    provider.estimated_cost = estimated_cost

    assert runtime_with(provider).explain("q").estimated_cost_usd is None


def test_a_strangers_filters_are_reported():
    provider = Stranger(lambda request: iter(()))
    provider.supported_filters = {
        "recency": FilterSupport(level="approximate", note="whole years"),
        "country": FilterSupport(level="exact"),
    }
    shown = runtime_with(provider).explain(
        "q", recency="day", country="NZ", languages=["en"], mode="web"
    )

    expected = {
        "recency": "approximate",
        "country": "exact",
        "languages": "refused",
        "mode": "exact",
    }
    assert expected == shown.filters
