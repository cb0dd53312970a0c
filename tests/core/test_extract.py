"""Extraction: an outcome for each address, in the order that was asked for, whoever reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import respx
from httpx import Response

from dsh_web import (
    ExtractOutcome,
    HttpFetchProvider,
    InvalidRequestError,
    ParallelExtractProvider,
    ProviderError,
    SelectionError,
    WebError,
    WebExtractError,
    WebExtractRequest,
    WebExtractResult,
    WebPage,
    WebRuntime,
)
from dsh_web.extract_calls import in_order
from dsh_web.server import LoopbackServer
from tests.core.parallel import KEY

URL = "https://api.parallel.ai/v1/extract"
A, B, C = (f"https://{name}.example/page" for name in "abc")


def page(url: str, text: str = "Text.") -> ExtractOutcome:
    return ExtractOutcome(url=url, page=WebPage(url=url, text=text))


def entry(url: str, **fields: Any) -> dict[str, Any]:
    known = {"url": url, "title": "T", "publish_date": "2026-03-01", "excerpts": ["E"]}
    return {**known, "full_content": "Whole page.", **fields}


def body(*results: Any, errors: Any = (), **fields: Any) -> dict[str, Any]:
    return {
        "extract_id": "extract_1",
        "session_id": "session_1",
        "results": list(results),
        "errors": list(errors),
        "warnings": None,
        "usage": [{"name": "sku_extract_excerpts", "count": len(results)}],
        **fields,
    }


def runtime_with(provider: Any) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_extract_provider(provider)
    return runtime


@pytest.fixture
def parallel() -> WebRuntime:
    return runtime_with(ParallelExtractProvider(api_key=KEY, max_retries=0))


@pytest.fixture(params=["sync", "async"])
def extract(request: pytest.FixtureRequest) -> Any:
    async def extracted(runtime: WebRuntime, *arguments: Any, **fields: Any) -> WebExtractResult:
        if request.param == "sync":
            return runtime.extract(*arguments, **fields)
        return await runtime.aextract(*arguments, **fields)

    return extracted


# -- order -----------------------------------------------------------------------------------------


def test_outcomes_come_in_the_callers_order_with_repeats_and_gaps() -> None:
    ordered = in_order([B, A, B, C], [page(A, "a"), page(B, "b"), page("https://else.example/")])

    assert [outcome.url for outcome in ordered] == [B, A, B, C]
    assert [outcome.page and outcome.page.text for outcome in ordered] == ["b", "a", "b", None]
    assert ordered[3].error is not None
    assert "neither the page nor a reason" in ordered[3].error.message


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("https://A.Example/page", "https://a.example/page"),
        ("https://a.example:443/page", "https://a.example/page"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example/x/", "https://a.example/x"),
        ("https://a.example/x#part", "https://a.example/x"),
    ],
)
def test_another_spelling_of_an_address_is_the_same_address(asked: str, answered: str) -> None:
    (outcome,) = in_order([asked], [page(answered)])

    assert outcome.url == asked
    assert outcome.page is not None
    assert outcome.page.url == answered


def test_an_exact_match_comes_before_a_similar_one() -> None:
    slash, bare = "https://a.example/x/", "https://a.example/x"

    ordered = in_order([slash, bare], [page(bare, "bare"), page(slash, "slash")])

    assert [outcome.page.text for outcome in ordered if outcome.page] == ["slash", "bare"]


@pytest.mark.parametrize("urls", [[], [" "], ["https://a.example/", ""], [5]])
def test_a_request_without_addresses_is_refused(urls: list[Any]) -> None:
    with pytest.raises(InvalidRequestError):
        WebExtractRequest(urls=urls)


def test_a_lone_text_is_one_address() -> None:
    assert WebExtractRequest(urls=A).urls == (A,)  # type: ignore[arg-type]
    assert WebExtractRequest(urls=(A,), queries="tea").queries == ("tea",)  # type: ignore[arg-type]


def test_results_round_trip_through_json() -> None:
    result = WebExtractResult(
        outcomes=(page(A), ExtractOutcome(url=B, error=WebExtractError(message="no"))),
        provider="p",
    )

    assert WebExtractResult.model_validate(json.loads(result.model_dump_json())) == result
    assert [p.url for p in result.pages] == [A]
    assert list(result.errors) == [B]


# -- Parallel --------------------------------------------------------------------------------------


@respx.mock
async def test_pages_and_errors_come_back_in_order_whatever_order_they_came_in(
    extract, parallel
) -> None:
    failed = {"url": A, "error_type": "fetch_error", "http_status_code": 500, "content": "no"}
    respx.post(URL).respond(json=body(entry(C, full_content="c"), entry(B), errors=[failed]))

    result = await extract(parallel, [A, B, C])

    assert [outcome.url for outcome in result.outcomes] == [A, B, C]
    assert result.errors[A].status_code == 500
    assert result.errors[A].retryable
    assert result.errors[A].message == (
        "Parallel could not read the page: fetch_error (HTTP 500) - no"
    )
    assert [p.text for p in result.pages] == ["Whole page.", "c"]
    assert result.pages[0].title == "T"
    assert result.pages[0].published_at == "2026-03-01"
    assert result.pages[0].excerpts == ()  # nothing was said that they could be chosen by
    assert (result.provider, result.request_id) == ("parallel-extract", "extract_1")
    assert result.usage is not None
    assert result.usage.cost_usd == pytest.approx(0.003)


@respx.mock
async def test_what_is_sent_is_what_was_asked(extract, parallel) -> None:
    route = respx.post(URL).respond(json=body(entry(A)))

    result = await extract(
        parallel, [A, A], objective="opening hours", queries=["hours"], max_chars=5
    )

    sent = json.loads(route.calls[0].request.content)
    assert sent == {
        "urls": [A],
        "objective": "opening hours",
        "search_queries": ["hours"],
        "advanced_settings": {"full_content": {"max_chars_per_result": 5}},
    }
    assert route.calls[0].request.headers["x-api-key"] == KEY
    assert "authorization" not in route.calls[0].request.headers
    assert [outcome.url for outcome in result.outcomes] == [A, A]
    assert [p.text for p in result.pages] == ["Whole", "Whole"]
    assert result.pages[0].truncated
    assert result.pages[0].excerpts == ("E",)


@respx.mock
async def test_more_addresses_than_a_request_takes_are_sent_in_several(extract, parallel) -> None:
    def answer(request: Any) -> Response:
        urls = json.loads(request.content)["urls"]
        return Response(200, json=body(*map(entry, reversed(urls))))

    route = respx.post(URL).mock(side_effect=answer)
    urls = [f"https://site{number}.example/" for number in range(45)]

    result = await extract(parallel, urls, include_raw=True)

    assert [len(json.loads(call.request.content)["urls"]) for call in route.calls] == [20, 20, 5]
    assert [outcome.url for outcome in result.outcomes] == urls
    assert len(result.pages) == 45
    assert len(result.raw) == 3


@respx.mock
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest",
        "http://localhost:8080/",
        "http://printer.local/",
        "http://wiki.corp.internal/",
        "http://intranet/",
        "https://user:secret@a.example/",
        "ftp://a.example/",
        "not an address",
    ],
)
async def test_addresses_that_are_nobody_elses_business_are_not_sent(
    extract, parallel, url: str
) -> None:
    route = respx.post(URL).respond(json=body(entry(A)))

    result = await extract(parallel, [url, A])

    assert json.loads(route.calls[0].request.content)["urls"] == [A]
    assert result.outcomes[0].error is not None
    assert result.outcomes[0].error.code in ("WEB_BLOCKED_URL", "WEB_INVALID_URL")
    assert "secret" not in result.outcomes[0].error.message
    assert result.outcomes[1].page is not None


@respx.mock
async def test_without_any_sendable_address_nothing_is_sent(extract, parallel) -> None:
    route = respx.post(URL)

    result = await extract(parallel, ["http://localhost/"])

    assert not route.called
    assert list(result.errors) == ["http://localhost/"]


@respx.mock
async def test_the_whole_call_fails_where_the_key_is_refused(extract, parallel) -> None:
    envelope = {"type": "error", "error": {"ref_id": "r-1", "message": f"bad key {KEY}"}}
    respx.post(URL).respond(401, json=envelope)

    with pytest.raises(ProviderError) as caught:
        await extract(parallel, [A])

    assert caught.value.status_code == 401
    assert caught.value.provider == "parallel-extract"
    assert KEY not in str(caught.value)


@respx.mock
@pytest.mark.parametrize("answer", ["[]", "{", "null", '{"results": 5, "errors": "x"}'])
async def test_a_body_that_makes_no_sense_is_an_error(extract, parallel, answer: str) -> None:
    respx.post(URL).respond(text=answer)

    with pytest.raises(ProviderError, match="unprocessable"):
        await extract(parallel, [A])


@respx.mock
async def test_odd_entries_do_not_lose_the_others(extract, parallel) -> None:
    odd = [
        None,
        5,
        {"url": 5},
        {"url": B, "excerpts": [None, 3, "kept"], "title": 7, "full_content": None},
    ]
    errors = [{"url": C, "error_type": None, "http_status_code": "x", "content": 4}]
    respx.post(URL).respond(json=body(*odd, entry(A), errors=errors))

    result = await extract(parallel, [A, B, C])

    assert [p.text for p in result.pages] == ["Whole page.", "kept"]
    assert result.pages[1].title is None
    assert result.errors[C].message == "Parallel could not read the page: error"


@respx.mock
async def test_the_vendors_warnings_reach_the_result(extract, parallel) -> None:
    warning = {"type": "warning", "message": "no objective"}
    respx.post(URL).respond(json=body(entry(A), warnings=[warning]))

    assert (await extract(parallel, [A])).warnings == ("Parallel: no objective (warning)",)


@respx.mock
async def test_a_redirect_is_never_followed_with_the_key(extract, parallel) -> None:
    respx.post(URL).respond(307, headers={"location": "https://evil.example/"})
    elsewhere = respx.post("https://evil.example/")

    with pytest.raises(ProviderError, match=r"extract request failed: .*redirect"):
        await extract(parallel, [A])

    assert not elsewhere.called


@pytest.mark.parametrize(
    "fields",
    [
        {"objective": "x" * 5001},
        {"queries": ["a", "b", "c", "d", "e", "f"]},
        {"queries": ["x" * 201]},
    ],
)
async def test_what_the_api_refuses_is_refused_before_it(extract, parallel, fields: Any) -> None:
    with pytest.raises(InvalidRequestError):
        await extract(parallel, [A], **fields)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"fetch_policy": {"max_age_seconds": 5}}, "600 or more"),
        ({"fetch_policy": {"speed": 5}}, "fetch_policy takes"),
        ({"max_chars_per_result": 0}, "max_chars_per_result"),
        ({"api_key": ""}, "no API key"),
    ],
)
def test_settings_out_of_range_make_it_unavailable(settings: Any, reason: str) -> None:
    provider = ParallelExtractProvider(**{"api_key": KEY, **settings})

    assert not provider.available()
    assert reason in str(provider.unavailable_reason())


# -- who reads -------------------------------------------------------------------------------------


async def test_without_an_extract_provider_the_fetch_provider_reads(extract) -> None:
    with LoopbackServer() as server:
        runtime = WebRuntime()
        runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
        urls = [f"{server.url}/pages/1", "ftp://x.example/", f"{server.url}/pages/2"]

        result = await extract(runtime, urls, objective="anything")

        assert runtime.extract_provider_id() is None
    assert [outcome.url for outcome in result.outcomes] == urls
    assert [outcome.page is not None for outcome in result.outcomes] == [True, False, True]
    assert result.outcomes[0].page.status_code == 200
    assert result.errors["ftp://x.example/"].code == "WEB_INVALID_URL"
    assert result.provider == "http"
    assert "objective" in result.warnings[0]


async def test_two_extract_providers_are_ambiguous_until_one_is_chosen(
    extract, monkeypatch
) -> None:
    class Other:
        id = "other"

        def available(self) -> bool:
            return True

        def extract_flow(self, request: WebExtractRequest) -> Any:
            yield from ()
            return WebExtractResult(outcomes=map(page, request.urls), provider="other")

    runtime = runtime_with(ParallelExtractProvider(api_key=KEY))
    runtime.register_extract_provider(Other())

    with pytest.raises(SelectionError, match="DSH_WEB_EXTRACT_PROVIDER"):
        await extract(runtime, [A])
    monkeypatch.setenv("DSH_WEB_EXTRACT_PROVIDER", "other")
    assert (await extract(runtime, [A])).provider == "other"
    monkeypatch.setenv("DSH_WEB_EXTRACT_PROVIDER", "nobody")
    with pytest.raises(SelectionError) as caught:
        await extract(runtime, [A])
    assert caught.value.code == "WEB_PROVIDER_CONFIGURED_MISSING"


def test_the_environment_names_who_extracts(monkeypatch) -> None:
    monkeypatch.setenv("PARALLEL_API_KEY", KEY)
    assert WebRuntime.from_env().extract_provider_id() is None
    monkeypatch.setenv("DSH_WEB_EXTRACT_PROVIDER", "parallel-extract")
    assert WebRuntime.from_env().extract_provider_id() == "parallel-extract"
    monkeypatch.setenv("DSH_WEB_EXTRACT_PROVIDER", "http")
    assert WebRuntime.from_env().extract_provider_id() is None
    statuses = {s["capability"] for s in WebRuntime.from_env().describe()}
    assert statuses == {"search", "fetch"}


async def test_a_flow_that_returns_something_else_is_a_provider_error(extract) -> None:
    class Broken:
        id = "broken"

        def available(self) -> bool:
            return True

        def extract_flow(self, request: Any) -> Any:
            yield from ()
            return {"outcomes": []}

    with pytest.raises(WebError, match="not a WebExtractResult"):
        await extract(runtime_with(Broken()), [A])


@respx.mock
async def test_what_extraction_costs_is_counted(extract, parallel) -> None:
    respx.post(URL).respond(json=body(entry(A), entry(B)))

    await extract(parallel, [A, B])

    assert parallel.usage.calls == 1
    assert parallel.usage.searches == 0
    assert parallel.usage.cost_usd == pytest.approx(0.002)


# -- what uses it ----------------------------------------------------------------------------------


class Found:
    id = "found"

    def available(self) -> bool:
        return True

    def search_flow(self, request: Any) -> Any:
        from dsh_web import WebSearchResult

        yield from ()
        sources = [{"url": A, "snippet": "sa"}, {"url": B, "snippet": "sb"}]
        return WebSearchResult(sources=sources, provider="found")


@respx.mock
async def test_both_retrievers_and_the_reader_have_pages_extracted() -> None:
    from langchain_dsh_web import WebSearchRetriever as LangChainRetriever
    from llama_index_dsh_web import WebPageReader
    from llama_index_dsh_web import WebSearchRetriever as LlamaIndexRetriever

    failed = {"url": B, "error_type": "fetch_error", "http_status_code": 404, "content": None}
    route = respx.post(URL).respond(json=body(entry(A), errors=[failed]))
    runtime = runtime_with(ParallelExtractProvider(api_key=KEY, max_retries=0))
    runtime.register_search_provider(Found())

    documents = await LangChainRetriever(runtime=runtime, content="page").ainvoke("q")
    nodes = LlamaIndexRetriever(runtime=runtime, content="page").retrieve("q")
    loaded = WebPageReader(runtime, on_error="skip").load_data(urls=[A, B])

    assert [d.page_content for d in documents] == ["Whole page.", "sb"]
    assert [d.metadata["content"] for d in documents] == ["page", "snippet"]
    assert [n.text for n in nodes] == ["Whole page.", "sb"]
    assert [(d.text, d.metadata["provider"]) for d in loaded] == [
        ("Whole page.", "parallel-extract")
    ]
    assert route.call_count == 3  # one request for all pages of a call


@respx.mock
async def test_a_refused_extraction_leaves_the_snippets() -> None:
    from langchain_dsh_web import WebSearchRetriever as LangChainRetriever

    respx.post(URL).respond(402, json={"error": {"message": "no credit"}})
    runtime = runtime_with(ParallelExtractProvider(api_key=KEY, max_retries=0))
    runtime.register_search_provider(Found())

    documents = await LangChainRetriever(runtime=runtime, content="page").ainvoke("q")

    assert [d.page_content for d in documents] == ["sa", "sb"]
