import json

import pytest

from dsh_web import (
    FilterSupport,
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    UnsupportedFilterError,
    WebSearchRequest,
)
from dsh_web.filters import FILTERS, apply_support
from tests.core.perplexity import EMPTY_AGENT, EMPTY_SEARCH, EMPTY_SONAR, KEY
from tests.flows import play

EXACT = FilterSupport(level="exact")
ROUGH = FilterSupport(level="approximate", note="only roughly")
VALUES = {
    "recency": ["hour", "day", "week", "month", "year"],
    "published_after": ["2026-01-02"],
    "published_before": ["2026-01-02"],
    "updated_after": ["2026-01-02"],
    "updated_before": ["2026-01-02"],
    "include_domains": [["a.example"]],
    "exclude_domains": [["a.example"]],
    "country": ["NZ"],
    "languages": [["en"]],
    "context_size": ["low", "medium", "high"],
    "mode": ["academic", "sec", "people", "finance"],
    "max_tokens_per_page": [100],
    "max_tokens": [1000],
    "objective": ["To compare tides."],
    "search_queries": [["tides", "tidal range"]],
}
EVERY = [(name, value) for name, values in VALUES.items() for value in values]
EMPTY = {
    PerplexityAgentProvider: EMPTY_AGENT,
    PerplexitySearchProvider: EMPTY_SEARCH,
    PerplexitySonarProvider: EMPTY_SONAR,
}
each_filter = pytest.mark.parametrize(("name", "value"), EVERY, ids=[f"{n}={v}" for n, v in EVERY])
each_provider = pytest.mark.parametrize("kind", list(EMPTY), ids=[kind.id for kind in EMPTY])


def request_with(**fields: object) -> WebSearchRequest:
    return WebSearchRequest(query="q", **fields)


def test_every_neutral_filter_is_covered_here():
    assert set(FILTERS) == set(VALUES)


def test_every_field_of_a_request_is_a_filter_or_a_known_option():
    options = {"query", "max_results", "on_unsupported", "include_raw", "response_format"}

    assert options | set(FILTERS) == set(WebSearchRequest.model_fields)


@each_filter
def test_a_filter_that_is_not_supported_raises_naming_filter_and_provider(name, value):
    key = f"mode={value}" if name == "mode" else name

    with pytest.raises(UnsupportedFilterError) as caught:
        apply_support(request_with(**{name: value}), {}, "Toy", "toy")

    assert (
        f"Toy does not support the filter {key}: leave it out, choose another provider, "
        'or set on_unsupported="warn"',
        "WEB_UNSUPPORTED_FILTER",
        "toy",
    ) == (caught.value.message, caught.value.code, caught.value.provider)


@each_filter
def test_a_filter_that_is_not_supported_becomes_a_warning_on_request(name, value):
    key = f"mode={value}" if name == "mode" else name
    request = request_with(**{name: value}, on_unsupported="warn")
    _, warnings = apply_support(request, {}, "Toy", "toy")

    assert (f"Toy does not support the filter {key}; it was left out",) == warnings


@each_filter
def test_a_filter_that_was_warned_about_is_not_passed_on(name, value):
    request = request_with(**{name: value}, on_unsupported="warn")
    passed_on, _ = apply_support(request, {}, "Toy", "toy")

    assert getattr(request_with(), name) == getattr(passed_on, name)


@each_filter
def test_a_supported_filter_is_passed_on_without_a_word(name, value):
    key = f"mode={value}" if name == "mode" else name
    request = request_with(**{name: value})

    assert (request, ()) == apply_support(request, {key: EXACT}, "Toy", "toy")


@pytest.mark.parametrize("policy", ["raise", "warn"])
@each_filter
def test_an_approximated_filter_is_passed_on_and_always_warns(name, value, policy):
    key = f"mode={value}" if name == "mode" else name
    request = request_with(**{name: value}, on_unsupported=policy)

    expected = (request, (f"Toy only approximates the filter {key}: only roughly",))
    assert expected == apply_support(request, {key: ROUGH}, "Toy", "toy")


def test_a_plain_request_is_passed_on_as_it_is():
    request = request_with()

    assert request is apply_support(request, {}, "Toy", "toy")[0]


