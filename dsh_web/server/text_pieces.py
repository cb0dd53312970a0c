"""Cuts an answer's text into the pieces in which the two APIs stream it."""

from __future__ import annotations

import re

# Captured from the Agent API: words keep the space before them, long ones come in parts, and a
# marker is torn apart at its brackets, the first of which sticks to the full stop before it.
_AGENT = re.compile(r"[.!?]?\[|\s?\w{1,10}|\s?[^\w\s]|\s")
# Sonar was recorded to keep markers whole, sometimes with the punctuation that follows.
_SONAR = re.compile(r"\[\w+\][.,]?|\s?\w+|\s?[^\w\s]|\s")


def agent_pieces(text: str) -> list[str]:
    """Return the deltas of an Agent stream; joined they are the text."""
    return _AGENT.findall(text)


def sonar_pieces(text: str) -> list[str]:
    """Return the deltas of a Sonar stream; joined they are the text."""
    return _SONAR.findall(text)
