"""Keys about what left the process, and when it stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..outcome import Outcome
from .compare import (
    Check,
    Complaint,
    at_most,
    differs,
    equal,
    measured,
    short,
    texts,
)


def _requests(outcome: Outcome) -> int:
    return len(outcome.need("received"))


def _queries_sent(want: list[str], outcome: Outcome) -> Complaint:
    """Compare what arrived; the order is the tool's own, since the requests run side by side."""
    arrived = [query for request in outcome.need("received") for query in request.queries]
    payload = outcome.tool.payload if outcome.tool is not None else None
    if sorted(arrived) != sorted(want) or payload is None:
        return differs(want, arrived)
    return differs(want, list(payload["queries"]))


def _request(want: Mapping[str, Any], outcome: Outcome) -> Complaint:
    received = outcome.need("received")
    if not received:
        return "no request was received"
    sent = received[0]
    complaints = []
    for name, value in want.items():
        part = _REQUEST_PARTS.get(name)
        complaint = f"unknown part of a request: {name}" if part is None else part(value, sent)
        if complaint:
            complaints.append(f"{name}: {complaint}")
    return "; ".join(complaints) or None


def _headers(want: Mapping[str, str], sent: Any) -> Complaint:
    got = {name: sent.headers.get(name.lower()) for name in want}
    return differs(dict(want), got)


def _has_headers(want: str | list[str], sent: Any) -> Complaint:
    lacking = [name for name in texts(want) if not sent.headers.get(name.lower())]
    return f"not sent: {lacking}" if lacking else None


def _lacks_headers(want: str | list[str], sent: Any) -> Complaint:
    found = [name for name in texts(want) if name.lower() in sent.headers]
    return f"sent: {found}" if found else None


def _json_holds(want: Any, sent: Any) -> Complaint:
    return None if _is_part(want, sent.json) else f"{short(want)} is no part of {short(sent.json)}"


def _json_lacks(want: str | list[str], sent: Any) -> Complaint:
    found = [name for name in texts(want) if name in (sent.json or {})]
    return f"sent: {found}" if found else None


def _is_part(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and _is_part(value, whole[name]) for name, value in part.items()
        )
    if isinstance(part, list):
        return (
            isinstance(whole, list) and len(part) == len(whole) and all(map(_is_part, part, whole))
        )
    return differs(part, whole) is None


_REQUEST_PARTS: Final[Mapping[str, Callable[[Any, Any], Complaint]]] = {
    "method": lambda want, sent: differs(want, sent.method),
    "path": lambda want, sent: differs(want, sent.path),
    "header": _headers,
    "headers": _headers,
    "header_present": _has_headers,
    "headers_present": _has_headers,
    "header_absent": _lacks_headers,
    "headers_absent": _lacks_headers,
    "body": _json_holds,
    "json": _json_holds,
    "body_subset": _json_holds,
    "json_subset": _json_holds,
    "body_absent": _json_lacks,
    "json_absent": _json_lacks,
}


def _no_request_to(want: str | list[str], outcome: Outcome) -> Complaint:
    asked = [host for host in texts(want) if outcome.need("traffic").asked(host)]
    named = [
        request.headers["host"]
        for request in outcome.need("received")
        if request.headers.get("host", "").rpartition(":")[0] in texts(want)
    ]
    return f"asked: {asked + named}" if asked or named else None


def _connected_only_to(want: str | list[str], outcome: Outcome) -> Complaint:
    others = sorted(set(outcome.need("traffic").connected) - set(texts(want)))
    return f"connected to {others}" if others else None


CHECKS: Final[dict[str, Check]] = {
    "requests": equal(_requests),
    "requests_max": at_most(_requests),
    "queries_sent": _queries_sent,
    "request": _request,
    "no_request_to": _no_request_to,
    "connected_only_to": _connected_only_to,
    "proxy_connections": equal(measured("proxy_connections")),
}