@pytest.mark.parametrize("fields", [{"mode": "web"}, {"mode": None}, {"languages": []}])
def test_a_filter_that_asks_for_nothing_needs_no_support(fields):
    assert () == apply_support(request_with(**fields), {}, "Toy", "toy")[1]


def test_one_supported_mode_does_not_support_another():
    with pytest.raises(UnsupportedFilterError, match="mode=sec"):
        apply_support(request_with(mode="sec"), {"mode=people": EXACT}, "Toy", "toy")


def test_several_warnings_are_in_documentation_order():
    request = request_with(max_tokens=5, recency="day", on_unsupported="warn")
    _, warnings = apply_support(request, {}, "Toy", "toy")

    assert ["recency", "max_tokens"] == [text.split()[6].rstrip(";") for text in warnings]


def body_for(kind: type, request: WebSearchRequest) -> dict:
    steps, _ = play(kind(api_key=KEY).search_flow(request), EMPTY[kind])
    return json.loads(steps[0].body)


@each_provider
@each_filter
def test_every_filter_changes_the_request_of_every_provider_or_is_refused(kind, name, value):
    request = request_with(**{name: value})
    try:
        passed_on, _ = apply_support(request, kind.supported_filters, "Perplexity", kind.id)
    except UnsupportedFilterError:
        changed = "refused"
    else:
        changed = body_for(kind, passed_on)

    assert body_for(kind, request_with()) != changed


@each_provider
@pytest.mark.parametrize("mode", [None, "academic", "sec", "people", "finance"])
@each_filter
def test_no_filter_is_lost_beside_a_mode(kind, mode, name, value):
    if name == "mode":
        value = mode
    asked = {"mode": mode, name: value, "on_unsupported": "warn"}
    without = {"mode": mode, "on_unsupported": "warn"} if name != "mode" else {}
    outcomes = []
    for fields in (asked, without):
        request, warnings = apply_support(
            request_with(**fields), kind.supported_filters, "Perplexity", kind.id
        )
        steps, result = play(kind(api_key=KEY).search_flow(request), EMPTY[kind])
        outcomes.append((json.loads(steps[0].body), warnings + result.warnings))

    assert (name == "mode" and mode is None) == (outcomes[0] == outcomes[1])


@each_provider
def test_every_declared_filter_exists(kind):
    names = {key.partition("=")[0] for key in kind.supported_filters}

    assert names <= set(FILTERS)


@each_provider
def test_every_approximation_says_what_happens_instead(kind):
    rough = [s for s in kind.supported_filters.values() if s.level == "approximate"]

    assert [True] * len(rough) == [bool(support.note) for support in rough]


@pytest.mark.parametrize("extra", [{"tools": [{"type": "image_search"}]}, {"tool_choice": "auto"}])
def test_an_extra_body_cannot_take_a_filter_out_unseen(extra):
    provider = PerplexityAgentProvider(api_key=KEY, extra_body=extra)
    request = request_with(recency="day")

    if "tools" in extra:
        with pytest.raises(InvalidRequestError, match="extra_body replaces 'tools'"):
            play(provider.search_flow(request))
    else:
        steps, _ = play(provider.search_flow(request), EMPTY[PerplexityAgentProvider])
        assert "day" == json.loads(steps[0].body)["tools"][0]["filters"]["search_recency_filter"]


@pytest.mark.parametrize("name", ["max_tokens", "max_tokens_per_page"])
@pytest.mark.parametrize("kind", [PerplexityAgentProvider, PerplexitySearchProvider])
def test_a_token_budget_beyond_the_vendors_is_refused_before_sending(kind, name):
    with pytest.raises(InvalidRequestError, match=f"{name} must be at most 1,000,000"):
        play(kind(api_key=KEY).search_flow(request_with(**{name: 2_000_000})))


def test_sonar_says_that_it_ignores_dates_in_the_academic_corpus():
    request = request_with(mode="academic", published_after="2026-01-02")
    _, result = play(
        PerplexitySonarProvider(api_key=KEY).search_flow(request), EMPTY[PerplexitySonarProvider]
    )

    assert ("Perplexity ignores dates with mode=academic",) == result.warnings
