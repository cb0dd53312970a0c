"""What every check is made of: a complaint, or None when it is satisfied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..outcome import Outcome

Complaint: TypeAlias = str | None
Check: TypeAlias = Callable[[Any, Outcome], Complaint]


def differs(want: Any, got: Any) -> Complaint:
    """Return a complaint unless the two are equal, a bool never being a number."""
    is_same = want == got and isinstance(want, bool) == isinstance(got, bool)
    return None if is_same else f"expected {short(want)}, got {short(got)}"


def missing_from(text: str, want: str | Iterable[str]) -> Complaint:
    """Return a complaint unless every text of `want` occurs in `text`."""
    lacking = [part for part in texts(want) if part not in text]
    return f"{lacking!r} not in {short(text)}" if lacking else None


def present_in(text: str, unwanted: str | Iterable[str]) -> Complaint:
    """Return a complaint if any text of `unwanted` occurs in `text`."""
    found = [part for part in texts(unwanted) if part in text]
    return f"{found!r} in {short(text)}" if found else None


def texts(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def short(value: Any) -> str:
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
