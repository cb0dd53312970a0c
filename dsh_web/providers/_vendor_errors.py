"""The shapes in which vendors, their edges and gateways word an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..flow import HttpResponse
from ._shape import parse_json

__all__ = ["Wording", "error_message", "message_of", "status_of"]


class Wording(NamedTuple):
    """What an error body says of itself, each None if it does not."""

    message: str | None = None
    kind: str | None = None
    """The vendor's own word for the sort of error."""
    reference: str | None = None
    """The vendor's id for the failed call."""


def error_message(response: HttpResponse, mask: Callable[[str], str]) -> Wording:
    """Return the provider's own message, error type and reference, if the body holds any.

    `mask` is applied before anything is cut, so that no part of a secret is left at the cut.
    """
    try:
        data = parse_json(response.body)
    except ValueError:
        text = mask(response.body.decode("utf-8", "replace").strip())
        # A page for people is no message; its markup would only confuse a model.
        is_page = "html" in response.headers.get("content-type", "") or text.startswith("<")
        return Wording(None if is_page or not text else text[:200])
    if not isinstance(data, dict):
        return Wording()
    said = message_of(data)
    message, reference = (
        None if text is None else mask(text) for text in (said.message, said.reference)
    )
    return Wording(message, said.kind, reference)


def message_of(data: Mapping[str, Any]) -> Wording:
    """Return what any of the error shapes says that an API is known to send."""
    error, detail = data.get("error"), data.get("detail")
    kind: str | None = None
    reference: str | None = None
    candidates: list[Any] = [error]
    if isinstance(error, dict):
        kind = error.get("type") if isinstance(error.get("type"), str) else None
        reference = ref if isinstance(ref := error.get("ref_id"), str) and ref.strip() else None
        candidates = [error.get("message"), kind]
    candidates.append(detail)
    if isinstance(detail, list):
        messages = [member.get("msg") for member in detail if isinstance(member, dict)]
        candidates.append("; ".join(text for text in messages if isinstance(text, str)))
    candidates.append(data.get("message"))
    for candidate in candidates:
        if isinstance(candidate, str) and candidate.strip():
            return Wording(candidate.strip(), kind, reference)
    return Wording(None, kind, reference)


def status_of(error: Any) -> int | None:
    """Return the HTTP status that an error object under HTTP 200 names as its code, if it does."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code <= 599 else None
