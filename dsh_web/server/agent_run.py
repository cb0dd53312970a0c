"""One Agent run: which tools it calls, what they find, and the answer written from that."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dsh_web.server.agent_request import AgentRequest
from dsh_web.server.agent_tools import WebSearchTool, preset_web_search
from dsh_web.server.answers import (
    Answer,
    Marker,
    Statement,
    pick_statements,
    write_answer,
)
from dsh_web.server.billing import ToolUse
from dsh_web.server.catalogue import FETCH_PRICE, SEARCH_PRICE
from dsh_web.server.corpus import Document, Index
from dsh_web.server.corpus.words import search_terms
from dsh_web.server.excerpts import cut_to_tokens, excerpt, token_count
from dsh_web.server.searching import SearchOptions, Source, search
from dsh_web.server.settings import MarkerStyle

FROM_MEMORY = "Answering from memory: no search was made for this, so there is nothing to cite."
NOT_FETCHED = "The page at this address could not be fetched."

_URL = re.compile(r"https?://[^\s<>\"'\])}]+")
_FETCH_TOKENS = 1_024
_MOST_QUERY_CHARS = 200
# With no more room than this, reasoning uses all of it up and no text is written.
_NO_TEXT_TOKENS = 16

FindPage = Callable[[str], Document | None]


@dataclass
class AgentRun:
    """What a run produced, in the terms of a response."""

    output: list[dict[str, Any]] = field(default_factory=list)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    is_complete: bool = True


@dataclass(frozen=True)
class SearchCall:
    """One call of the search tool and its results by their ids, best first."""

    query: str
    results: Mapping[int, Source]

    def item(self) -> dict[str, Any]:
        """Return the output item."""
        results = [_result(id_, source) for id_, source in self.results.items()]
        return {"type": "search_results", "queries": [self.query], "results": results}


class Agent:
    """Runs requests against one index."""

    def __init__(
        self,
        index: Index,
        find_page: FindPage,
        marker_style: MarkerStyle,
        annotations: bool,
    ) -> None:
        self._index = index
        self._find_page = find_page
        self._marker_style = marker_style
        self._annotations = annotations

    def run(self, request: AgentRequest) -> AgentRun:
        """Carry out a request; never fails, and the same request always gives the same run."""
        run = AgentRun()
        run.input_tokens = token_count(request.all_text)
        run.input_tokens += token_count(request.get("instructions", ""))
        cap = request.max_output_tokens
        if cap is not None and cap <= _NO_TEXT_TOKENS:
            run.output_tokens = run.reasoning_tokens = cap
            run.is_complete = False
            return run
        if request.tool_choice.function is not None and request.max_tool_calls != 0:
            run.output.append(_function_call(request))
            run.output_tokens = token_count(run.output[0]["arguments"])
            return run
        self._answer(request, run)
        return run

    def _answer(self, request: AgentRequest, run: AgentRun) -> None:
        urls = _fetchable_urls(request)
        tool = _search_tool(request, has_urls=bool(urls))
        calls = self._search(request, tool)
        pages = [(url, page) for url in urls if (page := self._find_page(url)) is not None]
        terms = search_terms(request.question)
        contents = [
            {
                "url": url,
                "title": page.title,
                "snippet": excerpt(page.text, terms, _FETCH_TOKENS),
            }
            for url, page in pages
        ]
        run.output += [call.item() for call in _shown_order(calls)]
        if urls:
            run.output.append({"type": "fetch_url_results", "contents": contents})
        price = SEARCH_PRICE if tool is None else tool.price
        run.tools = {
            "search_web": ToolUse(len(calls), price),
            "fetch_url": ToolUse(len(urls), FETCH_PRICE),
        }
        snippets = [source.snippet for call in calls for source in call.results.values()]
        snippets += [content["snippet"] for content in contents]
        run.input_tokens += sum(map(token_count, snippets))
        cited = {id_: s.document for call in calls for id_, s in call.results.items()}
        marker = self._marker(request)
        if not calls and urls:
            # A run that only fetched has no result ids; the service counts its pages from 0.
            cited, marker = (
                {number: page for number, (_, page) in enumerate(pages)},
                "web",
            )
        if not calls and not urls:
            answer = Answer(FROM_MEMORY)
        elif not calls and not pages:
            answer = Answer(NOT_FETCHED)
        else:
            answer = write_answer(_statements(request.question, cited), marker)
        self._finish(request, run, answer, cited)

    def _search(self, request: AgentRequest, tool: WebSearchTool | None) -> list[SearchCall]:
        if tool is None or not request.question.strip():
            return []
        calls: list[SearchCall] = []
        seen: set[str] = set()
        # Blocks of ids start at 1, 11, 21 and so on: always further apart than a call can fill.
        block = (tool.options.max_results // 10 + 1) * 10
        for number in range(_call_count(request)):
            query = _query(request.question, calls)[:_MOST_QUERY_CHARS]
            sources = search(self._index, query, tool.options, seen)
            if calls and not sources:
                break
            seen.update(source.document.url for source in sources)
            calls.append(SearchCall(query, dict(enumerate(sources, number * block + 1))))
        return calls

    def _marker(self, request: AgentRequest) -> Marker:
        if self._marker_style != "preset":
            return self._marker_style
        return "number" if request.preset is not None and request.preset.name == "fast" else "web"

    def _finish(
        self,
        request: AgentRequest,
        run: AgentRun,
        answer: Answer,
        cited: Mapping[int, Document],
    ) -> None:
        cap = request.max_output_tokens
        text = answer.text if cap is None else cut_to_tokens(answer.text, cap)
        run.is_complete = text == answer.text
        run.output_tokens = token_count(text)
        kept = Answer(text, tuple(c for c in answer.citations if c[1] <= len(text)))
        part = {
            "type": "output_text",
            "text": text,
            "annotations": kept.annotations(cited) if self._annotations else [],
        }
        run.output.append(
            {
                "type": "message",
                "id": f"msg_{uuid.uuid4()}",
                "role": "assistant",
                "status": "completed" if run.is_complete else "incomplete",
                "content": [part],
            }
        )


def _statements(question: str, cited: Mapping[int, Document]) -> list[Statement]:
    # A question such as "summarise https://..." has no words of its own: any sentence will do.
    return pick_statements(_URL.sub(" ", question), cited)


def _search_tool(request: AgentRequest, has_urls: bool) -> WebSearchTool | None:
    """Return the search tool that the run uses, or None if it does not search."""
    mode, tools = request.tool_choice.mode, request.tools
    if mode in {"none", "image_search"} or request.max_tool_calls == 0:
        return None
    if tools.web_search is not None:
        return tools.web_search
    if has_urls and tools.fetch_urls and mode != "web_search":
        # Seen live: a preset with only `fetch_url` listed fetched and did not search.
        return None
    if request.preset is not None:
        return preset_web_search()
    if mode in {"required", "web_search"}:
        return WebSearchTool(_default_options(), SEARCH_PRICE)
    return None


def _default_options() -> SearchOptions:
    return preset_web_search().options


def _call_count(request: AgentRequest) -> int:
    wanted = request.preset.searches if request.preset is not None else 2
    steps = request.max_steps or (wanted if request.preset is not None else 1)
    calls = wanted if request.max_tool_calls is None else request.max_tool_calls
    return max(1, min(wanted, steps, calls))


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
    if request.tool_choice.mode == "none" or request.max_tool_calls == 0:
        limit = 0
    found = [url.rstrip(".,;:!?") for url in _URL.findall(request.question)]
    return list(dict.fromkeys(found))[:limit]


def _function_call(request: AgentRequest) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{uuid.uuid4()}",
        "call_id": f"call_{uuid.uuid4().hex[:24]}",
        "name": request.tool_choice.function,
        "arguments": json.dumps(_arguments(request)),
        "status": "completed",
    }


def _arguments(request: AgentRequest) -> dict[str, Any]:
    """Return the question under the name of each text parameter that the function requires."""
    for tool in request.get("tools", []):
        if tool.get("name") == request.tool_choice.function:
            schema = tool.get("parameters") or {}
            properties, required = schema.get("properties"), schema.get("required")
            if isinstance(properties, dict) and isinstance(required, list):
                return {name: request.question for name in required if _is_text(properties, name)}
    return {}


def _is_text(properties: Mapping[str, Any], name: Any) -> bool:
    schema = properties.get(name) if isinstance(name, str) else None
    return isinstance(schema, dict) and schema.get("type") == "string"


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
