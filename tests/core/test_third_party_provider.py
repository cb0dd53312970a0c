"""A provider as a stranger would write it: public names only, no base class."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
import respx

import dsh_web
from dsh_web import (
    FilterSupport,
    Flow,
    HttpRequest,
    ProviderError,
    Resolve,
    RetryPolicy,
    UnsupportedFilterError,
    WebError,
    WebRuntime,
    WebSearchProvider,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
    send_with_retries,
)

URL = "https://api.toy.example/find"


class ToyProvider:
    id = "toy"
    label = "Toy"
    supported_filters: Mapping[str, FilterSupport] = {
        "country": FilterSupport(level="exact"),
        "recency": FilterSupport(level="approximate", note="only whole years"),
    }

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        body = json.dumps({"text": request.query, "in": request.country}).encode()
        headers = {"content-type": "application/json"}
        wire = HttpRequest("POST", URL, headers, body=body)
        response = yield from send_with_retries(wire, RetryPolicy(max_retries=1, first_wait=0.0))
        if response.status != 200:
            raise ProviderError(f"Toy says {response.status}", status_code=response.status)
        hits = json.loads(response.body)["hits"]
        return WebSearchResult(
            provider=self.id, sources=[WebSearchSource(url=hit["link"]) for hit in hits]
        )


class WrappedFunction:
    """A vendor's own client, called as it is."""

    id = "wrapped"

    def __init__(self, find: Any) -> None:
        self._find = find

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        links = yield Resolve(lambda: self._find(request.query))
        sources = [WebSearchSource(url=link) for link in links]
        return WebSearchResult(provider=self.id, sources=sources)


@pytest.fixture(params=["sync", "async"])
def search(request: pytest.FixtureRequest):
    """Return `search(runtime, query, **fields)`, once through each of the two methods."""

    async def search(runtime: WebRuntime, query: str, **fields: Any) -> WebSearchResult:
        if request.param == "async":
            return await runtime.asearch(query, **fields)
        return runtime.search(query, **fields)

    return search


def runtime_with(provider: object) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(provider)
    return runtime


def hits(*links: str) -> httpx.Response:
    return httpx.Response(200, json={"hits": [{"link": link} for link in links]})


def test_it_needs_no_base_class():
    assert isinstance(ToyProvider(), WebSearchProvider)


def test_its_whole_vocabulary_is_public():
    used = {
        FilterSupport, HttpRequest, ProviderError, Resolve, RetryPolicy, WebSearchProvider,
        WebSearchRequest, WebSearchResult, WebSearchSource, send_with_retries,
    }  # fmt: skip

    assert {thing.__name__ for thing in used} <= set(dsh_web.__all__)


@respx.mock
async def test_it_searches(search):
    respx.post(URL).mock(return_value=hits("https://a.example/", "https://b.example/"))
    result = await search(runtime_with(ToyProvider()), "bees")

    assert ("toy", ["https://a.example/", "https://b.example/"]) == (
        result.provider,
        [source.url for source in result.sources],
    )


@respx.mock
async def test_its_request_arrives_as_it_made_it(search):
    route = respx.post(URL).mock(return_value=hits())
    await search(runtime_with(ToyProvider()), "日本", country="nz")

    sent = route.calls.last.request
    assert ({"text": "日本", "in": "NZ"}, "application/json") == (
        json.loads(sent.content),
        sent.headers["content-type"],
    )


@respx.mock
async def test_its_request_carries_no_ambient_credentials(search):
    route = respx.post(URL).mock(return_value=hits())
    await search(runtime_with(ToyProvider()), "q")

    assert set() == {"authorization", "cookie"} & set(route.calls.last.request.headers)


@respx.mock
async def test_it_shares_the_retries(search):
    route = respx.post(URL)
    route.side_effect = [httpx.Response(503), hits("https://a.example/")]
    result = await search(runtime_with(ToyProvider()), "q")

    assert (2, 1) == (route.call_count, len(result.sources))


@respx.mock
async def test_it_is_bounded_by_the_seam(search):
    respx.post(URL).mock(return_value=hits("https://a.example/", "https://b.example/"))
    result = await search(runtime_with(ToyProvider()), "q", max_results=1)

    assert (1, True) == (len(result.sources), result.truncated)


