"""The same question gives the same in LangChain and in LlamaIndex, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dsh_web import (
    HttpFetchProvider,
    ParallelChatProvider,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    WebError,
    WebRuntime,
    WebSearchResult,
)
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebFetchTool, WebSearchTool, WebToolkit
from langchain_dsh_web import WebSearchRetriever as LangChainRetriever
from llama_index_dsh_web import WebSearchRetriever as LlamaIndexRetriever
from llama_index_dsh_web import WebToolSpec

QUESTION = "How do I shuffle and sample from a list?"
KEY = "loopback-key"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as server:
        yield server


def runtime_at(server: LoopbackServer, kind: Any, fault: str = "", **options: Any) -> WebRuntime:
    base = f"{server.url}/_fault/{fault}" if fault else server.url
    settings = {"api_key": server.api_key, "base_url": base, "max_retries": 0, **options}
    runtime = WebRuntime()
    runtime.register_search_provider(kind(**settings))
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    return runtime


KINDS = {
    "perplexity": PerplexityAgentProvider,
    "perplexity-search": PerplexitySearchProvider,
    "parallel": ParallelSearchProvider,
    "parallel-chat": ParallelChatProvider,
}


@pytest.fixture(params=KINDS)
def runtime(request: pytest.FixtureRequest, server: LoopbackServer) -> WebRuntime:
    return runtime_at(server, KINDS[request.param])


def plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata as LlamaIndex has it: LangChain says "" for an unknown title."""
    kept = {name: value for name, value in metadata.items() if value != ""}
    if isinstance(kept.get("citations"), str):
        kept["citations"] = json.loads(kept["citations"])
    return kept


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": name, "args": arguments}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"include_answer": True},
        {"recency": "year", "on_unsupported": "warn"},
        {"content": "excerpt"},
    ],
    ids=str,
)
async def test_documents_and_nodes_are_the_same_passages(
    runtime: WebRuntime, options: dict[str, Any]
) -> None:
    documents = await asyncio.to_thread(
        LangChainRetriever(runtime=runtime, k=4, **options).invoke, QUESTION
    )
    nodes = await LlamaIndexRetriever(runtime=runtime, k=4, **options).aretrieve(QUESTION)

    assert [d.id for d in documents] == [n.node_id for n in nodes]
    assert [d.page_content for d in documents] == [n.text for n in nodes]
    assert [plain(d.metadata) for d in documents] == [plain(n.metadata) for n in nodes]


async def test_whole_pages_are_the_same_passages(server: LoopbackServer) -> None:
    class Local:
        id = "local"

        def available(self) -> bool:
            return True

        def search_flow(self, request: Any) -> Any:
            yield from ()
            sources = [{"url": f"{server.url}/pages/{n}", "title": str(n)} for n in (1, 2, 999_999)]
            return WebSearchResult(sources=sources, provider="local")

    runtime = WebRuntime(search_provider="local")
    runtime.register_search_provider(Local())
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))

    documents = await LangChainRetriever(runtime=runtime, content="page").ainvoke("q")
    nodes = await LlamaIndexRetriever(runtime=runtime, content="page").aretrieve("q")

    assert [d.id for d in documents] == [n.node_id for n in nodes]
    assert [d.page_content for d in documents] == [n.text for n in nodes]
    assert [d.metadata["content"] for d in documents] == ["page", "page", "snippet"]


async def test_tools_tell_the_model_and_the_program_the_same(runtime: WebRuntime) -> None:
    search, _ = WebToolSpec(runtime, max_results=3).to_tool_list()
    queries = [QUESTION, "How do I sort a list?"]

    message = await WebSearchTool(runtime=runtime, max_results=3).ainvoke(
        call("web_search", queries=queries)
    )
    output = await search.acall(queries=queries)

    assert message.content == output.content
    ours, theirs = _without_ids(message.artifact), _without_ids(output.raw_output)
    differing = {k for k in ours["result"] if ours["result"][k] != theirs["result"][k]}
    assert differing == set()
    assert ours == theirs
    assert (message.status == "error") is output.is_error is False


