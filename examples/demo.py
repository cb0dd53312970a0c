"""One question through the whole product, over real HTTP, offline and without a key.

Starts the loopback server (it speaks Perplexity's API and searches this Python's documentation) and
asks it through the seam, the LangChain adapter and the LlamaIndex adapter. `--live` asks the real
service instead; it needs PERPLEXITY_API_KEY and costs about a cent.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from dsh_web import (
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    WebError,
    WebRuntime,
    WebSearchResult,
)

QUESTION = "How do I cancel an asyncio task?"
WIDTH = 96


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", action="store_true", help="ask the real service")
    live = parser.parse_args().live
    has_key = bool(os.environ.get("PERPLEXITY_API_KEY", "").strip())
    if live and not has_key:
        print("--live needs PERPLEXITY_API_KEY to be set", file=sys.stderr)
        return 2
    print(f"The question everywhere below: {QUESTION!r}")
    with endpoint(live) as settings:
        show_seam(settings)
        show_langchain(settings)
        show_llama_index(settings)
        if not live:
            show_failure(settings)
    show_next_step(live, has_key)
    return 0


@contextmanager
def endpoint(live: bool) -> Iterator[dict[str, str]]:
    """Yield the settings of the providers: none for the real service, else the loopback server's."""
    if live:
        yield {}
        return
    from dsh_web.server import LoopbackServer

    with LoopbackServer() as server:
        heading("The server", "stands in for Perplexity; it really searches, nothing is canned")
        say(f"listening on {server.url}")
        say(f"searching {server.corpus_size:,} entries of this Python's own documentation")
        yield {"base_url": server.url, "api_key": server.api_key}


def runtime_with(
    provider: PerplexityAgentProvider | PerplexitySearchProvider,
) -> WebRuntime:
    # Pinned, so that a DSH_WEB_SEARCH_PROVIDER of yours does not get in between.
    runtime = WebRuntime(search_provider=provider.id)
    runtime.register_search_provider(provider)
    return runtime


def show_seam(settings: dict[str, str]) -> None:
    heading("The seam: provider 'perplexity'", "Agent API: an answer with [n] markers, and sources")
    result = runtime_with(PerplexityAgentProvider(**settings)).search(QUESTION, max_results=3)
    say(f"answer    {result.content}")
    show_sources(result)
    if result.usage is not None:
        cost = f"${result.usage.cost_usd}" if result.usage.cost_usd is not None else "not reported"
        say(f"usage     {result.usage.total_tokens} tokens, cost {cost} as the provider reports it")
    heading("The seam, streamed", "the same answer, printed piece by piece as it arrives")
    print("  ", end="")
    with runtime_with(PerplexityAgentProvider(**settings)).stream(QUESTION) as stream:
        pieces = 0
        for event in stream:
            if event.kind == "text":
                print(event.text, end="", flush=True)
                pieces += 1
    print(f"\n  ({pieces} pieces of text)")
    heading("The seam: provider 'perplexity-search'", "Search API: ranked sources, no answer")
    result = runtime_with(PerplexitySearchProvider(**settings)).search(QUESTION, max_results=3)
    say(f"answer    {result.content}")
    show_sources(result)


def show_langchain(settings: dict[str, str]) -> None:
    from langchain_dsh_web import WebSearchRetriever, WebSearchTool

    heading("LangChain: WebSearchRetriever.invoke", "a Document per source")
    retriever = WebSearchRetriever(runtime=runtime_with(PerplexitySearchProvider(**settings)), k=2)
    for document in retriever.invoke(QUESTION):
        say(f"Document  page_content  {document.page_content}", lines=2)
        show_metadata(document.metadata)
    heading(
        "LangChain: WebSearchTool.invoke", "what an agent's model reads; the data goes beside it"
    )
    tool = WebSearchTool(runtime=runtime_with(PerplexityAgentProvider(**settings)), max_results=2)
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"queries": [QUESTION]}}
    message = tool.invoke(call)
    show_text(message.content)
    say(f"ToolMessage.artifact holds: {', '.join(message.artifact)}")


def show_llama_index(settings: dict[str, str]) -> None:
    from llama_index_dsh_web import WebSearchRetriever, WebToolSpec

    heading("LlamaIndex: WebSearchRetriever.retrieve", "a scored node per source (score = 1/rank)")
    runtime = runtime_with(PerplexitySearchProvider(**settings))
    for node in WebSearchRetriever(runtime=runtime, k=2).retrieve(QUESTION):
        say(f"node      score {node.score:.2f}, text  {node.node.get_content()}", lines=2)
        show_metadata(node.node.metadata)
    heading("LlamaIndex: WebToolSpec.to_tool_list", "the same tool text, for LlamaIndex agents")
    spec = WebToolSpec(runtime=runtime_with(PerplexityAgentProvider(**settings)), max_results=2)
    output = spec.to_tool_list()[0].call(queries=[QUESTION])
    show_text(output.content)
    say(f"ToolOutput.raw_output holds: {', '.join(output.raw_output)}")


def show_failure(settings: dict[str, str]) -> None:
    heading("When it goes wrong", "every failure is one typed error; here the server says 429")
    broken = settings | {"base_url": f"{settings['base_url']}/_fault/status=429,retry-after=7"}
    provider = PerplexitySearchProvider(**broken, max_retries=0)
    try:
        runtime_with(provider).search(QUESTION)
    except WebError as error:
        say(f"WebError  {error}")
        say(
            f"          code {error.code}, HTTP {error.status_code}, retry after {error.retry_after} s"
        )


def show_next_step(live: bool, has_key: bool) -> None:
    if live:
        return
    heading("Next", "")
    if has_key:
        say("PERPLEXITY_API_KEY is set. The same against the real service, for about a cent:")
    else:
        say("With a key, the same against the real service, for about a cent:")
        say("  export PERPLEXITY_API_KEY=...")
    say("  .venv/bin/python examples/demo.py --live")


def heading(title: str, meaning: str) -> None:
    print(f"\n=== {title}" + (f" — {meaning}" if meaning else ""))


def say(text: str, *, lines: int = 4) -> None:
    """Print `text` wrapped, and cut after a few lines."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    print(
        textwrap.fill(
            " ".join(text.split(" ")),
            WIDTH,
            initial_indent="  ",
            subsequent_indent=indent + " " * 10,
            max_lines=lines,
            placeholder=" …",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def show_sources(result: WebSearchResult) -> None:
    for source in result.sources:
        ids = f" (cited as {', '.join(map(str, source.ids))})" if source.ids else ""
        say(f"source    {source.label}{ids}: {source.url}")


def show_metadata(metadata: dict[str, str]) -> None:
    for key, value in metadata.items():
        print(f"            metadata[{key!r}] = {value!r}")


def show_text(text: str) -> None:
    for line in text.splitlines():
        # Addresses stay whole; only the long snippets are cut for this page.
        print("  | " + (line if len(line) <= 2 * WIDTH else line[: 2 * WIDTH - 1] + "…"))


if __name__ == "__main__":
    sys.exit(main())
