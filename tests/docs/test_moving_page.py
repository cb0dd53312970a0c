"""The page for users of langchain-perplexity names what that package and ours really take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import langchain_perplexity
import perplexity
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

import dsh_web
from dsh_web import (
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    WebRuntime,
    WebSearchRequest,
    normalize_citations,
)
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebSearchRetriever, WebSearchTool
from tests.docs.reading import DOCS

PAGE = (DOCS / "moving-from-langchain-perplexity.md").read_text()
OLD_CLASSES = ["PerplexitySearchRetriever", "PerplexitySearchResults", "ChatPerplexity"]
NONE = "none"


def rows(old: str) -> dict[str, str]:
    """Return old parameter -> what stands in its place, from the table of a class."""
    table = PAGE.split(f"<!-- old: {old}; new: ")[1].split("-->")[1].strip().split("\n\n")[0]
    cells = [[cell.strip() for cell in row.split("|")[1:3]] for row in table.splitlines()[2:]]
    return {name.strip("`"): new for name, new in cells}


def own_parameters(old: str) -> set[str]:
    """Return what the class takes beyond LangChain's own base class."""
    cls = getattr(langchain_perplexity, old)
    base = next(b for b in (BaseRetriever, BaseTool, BaseChatModel) if issubclass(cls, b))
    names = set(cls.model_fields) - set(base.model_fields)
    if base is BaseTool:
        names |= set(inspect.signature(cls._run).parameters) - {"self", "run_manager"}
    return names


@pytest.mark.parametrize("old", OLD_CLASSES)
def test_the_table_of_a_class_has_all_its_parameters_and_no_other(old: str) -> None:
    assert own_parameters(old) == set(rows(old))


@pytest.mark.parametrize(
    ("old", "ours"),
    [
        ("PerplexitySearchRetriever", set(WebSearchRetriever.model_fields)),
        ("PerplexitySearchResults", {*WebSearchTool.model_fields, *WebSearchTool().args}),
        ("ChatPerplexity", {*WebSearchRequest.model_fields, "timeout"}),
    ],
)
def test_what_takes_the_place_of_a_parameter_exists(old: str, ours: set[str]) -> None:
    for parameter, new in rows(old).items():
        assert new == NONE or re.search("`.+`", new), parameter
        for name in re.findall(r"`([a-z_]+)`", new):
            assert name in ours, (parameter, name)


def test_parameters_of_providers_and_runtime_exist() -> None:
    def takes(cls: Any) -> set[str]:
        return set(inspect.signature(cls).parameters)

    calls = re.findall(r"`(\w+)\(((?:\w+=\.\.\.,? ?)+)\)`", PAGE)
    for name, arguments in calls:
        assert set(re.findall(r"(\w+)=", arguments)) <= takes(getattr(dsh_web, name)), name
    of_provider = re.findall(r"`(\w+)=` of the provider", PAGE)

    assert set(of_provider) <= takes(dsh_web.PerplexityAgentProvider)
    assert (len(calls) >= 5, len(of_provider) >= 4) == (True, True)


def test_the_old_defaults_and_names_are_those_of_the_installed_package() -> None:
    fields = langchain_perplexity.PerplexitySearchRetriever.model_fields
    tool = langchain_perplexity.PerplexitySearchResults.model_fields
    results = inspect.signature(langchain_perplexity.PerplexitySearchResults._run).parameters

    assert (10, 25000, 1024) == tuple(
        fields[name].default for name in ("k", "max_tokens", "max_tokens_per_page")
    )
    assert 10 == results["max_results"].default
    assert f"`{tool['name'].default}`" in PAGE
    assert (5, 8) == (WebSearchRetriever().k, WebSearchTool().max_results)


def test_every_class_that_the_old_package_offers_for_the_web_is_on_the_page() -> None:
    parts = ("Embeddings", "Retriever", "Results", "Chat")
    classes = {n for n in langchain_perplexity.__all__ if any(part in n for part in parts)}

    assert sorted(name for name in classes if f"`{name}`" not in PAGE) == []


