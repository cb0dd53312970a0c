"""One function per expectation key: it complains, or it is satisfied.

A key that no function here knows is a failure with that key's name, never silence.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from . import not_yet
from .outcome import NotMeasuredError, Outcome
from .tool_text import link_destinations, source_items, tool_text

Complaint: TypeAlias = str | None
Check: TypeAlias = Callable[[Any, Outcome], Complaint]

SEAM_CODE: Final = {"invalid_args": "WEB_INVALID_REQUEST"}
"""Words of the cases for codes of the seam."""
SOURCE_FIELDS: Final = ("url", "title", "snippet", "published_at")
"""Fields that a written-out source is compared in, one that is absent being null."""

METADATA: Final = ("source", "url", "title", "published_at", "updated_at", "provider", "chunk_id")
"""Metadata fields of documents and nodes, compared over all of them in order."""


@dataclass(slots=True)
class Verdict:
    """The comparison of one outcome."""

    complaints: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Key to the reason why it was not compared."""


def compare(expect: Mapping[str, Any], outcome: Outcome) -> Verdict:
    """Return how `outcome` differs from `expect`."""
    verdict = Verdict()
    first = {key: want for key, want in expect.items() if key != "or"}
    others = expect.get("or") or []
    alternatives = [others] if isinstance(others, Mapping) else list(others)
    shared = {key for other in alternatives for key in other}
    for key, want in first.items():
        if key not in shared:
            verdict.complaints += _complaints(key, want, outcome, verdict.skipped)
    if alternatives:
        chosen = {key: want for key, want in first.items() if key in shared}
        verdict.complaints += _no_alternative([chosen, *alternatives], outcome, verdict.skipped)
    return verdict


def _no_alternative(
    alternatives: list[Mapping[str, Any]], outcome: Outcome, skipped: dict[str, str]
) -> list[str]:
    """Return the complaints if no alternative holds as a whole, else none."""
    known = {*CHECKS, *not_yet.KEYS}
    unknown = {
        key: want
        for alternative in alternatives
        for key, want in alternative.items()
        if key not in known and not _SOURCE_N.fullmatch(key)
    }
    if unknown:
        # Also when another alternative holds: a key nobody compares must never go unnoticed.
        return [text for key in unknown for text in _complaints(key, None, outcome, skipped)]
    found = []
    for alternative in alternatives:
        complaints = [
            text
            for key, want in alternative.items()
            for text in _complaints(key, want, outcome, skipped)
        ]
        if not complaints:
            return []
        found.append(" and ".join(complaints))
    return [" -- or -- ".join(found)]


def _complaints(key: str, want: Any, outcome: Outcome, skipped: dict[str, str]) -> list[str]:
    if key in not_yet.KEYS:
        skipped[key] = not_yet.KEYS[key]
        return []
    check = CHECKS.get(key)
    numbered = _SOURCE_N.fullmatch(key)
    if check is None and numbered:
        check = _source_at(int(numbered.group(1)))
    if check is None:
        return [f"unknown expectation key: {key}"]
    try:
        complaint = check(want, outcome)
    except NotMeasuredError as reason:
        complaint = str(reason)
    return [] if complaint is None else [f"{key}: {complaint}"]


# -- comparing ---------------------------------------------------------------------------------


def differs(want: Any, got: Any) -> Complaint:
    """Return a complaint unless the two are equal, a bool never being a number."""
    is_same = want == got and isinstance(want, bool) == isinstance(got, bool)
    return None if is_same else f"expected {_short(want)}, got {_short(got)}"


def missing_from(text: str, want: str | Iterable[str]) -> Complaint:
    """Return a complaint unless every text of `want` occurs in `text`."""
    lacking = [part for part in _texts(want) if part not in text]
    return f"{lacking!r} not in {_short(text)}" if lacking else None


def present_in(text: str, unwanted: str | Iterable[str]) -> Complaint:
    """Return a complaint if any text of `unwanted` occurs in `text`."""
    found = [part for part in _texts(unwanted) if part in text]
    return f"{found!r} in {_short(text)}" if found else None


def _texts(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:400]} ... {text[-150:]}"


def equal(read: Callable[[Outcome], Any]) -> Check:
    """Return a check for equality with what `read` gives."""
    return lambda want, outcome: differs(want, read(outcome))


def at_most(read: Callable[[Outcome], float]) -> Check:
    """Return a check for an upper bound."""

    def check(want: float, outcome: Outcome) -> Complaint:
        got = read(outcome)
        return None if got <= want else f"expected at most {want}, got {got}"

    return check


