"""The tool calls of one Agent run and what they find."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dsh_web.server.agent_lookups import finance_item, find_finance, find_people, image_item
from dsh_web.server.agent_request import AgentRequest
from dsh_web.server.agent_tools import WebSearchTool, preset_web_search
from dsh_web.server.billing import ToolUse
from dsh_web.server.catalogue import (
    FETCH_PRICE,
    FINANCE_SEARCH_PRICE,
    IMAGE_SEARCH_PRICE,
    PEOPLE_SEARCH_PRICE,
    SEARCH_PRICE,
)
from dsh_web.server.corpus import Document, Index
from dsh_web.server.corpus.words import search_terms
from dsh_web.server.excerpts import excerpt
from dsh_web.server.searching import Source, search

URL = re.compile(r"https?://[^\s<>\"'\])}]+")

_FETCH_TOKENS = 1_024
_MOST_QUERY_CHARS = 200
_UNLIMITED = 1_000
_LOOKUPS = frozenset({"people_search", "finance_search", "image_search"})

FindPage = Callable[[str], Document | None]


@dataclass(frozen=True)
class SearchCall:
    """One call of a search tool and its results by their ids, best first."""

    query: str
    results: Mapping[int, Source]
    kind: str = "search_results"

    def item(self) -> dict[str, Any]:
        """Return the output item."""
        results = [_result(id_, source) for id_, source in self.results.items()]
        return {"type": self.kind, "queries": [self.query], "results": results}


@dataclass
class Findings:
    """What the tools of a run brought."""

    items: list[dict[str, Any]] = field(default_factory=list)
    """Output items, in the order in which the response lists them."""
    uses: dict[str, ToolUse] = field(default_factory=dict)
    """Calls by billing name."""
    cited: dict[int, Document] = field(default_factory=dict)
    """Pages by the id under which they may be cited."""
    uncited: list[Document] = field(default_factory=list)
    """Pages that may be quoted but have no id."""
    snippets: list[str] = field(default_factory=list)
    """All text that was read."""
    fetched: list[str] = field(default_factory=list)
    """Addresses that were to be fetched, found or not."""
    only_fetched: bool = False
    """True if addresses were fetched and nothing was searched."""

    @property
    def has_calls(self) -> bool:
        """True if any tool was called."""
        return any(use.calls for use in self.uses.values())


class Gatherer:
    """Calls tools on one index."""

    def __init__(self, index: Index, find_page: FindPage) -> None:
        self._index = index
        self._find_page = find_page

    def gather(self, request: AgentRequest) -> Findings:
        """Call the tools that a request allows and its question calls for."""
        found = Findings()
        if request.tool_choice.mode == "none" or request.max_tool_calls == 0:
            return found
        left = _UNLIMITED if request.max_tool_calls is None else request.max_tool_calls
        urls = _fetchable_urls(request)
        tool = _search_tool(request, has_urls=bool(urls))
        lookups = _lookups(request)
        if "finance_search" in lookups:
            # Loading this built-in skill takes a step of its own, seen or not.
            found.items.append({"type": "skill_loaded", "name": "finance"})
            if _steps(request) < 2:
                lookups -= {"finance_search"}
        calls = self._search(request, tool)
        left -= len(calls)
        if "people_search" in lookups and left > 0:
            left -= 1
            people = self._people(request, tool, calls)
            found.uses["search_people"] = ToolUse(1, PEOPLE_SEARCH_PRICE)
            shown = [*_shown_order(calls), people]
        else:
            people, shown = None, _shown_order(calls)
        found.items += [call.item() for call in shown]
        for call in [*calls, *([people] if people else [])]:
            found.cited.update({id_: source.document for id_, source in call.results.items()})
            found.snippets += [source.snippet for source in call.results.values()]
        found.uses["search_web"] = ToolUse(len(calls), tool.price if tool else SEARCH_PRICE)
        urls = urls[: max(left, 0)]
        if urls:
            found.only_fetched = not found.has_calls
            found.fetched = urls
            self._fetch(request, urls, found)
            left -= len(urls)
        if "finance_search" in lookups and left > 0:
            left -= 1
            self._finance(request, found)
        if "image_search" in lookups and left > 0:
            found.items.append(image_item(request.question))
            found.uses["search_images"] = ToolUse(1, IMAGE_SEARCH_PRICE)
        return found

    def _search(self, request: AgentRequest, tool: WebSearchTool | None) -> list[SearchCall]:
        if tool is None or not request.question.strip():
            return []
        calls: list[SearchCall] = []
        seen: set[str] = set()
        for number in range(_call_count(request)):
            query = _query(request.question, calls)[:_MOST_QUERY_CHARS]
            sources = search(self._index, query, tool.options, seen)
            if calls and not sources:
                break
            seen.update(source.document.url for source in sources)
            calls.append(SearchCall(query, _numbered(sources, number, tool)))
        return calls

    def _people(
        self, request: AgentRequest, tool: WebSearchTool | None, calls: list[SearchCall]
    ) -> SearchCall:
        seen = {source.document.url for call in calls for source in call.results.values()}
        sources = find_people(self._index, request.question, seen)
        query = request.question.strip()[:_MOST_QUERY_CHARS]
        return SearchCall(query, _numbered(sources, len(calls), tool), "people_search_results")

    def _fetch(self, request: AgentRequest, urls: list[str], found: Findings) -> None:
        pages = [(url, page) for url in urls if (page := self._find_page(url)) is not None]
        terms = search_terms(request.question)
        contents = [
            {"url": url, "title": page.title, "snippet": excerpt(page.text, terms, _FETCH_TOKENS)}
            for url, page in pages
        ]
        found.items.append({"type": "fetch_url_results", "contents": contents})
        found.uses["fetch_url"] = ToolUse(len(urls), FETCH_PRICE)
        found.snippets += [content["snippet"] for content in contents]
        if found.only_fetched:
            # Such a run has no result ids; the service counts its pages from 0.
            found.cited = {number: page for number, (_, page) in enumerate(pages)}

    def _finance(self, request: AgentRequest, found: Findings) -> None:
        sources = find_finance(self._index, request.question)
        found.items.append(finance_item(sources))
        found.uses["finance_search"] = ToolUse(1, FINANCE_SEARCH_PRICE)
        found.snippets += [source.snippet for source in sources]
        found.uncited += [source.document for source in sources]


def _search_tool(request: AgentRequest, has_urls: bool) -> WebSearchTool | None:
    """Return the search tool that the run uses, or None if it does not search."""
    mode, tools = request.tool_choice.mode, request.tools
    if mode == "image_search":
        return None
    if tools.web_search is not None:
        return tools.web_search
    if has_urls and tools.fetch_urls and mode != "web_search":
        # Seen live: a preset with only `fetch_url` listed fetched and did not search.
        return None
    if request.preset is not None:
        return preset_web_search()
    if mode == "web_search" or (mode == "required" and not tools.kinds & _LOOKUPS):
        return WebSearchTool(preset_web_search().options, SEARCH_PRICE)
    return None


def _lookups(request: AgentRequest) -> frozenset[str]:
    """Return the other tools that the run calls if the question has any words."""
    mode = request.tool_choice.mode
    if not request.question.strip() or mode == "web_search":
        return frozenset()
    return frozenset({mode}) if mode == "image_search" else request.tools.kinds & _LOOKUPS


def _steps(request: AgentRequest) -> int:
    if request.max_steps is not None:
        return request.max_steps
    return 1 if request.preset is None else request.preset.searches


def _call_count(request: AgentRequest) -> int:
    wanted = request.preset.searches if request.preset is not None else 2
    calls = wanted if request.max_tool_calls is None else request.max_tool_calls
    return max(1, min(wanted, _steps(request), calls))


def _numbered(sources: list[Source], number: int, tool: WebSearchTool | None) -> dict[int, Source]:
    # Blocks of ids start at 1, 11, 21 and so on: always further apart than a call can fill.
    block = 10 if tool is None else (tool.options.max_results // 10 + 1) * 10
    return dict(enumerate(sources, number * block + 1))


def _query(question: str, calls: list[SearchCall]) -> str:
    """Return the next query: the question, its key words, then what the best page is about."""
    if not calls:
        return question.strip()
    if len(calls) == 1:
        return " ".join(search_terms(question))
    first = next(iter(calls[0].results.values()), None)
    return question if first is None else first.document.title


def _shown_order(calls: list[SearchCall]) -> list[SearchCall]:
    # Long runs of the service list the block of their second call first; readers must go by id.
    return [calls[1], calls[0], *calls[2:]] if len(calls) > 2 else calls


def _fetchable_urls(request: AgentRequest) -> list[str]:
    limit = request.tools.fetch_urls
    if not limit and request.preset is not None and request.preset.name != "fast":
        limit = 1
    found = [url.rstrip(".,;:!?") for url in URL.findall(request.question)]
    return list(dict.fromkeys(found))[:limit]


def _result(id_: int, source: Source) -> dict[str, Any]:
    document = source.document
    result: dict[str, Any] = {
        "id": id_,
        "url": document.url,
        "title": document.title,
        "snippet": source.snippet,
        "source": "web",
    }
    # The Agent API leaves an unknown date out, where the Search API sends null.
    if document.published is not None:
        result["date"] = document.published
    if document.updated is not None:
        result["last_updated"] = document.updated
    return result
