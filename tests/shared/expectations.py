"""Comparing one outcome with what a case expects.

A key that no check knows is a failure with that key's name, never silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import not_yet
from .checks import check_for
from .outcome import NotMeasuredError, Outcome


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
    unknown = {
        key: want
        for alternative in alternatives
        for key, want in alternative.items()
        if key not in not_yet.KEYS and check_for(key) is None
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
    check = check_for(key)
    if check is None:
        return [f"unknown expectation key: {key}"]
    try:
        complaint = check(want, outcome)
    except NotMeasuredError as reason:
        complaint = str(reason)
    return [] if complaint is None else [f"{key}: {complaint}"]