async def test_page_tools_tell_the_model_and_the_program_the_same(
    server: LoopbackServer, runtime: WebRuntime
) -> None:
    _, fetch = WebToolSpec(runtime).to_tool_list()
    url = f"{server.url}/pages/1"

    message = await WebFetchTool(runtime=runtime).ainvoke(call("web_fetch", url=url))
    output = await fetch.acall(url=url)

    assert message.content == output.content
    assert message.artifact == output.raw_output


def test_models_are_shown_the_same_tools(runtime: WebRuntime) -> None:
    ours = WebToolkit(runtime=runtime).get_tools()
    theirs = WebToolSpec(runtime).to_tool_list()

    assert [tool.name for tool in ours] == [tool.metadata.get_name() for tool in theirs]
    assert [tool.description for tool in ours] == [tool.metadata.description for tool in theirs]
    for tool, other in zip(ours, theirs, strict=True):
        schema = tool.tool_call_schema.model_json_schema()
        assert schema["properties"] == other.metadata.get_parameters_dict()["properties"]


FAILURES = {
    "wrong key": ("", {"api_key": "not-the-secret"}),
    "rate limit": ("status=429,retry-after=7", {}),
    "server error": ("status=500", {}),
    "nobody there": ("", {"base_url": "http://127.0.0.1:9"}),
    "not JSON": ("body=oops", {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAILURES)
async def test_a_failure_means_the_same_everywhere(
    server: LoopbackServer, name: str, kind: str
) -> None:
    fault, options = FAILURES[name]
    runtime = runtime_at(server, KINDS[kind], fault, **options)
    (search, _) = WebToolSpec(runtime).to_tool_list()

    message = await WebSearchTool(runtime=runtime).ainvoke(call("web_search", queries=["q"]))
    output = await search.acall(queries=["q"])

    assert (message.status, output.is_error) == ("error", True)
    assert message.content == output.content
    assert message.content.startswith("web_search failed (WEB_PROVIDER_ERROR): ")
    assert _without_ids(message.artifact) == _without_ids(output.raw_output)
    assert message.artifact["result"] is None
    assert message.artifact["error"].get("retry_after") == (7 if name == "rate limit" else None)
    assert json.loads(json.dumps(message.artifact)) == message.artifact
    for retrieve in (
        LangChainRetriever(runtime=runtime).ainvoke,
        LlamaIndexRetriever(runtime=runtime).aretrieve,
    ):
        with pytest.raises(WebError) as caught:
            await retrieve("q")
        assert caught.value.code == message.artifact["error"]["code"]
        assert "not-the-secret" not in str(caught.value)
    assert "not-the-secret" not in message.content


async def test_what_was_found_before_a_failure_is_kept_in_both(server: LoopbackServer) -> None:
    class Half:
        id = "half"

        def available(self) -> bool:
            return True

        def search_flow(self, request: Any) -> Any:
            from dsh_web import ProviderError, Sleep

            if request.query == "bad":
                yield Sleep(0.2)
                raise ProviderError("it broke", retryable=True)
            yield from ()
            return WebSearchResult(
                content="Good.", sources=[{"url": "https://a.example/"}], provider="half"
            )

    runtime = WebRuntime(search_provider="half")
    runtime.register_search_provider(Half())
    (search, _) = WebToolSpec(runtime).to_tool_list()
    queries = ["good", "bad"]

    messages = [
        await WebSearchTool(runtime=runtime).ainvoke(call("web_search", queries=queries)),
        await asyncio.to_thread(
            WebSearchTool(runtime=runtime).invoke, call("web_search", queries=queries)
        ),
    ]
    outputs = [
        await search.acall(queries=queries),
        await asyncio.to_thread(lambda: search.call(queries=queries)),
    ]

    for message in messages:
        assert message.status == "error"
        assert message.content.endswith("it broke (it may work if tried again)")
        assert message.artifact["error"]["retryable"] is True
        assert message.artifact["result"]["sources"][0]["url"] == "https://a.example/"
    for output in outputs:
        assert output.is_error
        assert output.raw_output == messages[0].artifact


def _without_ids(artifact: Any) -> Any:
    """Return the same without what differs from call to call."""
    data = json.loads(json.dumps(artifact))
    for part in (data.get("result") or {}, data.get("error") or {}):
        part.pop("request_id", None)
    return data
