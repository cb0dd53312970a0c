"""Other people's clients against the server, unchanged but for the base address.

They were written for the live service, so what they accept says something about the server that
our own client cannot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import perplexity
import pytest
from langchain_perplexity import PerplexitySearchRetriever
from perplexity import AsyncPerplexity, Perplexity

from dsh_web.server import Fault, LoopbackServer

QUESTION = "What do tidal turbines do?"
TIDES = "https://energy.example/articles/tides"


@pytest.fixture
def sdk(server: LoopbackServer) -> Iterator[Perplexity]:
    with Perplexity(api_key=server.api_key, base_url=server.url, max_retries=0) as client:
        yield client


def test_the_sdk_searches(sdk: Perplexity) -> None:
    found = sdk.search.create(query=QUESTION, max_results=3, search_domain_filter=[".example"])

    assert found.results[0].url == TIDES
    assert found.results[0].date == "2026-01-15"
    assert "ebb and flow" in found.results[0].snippet


def test_the_sdk_creates_responses(sdk: Perplexity) -> None:
    response = sdk.responses.create(preset="fast", input=QUESTION)

    assert response.status == "completed"
    assert response.output_text
    assert "[1]" in response.output_text
    assert response.usage is not None
    assert response.usage.cost is not None
    assert response.usage.cost.total_cost > 0


def test_the_sdk_sends_tools_that_are_accepted(sdk: Perplexity) -> None:
    response = sdk.responses.create(
        model="openai/gpt-6-luna",
        input=QUESTION,
        tools=[{"type": "web_search", "filters": {"search_domain_filter": ["energy.example"]}}],
    )

    assert [item.type for item in response.output] == ["search_results", "message"]


def test_the_async_sdk_does_the_same(server: LoopbackServer) -> None:
    async def ask() -> tuple[str, str]:
        async with AsyncPerplexity(api_key=server.api_key, base_url=server.url) as client:
            found = await client.search.create(query=QUESTION)
            response = await client.responses.create(preset="low", input=QUESTION)
            return found.results[0].url, response.output_text

    url, text = asyncio.run(ask())

    assert url == TIDES
    assert "[web:1]" in text


def test_the_sdk_maps_a_wrong_key(server: LoopbackServer) -> None:
    with (
        Perplexity(api_key="wrong", base_url=server.url) as client,
        pytest.raises(perplexity.AuthenticationError) as caught,
    ):
        client.search.create(query=QUESTION)

    assert caught.value.status_code == 401


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("status=429", perplexity.RateLimitError),
        ("status=500", perplexity.InternalServerError),
        ("status=403", perplexity.PermissionDeniedError),
        ("reset-after=0", perplexity.APIConnectionError),
    ],
)
def test_the_sdk_maps_faults_asked_for_by_base_url(
    server: LoopbackServer, spec: str, error: type[Exception]
) -> None:
    base_url = f"{server.url}/_fault/{spec}"
    with (
        Perplexity(api_key=server.api_key, base_url=base_url, max_retries=0) as client,
        pytest.raises(error),
    ):
        client.search.create(query=QUESTION)


def test_the_sdk_maps_refusals(sdk: Perplexity) -> None:
    with pytest.raises(perplexity.BadRequestError, match="unknown field"):
        sdk.responses.create(preset="fast", input="x", extra_body={"search_mode": "web"})
    with pytest.raises(perplexity.UnprocessableEntityError):
        sdk.search.create(query=QUESTION, max_results=99)


def test_the_sdk_retries_as_the_server_tells_it(server: LoopbackServer) -> None:
    server.add_fault(Fault.parse("status=429,retry-after-ms=1"), times=2)

    with Perplexity(api_key=server.api_key, base_url=server.url) as client:
        found = client.search.create(query=QUESTION)

    assert found.results[0].url == TIDES
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == [
        *("0", "1", "2"),
    ]


def test_the_langchain_retriever_takes_the_address_from_the_environment(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERPLEXITY_BASE_URL", server.url)
    monkeypatch.setenv("PERPLEXITY_API_KEY", server.api_key)

    retriever = PerplexitySearchRetriever(k=2)
    documents = retriever.invoke(QUESTION)
    # Its client would stay connected until the garbage collector comes by.
    retriever.client.close()

    assert len(documents) == 2
    assert documents[0].metadata["url"] == TIDES
    assert server.requests[-1].json["max_results"] == 2


def test_the_langchain_retriever_takes_a_client(sdk: Perplexity) -> None:
    retriever: Any = PerplexitySearchRetriever(client=sdk, search_recency_filter="week")

    assert [d.metadata["url"] for d in retriever.invoke(QUESTION)] == [
        "https://corpus.example/notes/lagoon.txt"
    ]