def at_least(read: Callable[[Outcome], float]) -> Check:
    """Return a check for a lower bound."""

    def check(want: float, outcome: Outcome) -> Complaint:
        got = read(outcome)
        return None if got >= want else f"expected at least {want}, got {got}"

    return check


def measured(name: str) -> Callable[[Outcome], Any]:
    """Return a reader of what a scenario measured."""
    return lambda outcome: outcome.measure(name)


# -- errors ------------------------------------------------------------------------------------


def _code(outcome: Outcome) -> str | None:
    if outcome.error is None:
        return None
    return getattr(outcome.error, "code", None) or type(outcome.error).__name__


def _error(want: str | None, outcome: Outcome) -> Complaint:
    if want is None:
        return None if outcome.error is None else f"expected success, got {_told(outcome)}"
    code = SEAM_CODE.get(want, want)
    return None if _code(outcome) == code else f"expected {code}, got {_told(outcome)}"


def _error_in(want: list[str | None], outcome: Outcome) -> Complaint:
    codes = [SEAM_CODE.get(code, code) if code else None for code in want]
    return None if _code(outcome) in codes else f"expected one of {codes}, got {_told(outcome)}"


def _error_not(want: str, outcome: Outcome) -> Complaint:
    unwanted = [SEAM_CODE.get(code, code) for code in _texts(want)]
    return f"got {_told(outcome)}" if _code(outcome) in unwanted else None


def _told(outcome: Outcome) -> str:
    return "success" if outcome.error is None else f"{_code(outcome)}: {outcome.error!s}"


def _message(outcome: Outcome) -> str:
    """Return all that a reader of the error is told, wherever the framework put it."""
    if outcome.error is None:
        raise NotMeasuredError("there was no error")
    texts = [str(outcome.error)]
    if outcome.visible_error is not None:
        texts.append(str(outcome.visible_error))
    return "\n".join(dict.fromkeys(texts))


def _contains_any(want: list[str], outcome: Outcome) -> Complaint:
    text = _message(outcome)
    return None if any(part in text for part in _texts(want)) else f"none of {want} in {text!r}"


def _on_the_error(name: str) -> Callable[[Outcome], Any]:
    def read(outcome: Outcome) -> Any:
        if outcome.error is None:
            raise NotMeasuredError("there was no error to carry it")
        return getattr(outcome.error, name, None)

    return read


def _status_code(want: int, outcome: Outcome) -> Complaint:
    fetched = outcome.measured.get("status_code")
    if outcome.error is None and fetched is not None:
        return differs(want, fetched)
    return differs(want, _on_the_error("status_code")(outcome))


def _retry_after(want: float | None, outcome: Outcome) -> Complaint:
    got = _on_the_error("retry_after")(outcome)
    if want is None or got is None:
        return differs(want, got)
    return None if abs(got - want) < 0.001 else f"expected {want}, got {got}"


def _error_type_not(want: str, outcome: Outcome) -> Complaint:
    error = outcome.need("visible_error")
    names = {kind.__name__ for kind in type(error).__mro__}
    return f"it is one: {error!r}" if names & set(_texts(want)) else None


def _raises(want: str, outcome: Outcome) -> Complaint:
    module, _, name = want.rpartition(".")
    kind = getattr(importlib.import_module(module or "builtins"), name)
    got = outcome.visible_error
    return None if isinstance(got, kind) else f"expected {want}, got {got!r}"


def _returned_result(outcome: Outcome) -> bool:
    return outcome.error is None and outcome.result is not None


def _secret_absent_from(want: list[str] | str, outcome: Outcome) -> Complaint:
    secret = outcome.need("secret")
    places = {_place(name): text for name, text in outcome.secret_places().items()}
    for name in _texts(want):
        if _place(name) not in places:
            return f"{name!r} was not looked at (there is {', '.join(sorted(places)) or 'nothing'})"
        text = places[_place(name)]
        if (secret.encode() if isinstance(text, bytes) else secret) in text:  # type: ignore[operator]
            return f"the secret is in {name!r}"
    return None


