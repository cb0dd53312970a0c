"""A source as a passage that a framework can index: text, metadata, and an id that stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from .seam import WebFinance, WebSearchResult, WebSearchSource
from .seam_citations import Citation

__all__ = ["Passage", "passages"]


@dataclass(frozen=True, slots=True)
class Passage:
    """What becomes one LangChain `Document` or one LlamaIndex node."""

    id: str
    """Stable per url and text: the same passage has the same id in every call and framework."""
    page_id: str
    """The same for all passages of a page."""
    text: str
    metadata: dict[str, str]
    """`source`, `url`, `provider` and `chunk_id` always; `title`, `published_at`, `updated_at`,
    `kind` and, for an answer, `citation_contract` where known. Nothing that changes from call to
    call."""
    citations: tuple[Citation, ...] = ()
    """The records of an answer; their spans are positions in `text`. A source has none: which
    numbers cite it differs from answer to answer."""


def passages(result: WebSearchResult, *, include_answer: bool = False) -> Iterator[Passage]:
    """Yield the passages of `result` in order; one that is listed twice comes once.

    Args:
        result: A search result.
        include_answer: Put the provider's answer first, as a passage marked `kind: "answer"`.
    """
    if include_answer and result.content:
        yield _answer(result)
    seen: set[str] = set()
    for source in result.sources:
        passage = _passage(source, result.provider)
        if passage.id not in seen:
            seen.add(passage.id)
            yield passage
    if not result.sources:
        # A finance search finds data instead of pages; it is all that there is to index.
        for record in result.finance:
            yield _finance(record, result.provider)


def _finance(record: WebFinance, provider: str) -> Passage:
    url = record.urls[0] if record.urls else None
    passage_id = _digest(url or provider, record.content)
    metadata = {"source": url or provider}
    if url is not None:
        metadata["url"] = url
    if record.category is not None:
        metadata["title"] = record.category
    metadata |= {"provider": provider, "kind": "finance", "chunk_id": passage_id}
    return Passage(passage_id, _digest(url or provider), record.content, metadata)


def _passage(source: WebSearchSource, provider: str) -> Passage:
    passage_id = _digest(source.url, source.text)
    metadata = {"source": source.url, "url": source.url}
    for name in ("title", "published_at", "updated_at"):
        value = getattr(source, name)
        if value is not None:
            metadata[name] = value
    metadata |= {"provider": provider, "chunk_id": passage_id}
    return Passage(passage_id, _digest(source.url), source.text, metadata)


def _answer(result: WebSearchResult) -> Passage:
    text = result.content or ""
    # An answer has no address; the provider's id keeps `source` a non-empty text.
    passage_id = _digest(result.provider, text)
    metadata = {
        "source": result.provider,
        "provider": result.provider,
        "kind": "answer",
        "chunk_id": passage_id,
    }
    if result.citation_contract is not None:
        metadata["citation_contract"] = result.citation_contract
    return Passage(passage_id, passage_id, text, metadata, result.citations)


def _digest(*parts: str) -> str:
    # NUL cannot occur in an address, so the parts cannot run into each other.
    joined = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(joined).hexdigest()[:32]
