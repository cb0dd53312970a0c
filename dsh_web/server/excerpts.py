"""Cuts the telling part out of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dsh_web.server.corpus.words import stem, stems

CHARS_PER_TOKEN = 4
"""Rough size of a token in characters; every count of tokens in this package is made with it."""

_GAP = "\n...\n"


def token_count(text: str) -> int:
    """Return about how many tokens a text has; 0 for an empty one."""
    return -(-len(text) // CHARS_PER_TOKEN)


def excerpt(text: str, terms: Sequence[str], max_tokens: int) -> str:
    """Return at most `max_tokens` tokens of a page: all of it, or the paragraphs that match best.

    Paragraphs keep their order; `...` on a line of its own stands for what was left out between
    them.
    """
    limit = max_tokens * CHARS_PER_TOKEN
    if len(text) <= limit:
        return text
    wanted = {stem(term) for term in terms}
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    # The opening paragraph names the subject, so it wins a tie.
    order = sorted(
        range(len(paragraphs)),
        key=lambda at: (-len(wanted & stems(paragraphs[at])), at),
    )
    chosen: list[int] = []
    left = limit
    for at in order:
        cost = len(paragraphs[at]) + (len(_GAP) if chosen else 0)
        if cost <= left:
            chosen.append(at)
            left -= cost
    if not chosen:
        return _cut(paragraphs[order[0]] if order else text, limit)
    pieces = []
    previous: int | None = None
    for at in sorted(chosen):
        if previous is not None:
            pieces.append("\n\n" if at == previous + 1 else _GAP)
        pieces.append(paragraphs[at])
        previous = at
    return "".join(pieces)


def cut_to_tokens(text: str, max_tokens: int) -> str:
    """Return the first `max_tokens` tokens of a text, cut at the end of a word where possible."""
    limit = max_tokens * CHARS_PER_TOKEN
    return text if len(text) <= limit else _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    head = text[:limit]
    at = head.rfind(" ")
    return head[:at] if at > limit // 2 else head
