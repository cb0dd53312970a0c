"""The events of an Agent stream, made from the first and the last response object of a run."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dsh_web.server.stream_style import Terminal
from dsh_web.server.text_pieces import agent_pieces

Payload = dict[str, Any]

STREAM_ERROR = {"message": "The stream broke off.", "type": "internal_error", "code": 500}

# Output item -> name under which a stream announces the call that brings it.
_CALL_NAMES = {
    "search_results": "search_web",
    "people_search_results": "search_people",
    "fetch_url_results": "fetch_url",
    "image_search_results": "search_images",
    "finance_results": "finance_search",
}
_LAST = 10**9


def run_events(
    opening: Mapping[str, Any],
    closing: Mapping[str, Any],
    *,
    fetched: Sequence[str] = (),
    include_usage: bool = True,
    terminal: Terminal | None = None,
) -> list[Payload]:
    """Return the payloads of a whole stream, numbered with the gaps that captures show.

    Args:
        opening: The response object when the run began.
        closing: The response object when it was over.
        fetched: The addresses that the run tried to fetch.
        include_usage: Whether the last event tells the usage.
        terminal: Only `error`, `error-event` and `none` count here: they replace the last event.
    """
    events: list[Payload] = []
    number = 0
    for payload in _payloads(opening, closing, fetched, include_usage, terminal):
        # Numbers 2 and the one before the text's end are missing in captures.
        if number == 2 or payload["type"] == "response.output_text.done":
            number += 1
        events.append({"type": payload.pop("type"), "sequence_number": number, **payload})
        number += 1
    return events


def cancelled_event(snapshot: Mapping[str, Any], number: int) -> Payload:
    """Return the event that ends the stream of a run cancelled on the way."""
    return {"type": "response.cancelled", "sequence_number": number, "response": snapshot}


def _payloads(
    opening: Mapping[str, Any],
    closing: Mapping[str, Any],
    fetched: Sequence[str],
    include_usage: bool,
    terminal: Terminal | None,
) -> Iterator[Payload]:
    begun = {**opening, "status": "in_progress"}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    output = closing["output"]
    has_error = terminal in {"error", "error-event"}
    breaks_off = has_error or closing["status"] in {"failed", "cancelled"}
    for index in sorted(range(len(output)), key=lambda at: _moment(output[at], at)):
        item = output[index]
        # Made from the response id, so that a stream taken up again names the same calls.
        call_id = f"call_{uuid.uuid5(uuid.NAMESPACE_URL, opening['id'] + str(index))}"
        if item["type"] == "message":
            yield from _message_events(item, index, breaks_off, has_error)
        else:
            yield from _tool_events(item, index, call_id, fetched)
    if has_error:
        yield {"type": "error", "error": STREAM_ERROR}
    elif terminal == "none":
        return
    elif closing["status"] == "failed":
        yield {"type": "response.failed", "error": closing["error"]}
    else:
        ended = dict(closing) if include_usage else {**closing, "usage": None}
        yield {"type": f"response.{closing['status']}", "response": ended}


def _moment(item: Mapping[str, Any], position: int) -> tuple[int, int]:
    """Return what sorts items by when they happened: a later call has the larger result ids."""
    if item["type"] == "skill_loaded":
        return -1, position
    if item["type"] in {"search_results", "people_search_results"}:
        return min((row["id"] for row in item["results"]), default=_LAST), position
    return _LAST, position


def _tool_events(
    item: Mapping[str, Any], index: int, call_id: str, fetched: Sequence[str]
) -> Iterator[Payload]:
    kind = item["type"]
    at = {"output_index": index}
    if kind == "skill_loaded":
        yield {"type": "response.skill.loaded", "name": item["name"]}
        yield {"type": "response.output_item.done", **at, "item": item}
        return
    added: Mapping[str, Any] = item
    if kind in _CALL_NAMES:
        asked = {"urls": list(fetched)} if kind == "fetch_url_results" else _queries(item)
        added = _builtin_call(_CALL_NAMES[kind], call_id, asked)
    yield {"type": "response.output_item.added", **at, "item": added}
    yield from _reasoning_events(item, call_id, fetched)
    # The item takes the place of the call that announced it.
    yield {"type": "response.output_item.done", **at, "item": item}


def _reasoning_events(
    item: Mapping[str, Any], call_id: str, fetched: Sequence[str]
) -> Iterator[Payload]:
    kind = item["type"]
    prefix = "response.reasoning."
    if kind in {"search_results", "people_search_results", "image_search_results"}:
        noun = "image_search" if kind == "image_search_results" else "search"
        found = f"Found {len(item['results'])} results"
        yield {
            "type": f"{prefix}{noun}_queries",
            "call_id": call_id,
            "queries": item["queries"],
            "thought": "Searching the web...",
        }
        yield {
            "type": f"{prefix}{noun}_results",
            "call_id": call_id,
            "results": item["results"],
            "thought": found,
        }
    elif kind == "fetch_url_results":
        thought = "Reading pages..."
        yield {"type": f"{prefix}fetch_url_queries", "urls": list(fetched), "thought": thought}
        found = f"Read {len(item['contents'])} pages"
        yield {
            "type": f"{prefix}fetch_url_results",
            "contents": item["contents"],
            "thought": found,
        }


def _message_events(
    item: Mapping[str, Any], index: int, breaks_off: bool, is_halved: bool
) -> Iterator[Payload]:
    text = item["content"][0]["text"]
    at = {"item_id": item["id"], "output_index": index, "content_index": 0}
    # Seen live: the item has no content yet and calls itself completed.
    added = {**item, "status": "completed", "content": None}
    yield {"type": "response.output_item.added", "output_index": index, "item": added}
    pieces = agent_pieces(text)
    if is_halved:
        pieces = pieces[: len(pieces) // 2]
    for piece in pieces:
        yield {"type": "response.output_text.delta", **at, "delta": piece}
    if not breaks_off:
        yield {"type": "response.output_text.done", **at, "text": text}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _queries(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"queries": item["queries"]} if "queries" in item else {}


def _builtin_call(name: str, call_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{call_id.removeprefix('call_')}",
        "call_id": call_id,
        "name": name,
        "arguments": json.dumps(arguments, ensure_ascii=False),
        "status": "completed",
    }
