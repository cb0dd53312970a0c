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
    """Return the best pages over all texts.

    A page that several texts find comes first, and one of which a single passage says most of what
    is wanted: what this API returns are passages.
    """
    wanted = _wanted(texts)
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
    for url, document in documents.items():
        scores[url] *= 1 + _best_share(document, wanted)
    order = sorted(scores, key=lambda url: -scores[url])
    return [documents[url] for url in order[:most]]


def _wanted(texts: Sequence[str]) -> set[str]:
    return {stem(term) for text in texts for term in search_terms(text)}


def _best_share(document: Document, wanted: set[str]) -> float:
    """Return which share of the wanted words the best passage of a page holds."""
    if not wanted:
        return 0.0
    return max((len(wanted & stems(p)) for p in _passages(document)), default=0) / len(wanted)


def _passages(document: Document) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", document.text) if part.strip()]


def excerpts_of(document: Document, texts: Sequence[str], budget: int) -> tuple[str, ...]:
    """Return up to three passages of a page that fit `texts` best, in the order of the page.

    Args:
        document: The page.
        texts: What it is wanted for.
        budget: Characters over all passages.
    """
    wanted, passages = _wanted(texts), _passages(document)
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
