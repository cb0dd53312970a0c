"""One question through the whole product, over real HTTP, offline and without a key.

Starts the loopback server (it speaks Perplexity's and Parallel's APIs and searches this Python's
documentation) and asks it through the seam, the LangChain adapter and the LlamaIndex adapter.
DSH_WEB_SEARCH_PROVIDER says whom: perplexity (the default) or parallel; nothing else changes.
`--live` asks the real service instead; it needs that vendor's key and costs a few cents.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dsh_web import (
    ParallelChatProvider,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    WebError,
    WebRuntime,
    WebSearchProvider,
    WebSearchResult,
)

Vendor = tuple[Callable[..., WebSearchProvider], Callable[..., WebSearchProvider], str]
# Who answers, who finds pages, and where the key is.
VENDORS: dict[str, Vendor] = {
    "perplexity": (PerplexityAgentProvider, PerplexitySearchProvider, "PERPLEXITY_API_KEY"),
    "parallel": (ParallelChatProvider, ParallelSearchProvider, "PARALLEL_API_KEY"),
}
QUESTION = "How do I cancel an asyncio task?"
WIDTH = 96


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", action="store_true", help="ask the real service")
    live = parser.parse_args().live
    # `perplexity-search` and the like name a vendor too: what is shown uses both of its APIs.
    name = os.environ.get("DSH_WEB_SEARCH_PROVIDER", "").strip().partition("-")[0] or "perplexity"
    if name not in VENDORS:
        known = " or ".join(VENDORS)
        print(f"DSH_WEB_SEARCH_PROVIDER is {name!r}: the demo knows {known}", file=sys.stderr)
        return 2
    answering, finding, key = VENDORS[name]
    has_key = bool(os.environ.get(key, "").strip())
    if live and not has_key:
        print(f"--live needs {key} to be set", file=sys.stderr)
        return 2
    print(f"The question everywhere below: {QUESTION!r}")
    with endpoint(live, name) as settings:
        answers = runtime_with(answering(**settings))
        finds = runtime_with(finding(**settings))
        show_seam(answers, finds)
        show_langchain(answers, finds)
        show_llama_index(answers, finds)
        if not live:
            broken = {"base_url": f"{settings['base_url']}/_fault/status=429,retry-after=7"}
            show_failure(runtime_with(finding(**{**settings, **broken}, max_retries=0)))
    show_next_step(live, key, has_key)
    return 0


@contextmanager
def endpoint(live: bool, vendor: str) -> Iterator[dict[str, str]]:
    """Yield the settings of the providers: none for the real service, else the loopback server's."""
    if live:
        yield {}
        return
    from dsh_web.server import LoopbackServer

    with LoopbackServer() as server:
        heading(
            "The server",
            f"stands in for {vendor.title()}; it really searches, nothing is canned",
        )
        say(f"listening on {server.url}")
        say(f"searching {server.corpus_size:,} entries of this Python's own documentation")
        yield {"base_url": server.url, "api_key": server.api_key}


def runtime_with(provider: WebSearchProvider) -> WebRuntime:
    # Pinned, so that a DSH_WEB_SEARCH_PROVIDER of yours does not get in between.
    runtime = WebRuntime(search_provider=provider.id)
    runtime.register_search_provider(provider)
    return runtime


def show_seam(answers: WebRuntime, finds: WebRuntime) -> None:
    heading(
        f"The seam: provider {answers.search_provider_id()!r}",
        "an answer, its sources, and what cites what",
    )
    result = answers.search(QUESTION, max_results=3)
    say(f"answer    {result.content}")
    show_sources(result)
    if result.usage is not None:
        show_usage(result)
    heading("The seam, streamed", "the same answer, printed piece by piece as it arrives")
    print("  ", end="")
    with answers.stream(QUESTION) as stream:
        pieces = 0
        for event in stream:
            if event.kind == "text":
                print(event.text, end="", flush=True)
                pieces += 1
    print(f"\n  ({pieces} pieces of text)")
    heading(
        f"The seam: provider {finds.search_provider_id()!r}", "ranked sources, no answer: for RAG"
    )
    result = finds.search(QUESTION, max_results=3)
    say(f"answer    {result.content}")
    show_sources(result)


def show_langchain(answers: WebRuntime, finds: WebRuntime) -> None:
    from langchain_dsh_web import WebSearchRetriever, WebSearchTool

    heading("LangChain: WebSearchRetriever.invoke", "a Document per source")
    for document in WebSearchRetriever(runtime=finds, k=2).invoke(QUESTION):
        say(f"Document  page_content  {document.page_content}", lines=2)
        show_metadata(document.metadata)
    heading(
        "LangChain: WebSearchTool.invoke", "what an agent's model reads; the data goes beside it"
    )
    tool = WebSearchTool(runtime=answers, max_results=2)
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"queries": [QUESTION]}}
    message = tool.invoke(call)
    show_text(message.content)
    say(f"ToolMessage.artifact holds: {', '.join(message.artifact)}")


def show_llama_index(answers: WebRuntime, finds: WebRuntime) -> None:
    from llama_index_dsh_web import WebSearchRetriever, WebToolSpec

    heading("LlamaIndex: WebSearchRetriever.retrieve", "a scored node per source (score = 1/rank)")
    for node in WebSearchRetriever(runtime=finds, k=2).retrieve(QUESTION):
        say(f"node      score {node.score:.2f}, text  {node.node.get_content()}", lines=2)
        show_metadata(node.node.metadata)
    heading("LlamaIndex: WebToolSpec.to_tool_list", "the same tool text, for LlamaIndex agents")
    spec = WebToolSpec(runtime=answers, max_results=2)
    output = spec.to_tool_list()[0].call(queries=[QUESTION])
    show_text(output.content)
    say(f"ToolOutput.raw_output holds: {', '.join(output.raw_output)}")


def show_failure(broken: WebRuntime) -> None:
    heading("When it goes wrong", "every failure is one typed error; here the server says 429")
    try:
        broken.search(QUESTION)
    except WebError as error:
        say(f"WebError  {error}")
        say(
            f"          code {error.code}, HTTP {error.status_code}, retry after {error.retry_after} s"
        )


def show_next_step(live: bool, key: str, has_key: bool) -> None:
    if live:
        return
    heading("Next", "")
    if has_key:
        say(f"{key} is set. The same against the real service, for a few cents:")
    else:
        say("With a key, the same against the real service, for a few cents:")
        say(f"  export {key}=...")
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


def show_usage(result: WebSearchResult) -> None:
    usage = result.usage
    cost = f"${usage.cost_usd}" if usage.cost_usd is not None else "not reported"
    whose = "an estimate" if usage.cost_is_estimate else "as the provider reports it"
    tokens = "tokens not reported" if usage.total_tokens is None else f"{usage.total_tokens} tokens"
    say(f"usage     {tokens}, cost {cost} ({whose})")


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
