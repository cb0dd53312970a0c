"""The shapes in which Perplexity, its edge and its gateways word an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..flow import HttpResponse
from ._shape import parse_json

__all__ = ["error_message", "message_of", "status_of"]


def error_message(
    response: HttpResponse, mask: Callable[[str], str]
) -> tuple[str | None, str | None]:
    """Return the provider's own message and error type, if the body holds any.

    `mask` is applied before anything is cut, so that no part of a secret is left at the cut.
    """
    try:
        data = parse_json(response.body)
    except ValueError:
        text = mask(response.body.decode("utf-8", "replace").strip())
        # A page for people is no message; its markup would only confuse a model.
        is_page = "html" in response.headers.get("content-type", "") or text.startswith("<")
        return (None if is_page or not text else text[:200]), None
    message, kind = message_of(data) if isinstance(data, dict) else (None, None)
    return (None if message is None else mask(message)), kind


def message_of(data: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return message and type from any of the error shapes that the API is known to send."""
    error, detail = data.get("error"), data.get("detail")
    kind: str | None = None
    candidates: list[Any] = [error]
    if isinstance(error, dict):
        kind = error.get("type") if isinstance(error.get("type"), str) else None
        candidates = [error.get("message"), kind]
    candidates.append(detail)
    if isinstance(detail, list):
        messages = [member.get("msg") for member in detail if isinstance(member, dict)]
        candidates.append("; ".join(text for text in messages if isinstance(text, str)))
    candidates.append(data.get("message"))
    for candidate in candidates:
        if isinstance(candidate, str) and candidate.strip():
            return candidate.strip(), kind
    return None, kind


def status_of(error: Any) -> int | None:
    """Return the HTTP status that an error object under HTTP 200 names as its code, if it does."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code <= 599 else None
