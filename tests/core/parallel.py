"""Invented Parallel bodies."""

from typing import Any

from tests.flows import reply

KEY = "invented-key-for-tests"
BASE = "https://api.parallel.ai"


def hit(number: int, *excerpts: object, **fields: object) -> dict[str, Any]:
    """Return one entry of a search's results."""
    entry = {
        "url": f"https://site{number}.example/",
        "title": f"Title {number}",
        "publish_date": "2026-03-01",
        "excerpts": list(excerpts) or ["Text."],
    }
    return {**entry, **fields}


def found_body(*results: object, **fields: object) -> dict[str, Any]:
    """Return the body of a search."""
    body = {
        "search_id": "search_1",
        "session_id": "session_1",
        "results": list(results),
        "warnings": None,
        "usage": [{"name": "sku_search", "count": 1}],
    }
    return {**body, **fields}


def basis(*citations: object, **fields: object) -> dict[str, Any]:
    """Return one entry of a chat answer's basis."""
    entry = {"field": "output", "reasoning": "They agree.", "confidence": "high"}
    return {**entry, "citations": list(citations), **fields}


def cited(number: int, *excerpts: object, **fields: object) -> dict[str, Any]:
    """Return one citation of a basis."""
    entry = {"url": f"https://site{number}.example/", "title": f"Title {number}"}
    return {**entry, "excerpts": list(excerpts), **fields}


def chat_body(
    content: object = "Bees dance.", *entries: object, **fields: object
) -> dict[str, Any]:
    """Return a chat answer; what Parallel leaves empty is empty."""
    message = {"role": "assistant", "content": content}
    body = {
        "id": "",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "",
        "choices": [{"index": 0, "finish_reason": None, "message": message}],
        "usage": None,
        "interaction_id": "trun_1",
        "basis": list(entries),
    }
    return {**body, **fields}


EMPTY_FOUND = reply(found_body())
EMPTY_CHAT = reply(chat_body("x"))
