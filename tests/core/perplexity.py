"""Invented Perplexity bodies, and one question put to a provider by hand."""

from typing import Any

import pytest

from dsh_web import HttpResponse, InvalidRequestError, WebSearchRequest, WebSearchResult
from tests.flows import play, reply, sent_json

KEY = "invented-key-for-tests"
BASE = "https://api.perplexity.ai"


def ask(
    provider: Any, response: HttpResponse, query: str = "q", **fields: Any
) -> tuple[Any, WebSearchResult]:
    """Return what was sent, as JSON, and the result that `response` was read into."""
    steps, result = play(provider.search_flow(WebSearchRequest(query=query, **fields)), response)
    return sent_json(steps[0]), result


def refused(provider: Any, **fields: Any) -> InvalidRequestError:
    """Return the error of a request that must not get as far as one step."""
    with pytest.raises(InvalidRequestError) as caught:
        play(provider.search_flow(WebSearchRequest(query="q", **fields)))
    return caught.value


def agent_body(*items: object, **fields: object) -> dict[str, Any]:
    """Return a completed agent run with these output items."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "openai/gpt-6-luna",
        "error": None,
        "output": list(items),
        **fields,
    }


def found(*results: object) -> dict[str, Any]:
    return {"type": "search_results", "queries": ["q"], "results": list(results)}


def said(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "role": "assistant", "status": "completed", "content": parts}


def page(number: int, url: str | None = None, **fields: object) -> dict[str, Any]:
    address = url or f"https://site{number}.example/"
    return {"id": number, "url": address, "title": f"Title {number}", "snippet": "Text.", **fields}


def sonar_body(content: object = "Bees dance.[1]", **fields: object) -> dict[str, Any]:
    """Return a Sonar answer."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}
    choice["message"]["content"] = content
    return {"id": "chat-1", "model": "sonar", "object": "chat.completion", "choices": [choice]} | (
        fields
    )


def search_body(*results: object, **fields: object) -> dict[str, Any]:
    return {"id": "search-1", "results": list(results), "server_time": None, **fields}


EMPTY_AGENT = reply(agent_body(said("ok")))
EMPTY_SONAR = reply(sonar_body())
EMPTY_SEARCH = reply(search_body())
