"""How `WebSearchRetriever` is configured, called, copied and observed."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from datetime import date

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import RetrieverTool

from dsh_web import (
    CancelToken,
    InvalidRequestError,
    ProviderError,
    SearchFields,
    SelectionError,
    UnsupportedFilterError,
    WebRuntime,
)
from llama_index_dsh_web import SearchOptions, WebSearchRetriever

SECRET = "test-key-0123456789"


def test_it_is_a_llama_index_retriever():
    assert issubclass(WebSearchRetriever, BaseRetriever)


def test_every_filter_of_the_seam_is_an_option():
    of_the_seam = SearchFields.__annotations__.keys() - {
        "max_results",
        "include_raw",
        "response_format",
    }

    assert of_the_seam | {"timeout", "cancel"} == SearchOptions.__annotations__.keys()


async def test_k_bounds_the_sources(runtime, provider, retrieve):
    found = await retrieve(WebSearchRetriever(runtime=runtime, k=2), "q")

    assert len(found) == 2
    assert [request.max_results for request in provider.requests] == [2]


async def test_filters_reach_the_provider(runtime, provider, retrieve):
    retriever = WebSearchRetriever(
        runtime=runtime,
        recency="week",
        include_domains=["https://Example.com/"],
        country="nz",
        languages="EN",
    )

    await retrieve(retriever, "q")

    sent = provider.requests[0]
    assert (sent.recency, sent.country, sent.languages) == ("week", "NZ", ("en",))
    assert sent.include_domains == ("example.com",)


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0},
        {"k": True},
        {"k": None},
        {"recency": "fortnight"},
        {"published_after": "yesterday"},
        {"published_after": "2026-02-01", "published_before": "2026-01-01"},
        {"country": "New Zealand"},
        {"max_tokens": 0},
        {"on_unsupported": "ignore"},
        {"timeout": -1},
    ],
)
def test_a_bad_option_is_refused_at_once(options):
    with pytest.raises(InvalidRequestError) as caught:
        WebSearchRetriever(**options)
    assert caught.value.code == "WEB_INVALID_REQUEST"

    with pytest.raises(InvalidRequestError):
        WebSearchRetriever().with_options(**options)


@pytest.mark.parametrize("name", ["top_k", "max_results", "include_raw", "query", "api_key"])
def test_an_unknown_option_is_a_type_error(name):
    with pytest.raises(TypeError, match=name):
        WebSearchRetriever(**{name: 1})
    with pytest.raises(TypeError, match=name):
        WebSearchRetriever().with_options(**{name: 1})


async def test_with_options_changes_a_copy(runtime, provider, retrieve):
    manager = CallbackManager()
    retriever = WebSearchRetriever(runtime=runtime, k=3, recency="day", timeout=5)
    changed = retriever.with_options(
        k=1, recency=None, country="nz", callback_manager=manager, verbose=True
    )

    assert (len(await retrieve(retriever, "q")), len(await retrieve(changed, "q"))) == (3, 1)
    before, after = provider.requests
    assert [(r.recency, r.country) for r in (before, after)] == [("day", None), (None, "NZ")]
    assert changed.callback_manager is manager is not retriever.callback_manager


async def test_with_options_keeps_what_a_subclass_added(runtime, retrieve):
    class Labelled(WebSearchRetriever):
        def __init__(self, label: str, **options) -> None:
            super().__init__(**options)
            self.label = label

    changed = Labelled("tides", runtime=runtime).with_options(k=1)

    assert (Labelled, "tides", 1) == (
        type(changed),
        changed.label,
        len(await retrieve(changed, "q")),
    )


async def test_a_filter_the_provider_lacks_is_an_error_or_a_warning(runtime, retrieve, event_log):
    retriever = WebSearchRetriever(runtime=runtime, mode="finance")

    with pytest.raises(UnsupportedFilterError):
        await retrieve(retriever, "q")
    await retrieve(retriever.with_options(on_unsupported="warn"), "q")

    warnings = event_log.named("WebSearchEvent")[0].warnings
    assert warnings[:1] == ["fake does not support the filter mode=finance; it was left out"]


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("  tides \n", "tides"),
        ("\ninput is tides\n", "tides"),
        ("\ninput is high\nand low tides\n", "high\nand low tides"),
        ("input is tides", "input is tides"),
        ("\nquery is tides\n", "query is tides"),
        (QueryBundle("tides"), "tides"),
    ],
)
async def test_the_query_is_sent_without_its_wrapping(runtime, provider, retrieve, asked, sent):
    await retrieve(WebSearchRetriever(runtime=runtime), asked)

    assert [sent] == [request.query for request in provider.requests]


async def test_a_retriever_tool_asks_what_the_agent_asked(runtime, provider, run_tool):
    tool = RetrieverTool.from_defaults(WebSearchRetriever(runtime=runtime), name="pages")

    output = await run_tool(tool, input="tides")

    assert [request.query for request in provider.requests] == ["tides"]
    assert "https://beta.example/b" in output.content


async def test_a_blank_query_is_refused_unsent(runtime, provider, retrieve):
    with pytest.raises(InvalidRequestError, match="query must be a non-empty string"):
        await retrieve(WebSearchRetriever(runtime=runtime), " \n")

    assert provider.requests == []


async def test_a_failure_keeps_its_type_and_is_tried_once(runtime, provider, retrieve):
    provider.error = ProviderError("no", status_code=500)

    with pytest.raises(ProviderError) as caught:
        await retrieve(WebSearchRetriever(runtime=runtime), "q")

    assert caught.value.status_code == 500
    assert len(provider.requests) == 1


async def test_a_cancelled_token_stops_the_call(runtime, provider, retrieve):
    token = CancelToken()
    retriever = copy.deepcopy(WebSearchRetriever(runtime=runtime, cancel=token))
    token.cancel("enough")

    with pytest.raises(Exception, match="aborted") as caught:
        await retrieve(retriever, "q")

    assert caught.value.code == "WEB_ABORTED"
    assert provider.requests == []


# -- events and spans --------------------------------------------------------------------------


async def test_facts_of_the_whole_result_are_an_event_and_on_no_node(runtime, retrieve, event_log):
    found = await retrieve(WebSearchRetriever(runtime=runtime, k=2), "q")

    names = [event.class_name() for event in event_log.events]
    (event,) = event_log.named("WebSearchEvent")
    assert names == ["RetrievalStartEvent", "WebSearchEvent", "RetrievalEndEvent"]
    assert event.span_id
    facts = json.loads(event.model_dump_json())
    assert {k: v for k, v in facts.items() if k not in ("id_", "span_id", "tags", "timestamp")} == {
        "queries": ["q"],
        "source_count": 2,
        "truncated": True,
        "provider": "fake",
        "model": None,
        "request_id": "r-1",
        "finish_reason": None,
        "usage": {"input_tokens": 3, "cost_usd": 0.005, "cost_is_estimate": False},
        "warnings": ["one entry was skipped"],
        "related_questions": ["When is low tide?"],
        "images": [],
    }
    assert not any("r-1" in str(node.node.metadata) for node in found)


async def test_the_search_has_a_span_of_its_own(runtime, retrieve, span_log):
    await retrieve(WebSearchRetriever(runtime=runtime), "q")

    spans = {span.id_.split("-")[0]: span for span in span_log.completed_spans}
    outer, inner = sorted(spans, key=lambda name: "._" in name)
    assert inner in ("WebSearchRetriever._retrieve", "WebSearchRetriever._aretrieve")
    assert spans[inner].parent_id == spans[outer].id_


async def test_neither_events_nor_spans_nor_attributes_show_the_key(
    loopback, loopback_runtime, retrieve, event_log, span_log
):
    retriever = WebSearchRetriever(runtime=loopback_runtime)
    await retrieve(retriever, "q")

    seen = [repr(event) for event in event_log.events]
    seen += [repr(span) for span in span_log.completed_spans]
    seen += [repr(retriever), repr(vars(retriever)), repr(vars(retriever._call))]
    assert not any(SECRET in text for text in seen)
    assert not [name for name in dir(retriever) if "key" in name]


# -- the runtime from the environment, copies, pickles ---------------------------------------------


async def test_without_a_runtime_one_is_built_at_the_first_call(monkeypatch, retrieve, loopback):
    retriever = WebSearchRetriever()
    changed = retriever.with_options(k=1)
    with pytest.raises(SelectionError):
        await retrieve(WebSearchRetriever(), "q")

    monkeypatch.setenv("PERPLEXITY_API_KEY", SECRET)
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "perplexity-search")
    monkeypatch.setenv("PERPLEXITY_BASE_URL", loopback.url)
    (found,) = await retrieve(changed, "q")

    assert found.text == "on q"
    assert changed._call.runtime is retriever._call.runtime is copy.deepcopy(changed)._call.runtime
    retriever._call.runtime.close()


async def test_a_copy_searches_through_the_same_runtime(runtime, provider, retrieve):
    copied = copy.deepcopy(WebSearchRetriever(runtime=runtime, k=2))

    assert len(await retrieve(copied, "q")) == 2
    assert len(provider.requests) == 1


async def test_a_pickle_holds_settings_but_no_key(
    monkeypatch, loopback, loopback_runtime, retrieve
):
    retriever = WebSearchRetriever(
        runtime=loopback_runtime, k=1, published_after=date(2026, 1, 2), timeout=7
    )

    pickled = pickle.dumps(retriever)
    monkeypatch.setenv("PERPLEXITY_API_KEY", SECRET)
    restored = pickle.loads(pickled)

    assert SECRET.encode() not in pickled
    assert len(await retrieve(restored, "q")) == 1
    assert retriever._call.arguments == restored._call.arguments
    restored._call.runtime.close()


async def test_a_pickled_retriever_of_the_environment_reads_the_new_environment(
    monkeypatch, retrieve
):
    monkeypatch.setenv("PERPLEXITY_API_KEY", SECRET)
    retriever = WebSearchRetriever()
    built = retriever._call.runtime

    pickled = pickle.dumps(retriever)
    restored = pickle.loads(pickled)

    assert SECRET.encode() not in pickled
    assert built is not restored._call.runtime


def test_a_cancel_token_cannot_be_pickled_along():
    with pytest.raises(TypeError, match="cancel token"):
        pickle.dumps(WebSearchRetriever(runtime=WebRuntime(), cancel=CancelToken()))


# -- event loops, over real connections ------------------------------------------------------------


def test_one_retriever_serves_loop_after_loop(loopback, loopback_runtime):
    retriever = WebSearchRetriever(runtime=loopback_runtime)

    counts = [len(asyncio.run(retriever.aretrieve(f"q{turn}"))) for turn in range(3)]

    assert counts == [2, 2, 2]
    assert loopback.queries == ["q0", "q1", "q2"]


async def test_retrieve_can_be_called_inside_a_running_loop(loopback, loopback_runtime):
    assert len(WebSearchRetriever(runtime=loopback_runtime).retrieve("q")) == 2


async def test_the_loop_goes_on_while_a_search_waits(loopback, loopback_runtime):
    loopback.delay = 0.4
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.02)
            ticks += 1

    ticker = asyncio.ensure_future(tick())
    await WebSearchRetriever(runtime=loopback_runtime).aretrieve("q")
    ticker.cancel()

    assert ticks >= 8


async def test_cancelling_the_task_closes_the_connection(loopback, loopback_runtime, event_log):
    loopback.delay = 10
    task = asyncio.ensure_future(WebSearchRetriever(runtime=loopback_runtime).aretrieve("q"))
    await asyncio.to_thread(loopback.asked.wait, 5)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await asyncio.to_thread(loopback.hung_up.wait, 0.2)
    assert {task for task in asyncio.all_tasks() if not task.done()} == {asyncio.current_task()}
    assert event_log.named("WebSearchEvent") == []


def test_every_neutral_filter_is_a_setting():
    from dsh_web.filters import FILTERS

    assert [] == [name for name in FILTERS if name not in SearchOptions.__annotations__]
