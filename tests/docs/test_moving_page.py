"""The page for users of langchain-perplexity names what that package and ours really take."""

from __future__ import annotations

import inspect
import re
from typing import Any

import langchain_perplexity
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

import dsh_web
from dsh_web import WebSearchRequest
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
