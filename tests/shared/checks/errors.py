"""Keys about what was raised."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from ..outcome import NotMeasuredError, Outcome
from .compare import (
    Check,
    Complaint,
    differs,
    equal,
    measured,
    missing_from,
    present_in,
    texts,
)

SEAM_CODE: Final = {"invalid_args": "WEB_INVALID_REQUEST"}
"""Words of the cases for codes of the seam."""


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
    unwanted = [SEAM_CODE.get(code, code) for code in texts(want)]
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
    return None if any(part in text for part in texts(want)) else f"none of {want} in {text!r}"


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
    return f"it is one: {error!r}" if names & set(texts(want)) else None


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
    for name in texts(want):
        if _place(name) not in places:
            return f"{name!r} was not looked at (there is {', '.join(sorted(places)) or 'nothing'})"
        text = places[_place(name)]
        if (secret.encode() if isinstance(text, bytes) else secret) in text:
            return f"the secret is in {name!r}"
    return None


def _place(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())


CHECKS: Final[dict[str, Check]] = {
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
    "calls": equal(measured("calls")),
    "same_when_registered_in_reverse": equal(measured("same_when_registered_in_reverse")),
}