@respx.mock
async def test_exactly_the_bound_is_not_truncated(search):
    respx.post(URL).mock(return_value=hits("https://a.example/", "https://b.example/"))
    result = await search(runtime_with(ToyProvider()), "q", max_results=2)

    assert (2, False) == (len(result.sources), result.truncated)


@respx.mock
async def test_its_own_error_gets_its_id(search):
    respx.post(URL).mock(return_value=httpx.Response(404))

    with pytest.raises(ProviderError) as caught:
        await search(runtime_with(ToyProvider()), "q")

    assert ("Toy says 404", "toy", 404) == (
        caught.value.message,
        caught.value.provider,
        caught.value.status_code,
    )


@respx.mock
async def test_its_slip_over_a_servers_answer_is_a_provider_error(search):
    respx.post(URL).mock(return_value=httpx.Response(200, json={"unexpected": 1}))

    with pytest.raises(ProviderError) as caught:
        await search(runtime_with(ToyProvider()), "q")

    assert ("WEB_PROVIDER_ERROR", "Toy search failed: KeyError: 'hits'", KeyError) == (
        caught.value.code,
        caught.value.message,
        type(caught.value.__cause__),
    )


@respx.mock
async def test_a_network_failure_that_it_does_not_handle_is_a_provider_error(search):
    respx.post(URL).mock(side_effect=httpx.ReadError("reset"))

    with pytest.raises(ProviderError, match="reset"):
        await search(runtime_with(ToyProvider()), "q")


async def test_a_filter_that_it_does_not_declare_is_refused_before_anything_is_sent(search):
    with respx.mock(assert_all_called=False) as router:
        route = router.post(URL)
        with pytest.raises(UnsupportedFilterError, match="Toy does not support the filter mode"):
            await search(runtime_with(ToyProvider()), "q", mode="academic")

    assert 0 == route.call_count


@respx.mock
async def test_a_filter_that_it_only_approximates_warns(search):
    respx.post(URL).mock(return_value=hits())
    result = await search(runtime_with(ToyProvider()), "q", recency="day")

    assert ("Toy only approximates the filter recency: only whole years",) == result.warnings


async def test_a_plain_function_is_wrapped_in_one_step(search):
    provider = WrappedFunction(lambda query: [f"https://a.example/{query}"])

    result = await search(runtime_with(provider), "bees")
    assert ["https://a.example/bees"] == [source.url for source in result.sources]


async def test_an_async_function_is_wrapped_in_one_step(search):
    async def find(query: str) -> list[str]:
        return [f"https://a.example/{query}"]

    result = await search(runtime_with(WrappedFunction(find)), "bees")
    assert ["https://a.example/bees"] == [source.url for source in result.sources]


async def test_an_exception_of_a_wrapped_function_is_a_provider_error(search):
    def find(query: str) -> list[str]:
        raise KeyError(query)

    with pytest.raises(ProviderError) as caught:
        await search(runtime_with(WrappedFunction(find)), "bees")

    assert "wrapped search failed: KeyError: 'bees'" == caught.value.message


class Returning:
    """Whose flow returns something else than a result."""

    id = "returning"

    def __init__(self, value: object) -> None:
        self._value = value

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Flow[Any]:
        yield from ()
        return self._value


@pytest.mark.parametrize("value", [None, {"sources": []}, "text"])
async def test_a_flow_that_returns_no_result_is_a_provider_error(search, value):
    with pytest.raises(WebError) as caught:
        await search(runtime_with(Returning(value)), "q", max_results=1)

    assert ("WEB_PROVIDER_ERROR", "returning") == (caught.value.code, caught.value.provider)


class NoFlow(Returning):
    def search_flow(self, request: WebSearchRequest) -> Any:
        return WebSearchResult(provider=self.id)


async def test_a_flow_that_is_none_is_a_provider_error(search):
    with pytest.raises(ProviderError) as caught:
        await search(runtime_with(NoFlow(None)), "q")

    assert caught.value.message.startswith("returning search failed: ")


class StrangeStep(Returning):
    def search_flow(self, request: WebSearchRequest) -> Flow[Any]:
        yield "not a step"


async def test_a_step_that_nobody_knows_is_a_provider_error(search):
    with pytest.raises(ProviderError, match="which is not a step"):
        await search(runtime_with(StrangeStep(None)), "q")
