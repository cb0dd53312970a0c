"""What a call is taken to cost where the provider does not say it itself."""

import re
from datetime import date

import pytest

from dsh_web import (
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    Usage,
    WebSearchRequest,
)
from dsh_web.prices import PRICES_READ_ON, agent_cost, effort_cost, search_cost, sonar_cost
from tests.core.perplexity import KEY, agent_body, ask, page, said, search_body, sonar_body
from tests.flows import reply

TOKENS = Usage(input_tokens=2_000_000, output_tokens=1_000_000, searches=2)


def usage_of(provider, body, **fields) -> Usage:
    return ask(provider, reply(body), **fields)[1].usage


def agent_usage(model="openai/gpt-6-luna", *, cost=None, **settings) -> Usage:
    usage = {
        "input_tokens": 2_000_000,
        "output_tokens": 1_000_000,
        "total_tokens": 3_000_000,
        "tool_calls_details": {"search_web": {"invocation": 2}},
    }
    if cost is not None:
        usage["cost"] = cost
    body = agent_body(said("a"), model=model, usage=usage)
    return usage_of(PerplexityAgentProvider(api_key=KEY, **settings), body)


def sonar_usage(model="sonar", *, cost=None, context_size=None, **more) -> Usage:
    usage = {"prompt_tokens": 1000, "completion_tokens": 2000, "total_tokens": 3000, **more}
    if cost is not None:
        usage["cost"] = cost
    body = sonar_body(model=model, usage=usage)
    fields = {"context_size": context_size} if context_size else {}
    return usage_of(PerplexitySonarProvider(api_key=KEY), body, **fields)


def test_the_table_is_dated_with_a_day_that_has_been():
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", PRICES_READ_ON)
    assert date(2026, 1, 1) <= date.fromisoformat(PRICES_READ_ON)


# -- Search --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_fast", "cost"), [(False, 0.005), (True, 0.001)])
def test_a_search_request_has_one_price(is_fast, cost):
    assert cost == search_cost(is_fast=is_fast)


@pytest.mark.parametrize(("extra", "cost"), [({}, 0.005), ({"search_type": "fast"}, 0.001)])
def test_a_search_costs_the_same_however_many_results_it_has(extra, cost):
    provider = PerplexitySearchProvider(api_key=KEY, extra_body=extra)

    for pages in ([], [page(1)], [page(1), page(2)]):
        usage = usage_of(provider, search_body(*pages))
        assert Usage(searches=1, cost_usd=cost, cost_is_estimate=True) == usage


# -- Agent ---------------------------------------------------------------------------------------


def test_a_run_of_a_known_model_is_priced_by_its_tokens_and_searches():
    # 2 M tokens in at $0.10, 1 M out at $0.50, two fast searches at $0.001.
    usage = agent_usage()

    assert (0.702, True) == (usage.cost_usd, usage.cost_is_estimate)


def test_a_run_that_names_its_model_pays_the_standard_price_for_a_search():
    usage = agent_usage(effort=None, model="openai/gpt-6-luna")

    assert (0.702, 0.705) == (agent_usage().cost_usd, usage.cost_usd)


@pytest.mark.parametrize("model", ["somebody/unheard-of", "", None, 5])
def test_a_run_of_an_unknown_model_has_no_price(model):
    usage = agent_usage(model)

    assert (None, False) == (usage.cost_usd, usage.cost_is_estimate)


@pytest.mark.parametrize("total", [0.00475, 0, 0.0])
def test_the_providers_own_number_wins_and_is_no_estimate(total):
    usage = agent_usage(cost={"currency": "USD", "total_cost": total})

    assert (total, False) == (usage.cost_usd, usage.cost_is_estimate)


@pytest.mark.parametrize("cost", [{}, {"total_cost": None}, {"total_cost": "1"}, [], "0.1"])
def test_a_cost_that_cannot_be_read_gives_way_to_an_estimate(cost):
    usage = agent_usage(cost=cost)

    assert (0.702, True) == (usage.cost_usd, usage.cost_is_estimate)


def test_no_usage_is_no_cost():
    assert usage_of(PerplexityAgentProvider(api_key=KEY), agent_body(said("a"))) is None


@pytest.mark.parametrize("missing", ["input_tokens", "output_tokens"])
def test_without_a_token_count_there_is_no_estimate(missing):
    usage = TOKENS.model_copy(update={missing: None})

    assert agent_cost("openai/gpt-6-luna", usage, is_fast=True) is None


@pytest.mark.parametrize(
    ("effort", "cost"),
    [
        ("fast", 0.0015),
        ("fast@2026-10-16.0", 0.0015),
        ("low", 0.004),
        ("medium", 0.016),
        ("high", None),
        ("xhigh", None),
        (None, None),
    ],
)
def test_an_effort_costs_what_was_observed(effort, cost):
    assert cost == effort_cost(effort)


# -- Sonar ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "context_size", "cost"),
    [
        ("sonar", None, 0.008),  # 0.003 for tokens, 0.005 for the request
        ("sonar", "low", 0.008),
        ("sonar", "medium", 0.011),
        ("sonar", "high", 0.015),
        ("sonar-pro", None, 0.039),
        ("sonar-reasoning-pro", "high", 0.032),
        ("perplexity/sonar", None, 0.008),
    ],
)
def test_a_sonar_answer_is_priced_by_its_tokens_and_context_size(model, context_size, cost):
    usage = sonar_usage(model, context_size=context_size)

    assert (cost, True) == (usage.cost_usd, usage.cost_is_estimate)


def test_deep_research_also_pays_for_its_reasoning_and_its_searches():
    usage = sonar_usage("sonar-deep-research", reasoning_tokens=1_000_000, num_search_queries=10)

    # 0.018 for tokens, 3.00 for reasoning, 0.05 for ten searches.
    assert (3.068, True) == (usage.cost_usd, usage.cost_is_estimate)


def test_an_unknown_sonar_model_has_no_price():
    assert sonar_usage("sonar-next").cost_usd is None


@pytest.mark.parametrize("cost", [{"total_cost": 0.006}, 0.006])
def test_sonars_own_number_wins_in_either_shape(cost):
    usage = sonar_usage(cost=cost)

    assert (0.006, False) == (usage.cost_usd, usage.cost_is_estimate)


def test_a_request_alone_is_priced_without_its_tokens():
    assert 0.008 == sonar_cost("sonar", None, "medium")


# -- before the call -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "cost"),
    [
        (PerplexitySearchProvider(api_key=KEY), 0.005),
        (PerplexitySearchProvider(api_key=KEY, extra_body={"search_type": "fast"}), 0.001),
        (PerplexityAgentProvider(api_key=KEY), 0.0015),
        (PerplexityAgentProvider(api_key=KEY, effort="high"), None),
        (PerplexityAgentProvider(api_key=KEY, model="openai/gpt-6-sol"), None),
        (PerplexitySonarProvider(api_key=KEY), 0.005),
        (PerplexitySonarProvider(api_key=KEY, model="own/model"), None),
    ],
    ids=str,
)
def test_a_provider_says_what_a_request_is_likely_to_cost(provider, cost):
    assert cost == provider.estimated_cost(WebSearchRequest(query="q"))


def test_an_agent_run_pays_each_tool_its_own_price():
    usage = Usage(input_tokens=0, output_tokens=0, searches=3)

    calls = {"search_web": 1, "search_people": 1, "finance_search": 1, "unheard_of": 9}
    assert 0.011 == pytest.approx(
        agent_cost("openai/gpt-6-luna", usage, is_fast=True, tool_calls=calls)
    )
