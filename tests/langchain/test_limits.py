"""Cancel tokens, time limits and rate limiters."""

from __future__ import annotations

import threading
import time

import pytest
from langchain_core.rate_limiters import BaseRateLimiter

from dsh_web import CancelToken, InvalidRequestError, PerplexitySearchProvider, WebError
from langchain_dsh_web import WebSearchRetriever, WebSearchTool


class CountingLimiter(BaseRateLimiter):
    def __init__(self, *, tokens: int = 100) -> None:
        self.tokens = tokens
        self.asked = threading.Event()

    def acquire(self, *, blocking: bool = True) -> bool:
        self.asked.set()
        if self.tokens == 0:
            assert not blocking, "this test would wait for ever"
            return False
        self.tokens -= 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire(blocking=blocking)


def cancel_once_set(event: threading.Event, token: CancelToken) -> None:
    def wait_and_cancel() -> None:
        event.wait(10)
        token.cancel("enough")

    threading.Thread(target=wait_and_cancel, daemon=True).start()


async def test_the_retriever_takes_one_token_per_search(invoke, runtime):
    limiter = CountingLimiter()

    await invoke(WebSearchRetriever(runtime=runtime, rate_limiter=limiter), "q")

    assert limiter.tokens == 99


async def test_the_tool_takes_one_token_per_query(invoke, runtime):
    limiter = CountingLimiter()
    tool = WebSearchTool(runtime=runtime, rate_limiter=limiter)

    await invoke(tool, {"queries": ["a", "b", "a"]})

    assert limiter.tokens == 98


async def test_a_request_at_fault_takes_no_token(invoke, runtime):
    limiter = CountingLimiter()

    with pytest.raises(InvalidRequestError):
        await invoke(WebSearchRetriever(runtime=runtime, rate_limiter=limiter), " ")
    await invoke(WebSearchTool(runtime=runtime, rate_limiter=limiter), {"queries": []})

    assert limiter.tokens == 100


async def test_a_cancel_ends_the_wait_for_a_token(invoke, runtime, provider):
    limiter, token = CountingLimiter(tokens=0), CancelToken()
    retriever = WebSearchRetriever(runtime=runtime, rate_limiter=limiter)
    cancel_once_set(limiter.asked, token)

    with pytest.raises(WebError) as caught:
        await invoke(retriever, "q", cancel=token)

    assert caught.value.code == "WEB_ABORTED"
    assert provider.requests == []


async def test_a_token_is_taken_while_a_cancel_is_possible(invoke, runtime):
    limiter = CountingLimiter()
    retriever = WebSearchRetriever(runtime=runtime, rate_limiter=limiter)

    await invoke(retriever, "q", cancel=CancelToken())

    assert limiter.tokens == 99


async def test_a_cancel_stops_a_search_of_the_retriever(invoke, runtime_of, server):
    provider = PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    token = CancelToken()
    cancel_once_set(server.hanging, token)

    with pytest.raises(WebError) as caught:
        await invoke(
            WebSearchRetriever(runtime=runtime_of(provider=provider)), "hang", cancel=token
        )

    assert caught.value.code == "WEB_ABORTED"
    assert str(caught.value.__cause__) == "enough"
    assert server.hung_up.wait(2)


async def test_a_cancel_stops_a_search_of_the_tool(invoke, runtime_of, server):
    provider = PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    token = CancelToken()
    tool = WebSearchTool(runtime=runtime_of(provider=provider), cancel=token)
    cancel_once_set(server.hanging, token)

    text = await invoke(tool, {"queries": ["hang"]})

    assert text == "web_search failed (WEB_ABORTED): Perplexity search aborted"
    assert server.hung_up.wait(2)


async def test_the_timeout_holds_for_the_whole_call(invoke, runtime_of, server):
    provider = PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    runtime = runtime_of(provider=provider)
    started = time.monotonic()

    with pytest.raises(WebError) as caught:
        await invoke(WebSearchRetriever(runtime=runtime, timeout=0.2), "hang")
    text = await invoke(WebSearchTool(runtime=runtime, timeout=0.2), {"queries": ["hang"]})

    assert caught.value.code == "WEB_TIMEOUT"
    assert text.startswith("web_search failed (WEB_TIMEOUT): ")
    assert time.monotonic() - started < 2


async def test_without_a_timeout_the_runtimes_own_holds(invoke, runtime_of, server):
    provider = PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    retriever = WebSearchRetriever(runtime=runtime_of(provider=provider, timeout=0.2))

    with pytest.raises(WebError, match=r"timed out after 0\.2 s"):
        await invoke(retriever, "hang")
