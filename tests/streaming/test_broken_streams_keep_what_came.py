"""A stream that breaks off leaves what had arrived, in the error that it raises."""

from __future__ import annotations

import pickle

import pytest

from dsh_web import PerplexityAgentProvider, WebError, WebRuntime
from dsh_web.server import LoopbackServer


def breaking(server: LoopbackServer) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexityAgentProvider(
            api_key=server.api_key, base_url=f"{server.url}/_fault/cut-after=12000", max_retries=0
        )
    )
    return runtime


def test_text_and_sources_that_came_are_in_the_error() -> None:
    with LoopbackServer() as server, breaking(server).stream("How do I sort a list?") as stream:
        pieces = []
        with pytest.raises(WebError) as caught:
            pieces += [event.text for event in stream if event.kind == "text"]

    partial = caught.value.partial
    assert partial.content == stream.text != ""
    assert partial.sources
    assert partial.provider == "perplexity"
    assert partial.finish_reason == "error"
    assert "partial" not in caught.value.to_dict()
    assert pickle.loads(pickle.dumps(caught.value)).partial == partial


async def test_text_and_sources_that_came_are_in_the_error_async() -> None:
    with LoopbackServer() as server:
        stream = breaking(server).astream("How do I sort a list?")
        with pytest.raises(WebError) as caught:
            async for _ in stream:
                pass

    assert caught.value.partial.content == stream.text != ""


def test_a_search_that_brought_nothing_has_no_partial_result() -> None:
    with LoopbackServer() as server:
        runtime = WebRuntime()
        runtime.register_search_provider(
            PerplexityAgentProvider(api_key="wrong", base_url=server.url)
        )
        with pytest.raises(WebError) as caught, runtime.stream("q") as stream:
            list(stream)

    assert caught.value.partial is None
