"""Copies work and pickles hold no key."""

from __future__ import annotations

import copy
import pickle

import pytest
from langchain_core.rate_limiters import InMemoryRateLimiter

from dsh_web import CancelToken, PerplexitySearchProvider, ProviderError
from langchain_dsh_web import WebSearchRetriever, WebSearchTool, WebToolException

KEY = "test-key-000"


@pytest.fixture(params=[WebSearchRetriever, WebSearchTool])
def kind(request):
    return request.param


def test_a_deep_copy_shares_runtime_and_limiter_and_works(kind, runtime):
    limiter = InMemoryRateLimiter(requests_per_second=1000)
    original = kind(runtime=runtime, rate_limiter=limiter, include_domains=["a.example"])

    copied = copy.deepcopy(original)

    assert copied.runtime is runtime
    assert copied.rate_limiter is limiter
    assert copied.include_domains == ("a.example",)
    assert copied.invoke("q")


def test_a_deep_copy_of_a_tool_shares_its_cancel_token(runtime):
    token = CancelToken()

    assert token is copy.deepcopy(WebSearchTool(runtime=runtime, cancel=token)).cancel


def test_a_pickle_holds_settings_and_no_key(kind, runtime_of, monkeypatch):
    runtime = runtime_of(
        provider=PerplexitySearchProvider(api_key=KEY), search_provider="perplexity-search"
    )
    original = kind(runtime=runtime, include_domains=["a.example"])

    data = pickle.dumps(original)

    assert KEY.encode() not in data
    assert not pickle.loads(data).runtime.describe()[0]["available"]
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    loaded = pickle.loads(data)
    assert loaded.runtime.describe()[0]["available"]
    assert loaded.include_domains == ("a.example",)


def test_a_pickled_tool_keeps_its_schema():
    tool = WebSearchTool(max_queries=2)
    assert tool.tool_call_schema

    loaded = pickle.loads(pickle.dumps(tool))

    assert tool.args == loaded.args
    assert loaded.invoke({"queries": [""]}) == "each query must be a non-empty string"


def test_a_pickle_leaves_a_runtime_from_the_environment_to_the_environment(kind, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    original = kind()
    used = original._used_runtime()
    assert used is original._used_runtime()

    loaded = pickle.loads(pickle.dumps(original))

    assert used is not loaded._used_runtime()


def test_a_pickled_exception_keeps_the_error():
    error = WebToolException("web_search failed", ProviderError("down", status_code=503))

    loaded = pickle.loads(pickle.dumps(error))

    assert (str(loaded), loaded.error.status_code) == ("web_search failed", 503)


def test_model_copy_works(kind, runtime):
    copied = kind(runtime=runtime).model_copy(update={"recency": "day"}, deep=True)

    assert copied.recency == "day"
    assert copied.invoke("q")


def test_repr_shows_no_runtime_and_no_key(kind, runtime_of):
    runtime = runtime_of(provider=PerplexitySearchProvider(api_key=KEY))

    text = repr(kind(runtime=runtime, rate_limiter=InMemoryRateLimiter()))

    assert KEY not in text
    assert "Runtime" not in text
    assert "RateLimiter" not in text
