"""A request that carries a key never follows a redirect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from dsh_web import (
    ParallelChatProvider,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    WebRuntime,
)

from .raw_server import RawServer, answering, http_answer
from .support import KEY, OK, Call, provider_failure

PROVIDERS = [
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    ParallelSearchProvider,
    ParallelChatProvider,
]


@pytest.mark.parametrize("provider_type", PROVIDERS, ids=lambda kind: kind.id)
@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("where", ["the same origin", "another origin", "nowhere"])
def test_a_redirect_is_an_error_and_its_target_is_not_contacted(
    call: Call,
    serve: Callable[..., RawServer],
    provider_type: type[PerplexitySearchProvider],
    status: int,
    where: str,
) -> None:
    elsewhere = serve(answering(OK))
    target = {"the same origin": {"location": "/elsewhere"}, "nowhere": {}}.get(
        where, {"location": elsewhere.url + "/"}
    )
    server = serve(answering(http_answer(status=status, **target)))
    runtime = WebRuntime()
    runtime.register_search_provider(provider_type(api_key=KEY, base_url=server.url))

    error = provider_failure(lambda: call(runtime))

    assert error.status_code == status
    assert "redirect" in str(error)
    assert str(error).startswith(f"{provider_type.label} search request failed: ")
    assert len(server.requests) == 1
    assert elsewhere.connections == 0


def test_a_client_of_the_callers_that_follows_redirects_does_not_follow_this_one(
    serve: Callable[..., RawServer],
) -> None:
    elsewhere = serve(answering(OK))
    server = serve(answering(http_answer(status=307, location=elsewhere.url)))
    provider = PerplexitySearchProvider(api_key=KEY, base_url=server.url)

    with httpx.Client(follow_redirects=True) as client:
        runtime = WebRuntime(http_client=client)
        runtime.register_search_provider(provider)
        provider_failure(lambda: runtime.search("q"))
        provider_failure(lambda: asyncio.run(runtime.asearch("q")))

    async def in_async_client() -> None:
        async with httpx.AsyncClient(follow_redirects=True) as async_client:
            runtime = WebRuntime(async_http_client=async_client)
            runtime.register_search_provider(provider)
            await runtime.asearch("q")

    provider_failure(lambda: asyncio.run(in_async_client()))
    assert len(server.requests) == 3
    assert elsewhere.connections == 0
