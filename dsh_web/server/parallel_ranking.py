"""What Parallel's Search finds: one joint list over all queries, and the excerpts of each page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dsh_web.server.corpus import Document, Index
from dsh_web.server.corpus.words import search_terms, stem, stems
from dsh_web.server.parallel_policy import SourcePolicy

_DEPTH: Final = 40
"""Pages of each query that take part in the joint ranking."""
_SMOOTHING: Final = 10
_MOST_EXCERPTS: Final = 3
CHARS_PER_RESULT: Final = {"turbo": 600, "fast": 800, "basic": 1_600, "advanced": 1_600}


@dataclass(frozen=True)
class Ranked:
    """A page with the parts of it that match."""

    document: Document
    excerpts: tuple[str, ...]


def joint_ranking(
    index: Index, texts: Sequence[str], policy: SourcePolicy, most: int
) -> list[Document]:
    """Return the best pages over all texts: a page that several find comes first."""
    scores: dict[str, float] = {}
    documents: dict[str, Document] = {}
    for text in texts:
        rank = 0
        for found in index.ranked(search_terms(text)):
            if rank == _DEPTH:
                break
            document = found.document
            if not policy.accept(document):
                continue
            rank += 1
            documents.setdefault(document.url, document)
            scores[document.url] = scores.get(document.url, 0.0) + 1 / (_SMOOTHING + rank)
    order = sorted(scores, key=lambda url: -scores[url])
    return [documents[url] for url in order[:most]]


def excerpts_of(document: Document, texts: Sequence[str], budget: int) -> tuple[str, ...]:
    """Return up to three passages of a page that fit `texts` best, in the order of the page.

    Args:
        document: The page.
        texts: What it is wanted for.
        budget: Characters over all passages.
    """
    wanted = {stem(term) for text in texts for term in search_terms(text)}
    passages = [part.strip() for part in re.split(r"\n\s*\n", document.text) if part.strip()]
    order = sorted(range(len(passages)), key=lambda at: (-len(wanted & stems(passages[at])), at))
    chosen: dict[int, str] = {}
    left = budget
    for at in order[:_MOST_EXCERPTS]:
        text = passages[at][:left]
        if text.strip():
            chosen[at] = text
            left -= len(text)
    return tuple(chosen[at] for at in sorted(chosen))


def within_budget(ranked: Sequence[Ranked], total: int | None) -> list[Ranked]:
    """Return the pages with their excerpts cut to `total` characters over all of them."""
    if total is None:
        return list(ranked)
    kept, left = [], total
    for page in ranked:
        excerpts = []
        for text in page.excerpts:
            piece = text[: max(0, left)]
            left -= len(piece)
            if piece:
                excerpts.append(piece)
        kept.append(Ranked(page.document, tuple(excerpts)))
    return kept
