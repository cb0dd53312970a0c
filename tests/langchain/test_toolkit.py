"""`WebToolkit`: two tools, one runtime."""

from __future__ import annotations

import copy
import pickle

import pytest
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.tools.base import BaseToolkit
from pydantic import ValidationError

from dsh_web import WebRuntime
from langchain_dsh_web import WebFetchTool, WebSearchTool, WebToolkit
from tests.fetching import FakeFetcher, fetching, text

URL = "https://a.example/x"


@pytest.fixture
def both(runtime) -> WebRuntime:
    return fetching(FakeFetcher({URL: text(URL, "Page text.")}), runtime)


def test_it_is_a_langchain_toolkit():
    assert issubclass(WebToolkit, BaseToolkit)


async def test_both_tools_work_over_the_runtime(invoke, both):
    search, fetch = WebToolkit(runtime=both).get_tools()

    assert (type(search), type(fetch)) == (WebSearchTool, WebFetchTool)
    assert "- [T0](https://site.example/0)" in await invoke(search, {"queries": ["q"]})
    assert "Page text." in await invoke(fetch, {"url": URL})


def test_the_tools_share_runtime_and_limiter(both):
    limiter = InMemoryRateLimiter()
    search, fetch = WebToolkit(runtime=both, rate_limiter=limiter).get_tools()

    assert search._used_runtime() is fetch._used_runtime() is both
    assert search.rate_limiter is fetch.rate_limiter is limiter


def test_a_runtime_from_the_environment_is_one_for_all_tools(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", "test-key-000")
    toolkit = WebToolkit(search={"max_queries": 6})
    search, fetch = toolkit.get_tools()

    used = fetch._used_runtime()

    assert search._used_runtime() is used
    assert toolkit.get_tools()[0]._used_runtime() is used
    assert used.max_queries == 6


def test_a_key_may_be_set_after_the_first_fetch(monkeypatch):
    search, fetch = WebToolkit().get_tools()
    fetch._used_runtime()

    monkeypatch.setenv("PERPLEXITY_API_KEY", "test-key-000")

    assert search._used_runtime().search_provider_id() == "perplexity"


def test_options_reach_their_tools(both):
    search, fetch = WebToolkit(
        runtime=both,
        timeout=20,
        search={"recency": "month", "max_results": 3},
        fetch={"main_content": True, "timeout": 5},
    ).get_tools()

    assert (search.recency, search.max_results, search.timeout) == ("month", 3, 20)
    assert (fetch.main_content, fetch.timeout) == (True, 5)


def test_one_tool_alone_can_be_had(both):
    (fetch,) = WebToolkit(runtime=both, include=("web_fetch",)).get_tools()

    assert fetch.name == "web_fetch"


@pytest.mark.parametrize(
    "options",
    [{"search": {"colour": 1}}, {"fetch": {"max_output_chars": 0}}, {"include": ["x"]}, {"k": 1}],
)
def test_a_wrong_option_is_refused_when_the_toolkit_is_built(both, options):
    with pytest.raises(ValidationError):
        WebToolkit(runtime=both, **options)


def test_a_deep_copy_shares_the_runtime_and_a_pickle_keeps_the_options(both):
    toolkit = WebToolkit(runtime=both, search={"max_results": 3})

    assert copy.deepcopy(toolkit).get_tools()[0].runtime is both
    loaded = pickle.loads(pickle.dumps(WebToolkit(search={"max_results": 3})))
    assert loaded.get_tools()[0].max_results == 3


def test_its_repr_shows_no_runtime(both):
    assert "Runtime" not in repr(WebToolkit(runtime=both))
