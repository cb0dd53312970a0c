"""Reading what was stored: our own results, and the bodies that vendors sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from .citations import read_again
from .errors import InvalidRequestError
from .providers._shape import parse_json
from .providers.parallel_chat import ParallelChatProvider
from .providers.parallel_search import ParallelSearchProvider
from .providers.perplexity_agent import PerplexityAgentProvider
from .providers.perplexity_search import PerplexitySearchProvider
from .providers.perplexity_sonar import PerplexitySonarProvider
from .seam import WebSearchResult
from .sse import SseReader

__all__ = ["read_again", "read_saved"]

_WRAPPERS: Final = ("response", "result", "body", "raw", "data", "artifact", "raw_output")
"""Members in which people and frameworks keep a body beside notes of their own."""
_OWN_FIELDS: Final = ("sources", "content", "citation_contract")
"""One of these, beside `provider`, makes an object a result of ours."""
_OF_PARALLEL_CHAT: Final = frozenset({"basis", "interaction_id"})
"""Fields by which Parallel's chat completions are told from Sonar's."""
_KINDS: Final = (
    "a dumped WebSearchResult, the artifact of a web_search tool, a response of Perplexity's Agent "
    "or Search API or of Parallel's Search API, a chat completion, or the event stream of an answer"
)


def read_saved(data: Any, *, name: str = "") -> WebSearchResult:
    """Return the result that stored data stands for, its citations read.

    Args:
        data: Decoded JSON, or the text or bytes of JSON or of an event stream: a dumped
            `WebSearchResult`, the artifact of a `web_search` tool, a body of Perplexity's Agent,
            Sonar or Search API or of Parallel's Search or Chat API (as `WebSearchResult.raw` keeps
            it), or any of these as the member
            `response`, `result`, `body`, `raw`, `data`, `artifact` or `raw_output` of an object.
        name: What messages call it, for example the file's name.

    A dumped result keeps the records that it has; one without any is read by its own contract,
    else by the neutral one. `read_again` reads the records of any result anew.

    Raises:
        InvalidRequestError: It is none of these.
        ProviderError: It is a vendor's body that reports a failed run, or cannot be made sense of.
    """
    label = name or "the data"
    if isinstance(data, bytes | bytearray):
        data = bytes(data).decode("utf-8-sig", "replace")
    if isinstance(data, str):
        if _is_event_stream(data):
            return _from_stream(data, label)
        data = _decoded(data, label)
    elif isinstance(data, Mapping):
        data = _storable(data, label)
    if isinstance(data, list | tuple):
        raise InvalidRequestError(f"{label} is a list: give its members one by one")
    if not isinstance(data, Mapping):
        raise InvalidRequestError(f"{label} is not a JSON object: expected {_KINDS}")
    found = _from_object(data, label) or _unwrapped(data, label)
    if found is None:
        raise InvalidRequestError(f"{label} is no answer that is known here: expected {_KINDS}")
    return found


def _from_object(data: Mapping[str, Any], label: str) -> WebSearchResult | None:
    if isinstance(data.get("output"), list) or data.get("object") == "response":
        return PerplexityAgentProvider().read_body(data)
    if isinstance(data.get("choices"), list):
        return _chat_provider(data).read_body(data)
    # Gateways name the provider too, but beside choices.
    if isinstance(data.get("provider"), str) and not data.keys().isdisjoint(_OWN_FIELDS):
        return _own(data, label)
    if isinstance(data.get("results"), list):
        if "search_id" in data:
            return ParallelSearchProvider().read_body(data)
        return PerplexitySearchProvider().read_body(data)
    return None


def _chat_provider(data: Mapping[str, Any]) -> ParallelChatProvider | PerplexitySonarProvider:
    """Return who reads a chat completion, or the stream that begins with this chunk."""
    is_parallel = not _OF_PARALLEL_CHAT.isdisjoint(data)
    return ParallelChatProvider() if is_parallel else PerplexitySonarProvider()


def _unwrapped(data: Mapping[str, Any], label: str, depth: int = 2) -> WebSearchResult | None:
    """Return what a member of `data` holds; a message holds an artifact that holds a result."""
    for member in (data.get(name) for name in _WRAPPERS):
        if isinstance(member, str):  # a response may have been kept as the text that came
            if _is_event_stream(member):
                return _from_stream(member, label)
            try:
                member = parse_json(member.encode("utf-8", "replace"))
            except ValueError:
                continue
        if isinstance(member, Mapping):
            found = _from_object(member, label)
            if found is None and depth > 1:
                found = _unwrapped(member, label, depth - 1)
            if found is not None:
                return found
    return None


def _own(data: Mapping[str, Any], label: str) -> WebSearchResult:
    try:
        result = WebSearchResult.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidRequestError(
            f"{label} is not a whole search result: {where}: {first['msg']}"
        ) from error
    return result if result.citations or not result.content else read_again(result)


def _is_event_stream(text: str) -> bool:
    return text.lstrip("\ufeff\r\n").startswith(("data:", "event:", "id:", "retry:", ":"))


def _from_stream(text: str, label: str) -> WebSearchResult:
    body = text.encode("utf-8", "replace")
    for frame in _frames(body):
        if isinstance(frame.get("type"), str) and frame["type"].startswith("response."):
            return PerplexityAgentProvider().read_stream(body)
        if "choices" in frame:
            return _chat_provider(frame).read_stream(body)
    raise InvalidRequestError(f"{label} is an event stream of no API that is known here")


def _frames(body: bytes) -> list[dict[str, Any]]:
    reader = SseReader()
    frames = []
    for event in (*reader.feed(body), *reader.finish()):
        try:
            frame = parse_json(event.data.encode("utf-8", "replace"))
        except ValueError:
            continue  # `[DONE]`, comments of gateways
        if isinstance(frame, dict):
            frames.append(frame)
    return frames


def _decoded(text: str, label: str) -> Any:
    try:
        return parse_json(text.encode("utf-8", "replace"))
    except ValueError as error:
        raise InvalidRequestError(f"{label} is not JSON: {error}") from error


def _storable(data: Mapping[str, Any], label: str) -> Any:
    """Return `data` as it would come from text: no half of a surrogate pair in it, no NaN."""
    try:
        return parse_json(json.dumps(dict(data)).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(
            f"{label} is not decoded JSON: {type(error).__name__}: {error}"
        ) from error