@pytest.fixture
def sdk(search_server: LoopbackServer) -> Iterator[perplexity.Perplexity]:
    with perplexity.Perplexity(
        api_key=search_server.api_key, base_url=search_server.url, max_retries=0
    ) as client:
        yield client


def searching(server: LoopbackServer) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexitySearchProvider(api_key=server.api_key, base_url=server.url)
    )
    return runtime


def test_both_retrievers_find_the_same_and_name_it_as_the_page_says(
    sdk: perplexity.Perplexity, search_server: LoopbackServer
) -> None:
    old = langchain_perplexity.PerplexitySearchRetriever(client=sdk, pplx_api_key="k", k=3)
    new = WebSearchRetriever(runtime=searching(search_server), k=3)

    before, after = old.invoke("asyncio task groups"), new.invoke("asyncio task groups")

    assert [d.metadata["url"] for d in before] == [d.metadata["url"] for d in after]
    assert [d.metadata["title"] for d in before] == [d.metadata["title"] for d in after]
    assert [d.metadata["date"] for d in before] == [d.metadata.get("published_at") for d in after]
    table = PAGE.split("| old metadata | new metadata |")[1].split("\n\n")[0]
    old_names = re.findall(r"^\| `(\w+)`", table, flags=re.M)
    assert set(before[0].metadata) == set(old_names)


def test_both_tools_find_the_same(
    sdk: perplexity.Perplexity, search_server: LoopbackServer
) -> None:
    old = langchain_perplexity.PerplexitySearchResults(client=sdk, pplx_api_key="k")
    new = WebSearchTool(runtime=searching(search_server), max_results=10)
    args = {"queries": ["asyncio task groups"]}

    listed = old.invoke({"query": "asyncio task groups"})
    message = new.invoke({"type": "tool_call", "id": "1", "name": new.name, "args": args})

    sources = message.artifact["result"]["sources"]
    assert [found["url"] for found in listed] == [source["url"] for source in sources]


def test_a_failed_search_looks_as_the_page_says(search_server: LoopbackServer) -> None:
    with perplexity.Perplexity(
        api_key="wrong", base_url=search_server.url, max_retries=0
    ) as client:
        old = langchain_perplexity.PerplexitySearchResults(client=client, pplx_api_key="k")
        call = {"type": "tool_call", "id": "1", "name": old.name, "args": {"query": "tides"}}
        before = old.invoke(call)
    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexitySearchProvider(api_key="wrong", base_url=search_server.url)
    )
    after = WebSearchTool(runtime=runtime).invoke(
        {"type": "tool_call", "id": "1", "name": "web_search", "args": {"queries": ["tides"]}}
    )

    assert before.content.startswith("Perplexity search failed: ")
    assert ("success", "error") == (before.status, after.status)


def test_citations_of_a_chat_answer_are_addresses_and_ours_are_records() -> None:
    question = "What are asyncio task groups for?"
    with LoopbackServer(sonar="legacy") as server:
        with perplexity.Perplexity(
            api_key=server.api_key, base_url=server.url, max_retries=0
        ) as client:
            chat = langchain_perplexity.ChatPerplexity(
                model="sonar", client=client, pplx_api_key="k"
            )
            message = chat.invoke(question)
        runtime = WebRuntime()
        runtime.register_search_provider(
            PerplexityAgentProvider(api_key=server.api_key, base_url=server.url)
        )
        result = runtime.search(question)

    addresses = message.additional_kwargs["citations"]
    assert [found.url for found in message.additional_kwargs["search_results"]] == addresses
    records = normalize_citations(message.text, addresses)
    assert {record.url for record in records} <= set(addresses)
    assert (len(records) > 0, len(result.citations) > 0) == (True, True)


def test_each_package_takes_the_key_that_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PPLX_API_KEY", "short-name")
    monkeypatch.setenv("PERPLEXITY_API_KEY", "long-name")
    with LoopbackServer(api_key="long-name") as server:
        monkeypatch.setenv("PERPLEXITY_BASE_URL", server.url)
        old = langchain_perplexity.PerplexitySearchRetriever()
        old.client.close()

        assert "short-name" == old.pplx_api_key.get_secret_value()
        assert WebRuntime.from_env().search("asyncio task groups").sources