def _place(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


# -- result ------------------------------------------------------------------------------------


def _sources(outcome: Outcome) -> Any:
    return outcome.need("result").sources


def _source_urls(outcome: Outcome) -> list[str]:
    return [source.url for source in _sources(outcome)]


def _written_out(want: list[Mapping[str, Any]], outcome: Outcome) -> Complaint:
    sources = _sources(outcome)
    if len(sources) != len(want):
        return f"expected {len(want)} sources, got {[s.url for s in sources]}"
    complaints = [
        f"[{position}] {complaint}"
        for position, wanted in enumerate(want)
        if (
            complaint := _source_differs(
                {**dict.fromkeys(SOURCE_FIELDS), **wanted}, sources[position]
            )
        )
    ]
    return "; ".join(complaints) or None


_SOURCE_N = re.compile(r"source_(\d+)")
_IN_ORDER = "_contains_in_order"
_CONTAINS = "_contains"


def _source_at(position: int) -> Check:
    def check(want: Mapping[str, Any], outcome: Outcome) -> Complaint:
        sources = _sources(outcome)
        if position >= len(sources):
            return f"there are only {len(sources)} sources"
        return _source_differs(want, sources[position])

    return check


def _source_differs(want: Mapping[str, Any], source: Any) -> Complaint:
    complaints = []
    for name, value in want.items():
        attribute = name.removesuffix(_IN_ORDER).removesuffix(_CONTAINS)
        if attribute not in type(source).model_fields:
            complaints.append(f"unknown source field: {name}")
            continue
        got = getattr(source, attribute)
        if name.endswith(_IN_ORDER):
            pattern = ".*".join(re.escape(part) for part in value)
            is_there = re.search(pattern, got or "", re.DOTALL)
            complaint = None if is_there else f"{value} not in this order in {_short(got)}"
        elif name.endswith(_CONTAINS):
            complaint = missing_from(got or "", value)
        else:
            complaint = differs(value, got)
        if complaint:
            complaints.append(f"{name}: {complaint}")
    return "; ".join(complaints) or None


def _source_set(want: list[str], outcome: Outcome) -> Complaint:
    return differs(sorted(set(want)), sorted(set(_source_urls(outcome))))


def _total_tokens(outcome: Outcome) -> int | None:
    usage = outcome.need("result").usage
    return None if usage is None else usage.total_tokens


# -- requests ----------------------------------------------------------------------------------


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
    lacking = [name for name in _texts(want) if not sent.headers.get(name.lower())]
    return f"not sent: {lacking}" if lacking else None


def _lacks_headers(want: str | list[str], sent: Any) -> Complaint:
    found = [name for name in _texts(want) if name.lower() in sent.headers]
    return f"sent: {found}" if found else None


def _json_holds(want: Any, sent: Any) -> Complaint:
    return (
        None if _is_part(want, sent.json) else f"{_short(want)} is no part of {_short(sent.json)}"
    )


def _json_lacks(want: str | list[str], sent: Any) -> Complaint:
    found = [name for name in _texts(want) if name in (sent.json or {})]
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
    asked = [host for host in _texts(want) if outcome.need("traffic").asked(host)]
    named = [
        request.headers["host"]
        for request in outcome.need("received")
        if request.headers.get("host", "").rpartition(":")[0] in _texts(want)
    ]
    return f"asked: {asked + named}" if asked or named else None


def _connected_only_to(want: str | list[str], outcome: Outcome) -> Complaint:
    others = sorted(set(outcome.need("traffic").connected) - set(_texts(want)))
    return f"connected to {others}" if others else None


# -- text for the model ------------------------------------------------------------------------


def _text_is_cut(outcome: Outcome) -> bool:
    if outcome.tool is not None and outcome.tool.payload is not None:
        return bool(outcome.tool.payload["text_truncated"])
    return tool_text(outcome).is_cut


# -- documents, nodes and tools ----------------------------------------------------------------


def _each(read: Callable[[Any], Any]) -> Callable[[Outcome], list[Any]]:
    return lambda outcome: [read(passage) for passage in outcome.need("passages")]


def _metadata(name: str) -> Callable[[Outcome], list[Any]]:
    return _each(lambda passage: passage.metadata.get(name))


def _metadata_values(outcome: Outcome) -> list[Any]:
    return [value for passage in outcome.need("passages") for value in passage.metadata.values()]


def _value_types(want: list[str], outcome: Outcome) -> Complaint:
    others = sorted({type(value).__name__ for value in _metadata_values(outcome)} - set(want))
    return f"also {others}" if others else None


def _scores_do_not_rise(outcome: Outcome) -> bool:
    scores = [passage.score for passage in outcome.need("passages")]
    return all(a >= b for a, b in itertools.pairwise(scores))


def _ids_are_unique(outcome: Outcome) -> bool:
    ids = [passage.id for passage in outcome.need("passages")]
    return None not in ids and len(set(ids)) == len(ids)


def _ids_are_stable(outcome: Outcome) -> bool:
    ids = [passage.id for passage in outcome.need("passages")]
    return ids == [passage.id for passage in outcome.need("repeat")("sync")]


def _sync_equals_async(outcome: Outcome) -> bool:
    repeat = outcome.need("repeat")
    return bool(repeat("sync") == repeat("async") == outcome.need("passages"))


def _artifact_source_urls(outcome: Outcome) -> list[str]:
    payload = outcome.need("tool").payload
    if payload is None:
        raise NotMeasuredError("the tool handed back no structured result")
    return [source["url"] for source in payload["result"]["sources"]]


def _count(outcome: Outcome) -> int:
    return len(outcome.need("passages"))


CHECKS: Final[dict[str, Check]] = {
    # errors
    "error": _error,
    "error_in": _error_in,
    "error_not": _error_not,
    "error_message_contains": lambda want, o: missing_from(_message(o), want),
    "error_message_contains_any": _contains_any,
    "error_message_excludes": lambda want, o: present_in(_message(o), want),
    "status_code": _status_code,
    "retry_after": _retry_after,
    "visible_error_type_not": _error_type_not,
    "raises": _raises,
    "returned_result": equal(_returned_result),
    "secret_absent_from": _secret_absent_from,
    # result
    "content": equal(lambda o: o.need("result").content),
    "sources": _written_out,
    "sources_urls": equal(_source_urls),
    "source_urls_exact": equal(_source_urls),
    "sources_urls_set": _source_set,
    "sources_count": equal(lambda o: len(_sources(o))),
    "truncated": equal(lambda o: o.need("result").truncated),
    "usage_total_tokens": equal(_total_tokens),
    # selection
    "calls": equal(measured("calls")),
    "same_when_registered_in_reverse": equal(measured("same_when_registered_in_reverse")),
    # what left the process
    "requests": equal(_requests),
    "requests_max": at_most(_requests),
    "queries_sent": _queries_sent,
    "request": _request,
    "no_request_to": _no_request_to,
    "connected_only_to": _connected_only_to,
    "proxy_connections": equal(measured("proxy_connections")),
    # text for the model
    "tool_text_links": equal(lambda o: link_destinations(tool_text(o).text)),
    "tool_text_source_items": equal(lambda o: source_items(tool_text(o).text)),
    "tool_text_max_chars": at_most(lambda o: len(tool_text(o).text)),
    "tool_text_contains_all": lambda want, o: missing_from(tool_text(o).text, want),
    "truncated_text": equal(_text_is_cut),
    # documents, nodes and tools
    "count": equal(_count),
    "page_content": equal(_each(lambda passage: passage.text)),
    **{f"metadata_{name}": equal(_metadata(name)) for name in METADATA},
    "metadata_values_none": equal(lambda o: _metadata_values(o).count(None)),
    "metadata_value_types": _value_types,
    "scores_all_float": equal(lambda o: all(type(p.score) is float for p in o.need("passages"))),
    "scores_non_increasing": equal(_scores_do_not_rise),
    "survive_similarity_postprocessor_cutoff_0": equal(lambda o: o.need("stock_filter")()),
    "node_ids_unique": equal(_ids_are_unique),
    "node_ids_equal_on_second_call": equal(_ids_are_stable),
    "sync_equals_async": equal(_sync_equals_async),
    "type": equal(lambda o: o.need("tool").type),
    "tool_call_id": equal(lambda o: o.need("tool").call_id),
    "tool_message_state": equal(lambda o: o.need("tool").state),
    "artifact_source_urls": equal(_artifact_source_urls),
    "content_contains": lambda want, o: missing_from(o.need("tool").text, want),
    "content_excludes": lambda want, o: present_in(o.need("tool").text, want),
    # time and what is left behind
    "seconds_max": at_most(lambda o: o.need("seconds")),
    "pending_tasks_after": equal(lambda o: o.need("pending")),
    "open_connections": equal(lambda o: o.need("open_connections")),
    "server_sees_close_within_ms": at_most(measured("server_sees_close_ms")),
    "server_sees_sibling_close_within_ms": at_most(measured("server_sees_sibling_close_ms")),
    "last_call_seconds_max": at_most(measured("last_call_seconds")),
    "ticks_min": at_least(measured("ticks")),
    "calls_ok": equal(measured("calls_ok")),
    "stderr_empty": equal(measured("stderr_empty")),
    "documents": equal(lambda o: o.measured.get("documents") or _count(o)),
    "nest_asyncio_imported": equal(measured("nest_asyncio_imported")),
    "copy_works": equal(measured("copy_works")),
    "pickle_round_trip_works_or_raises_type_error_without_key": equal(
        measured("pickle_round_trip_works_or_raises_type_error_without_key")
    ),
}
"""Expectation key to the function that compares it."""
