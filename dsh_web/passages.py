"""A source as a passage that a framework can index: text, metadata, and an id that stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .errors import WebError
from .seam import WebFinance, WebSearchResult, WebSearchSource
from .seam_citations import Citation
from .seam_page import WebPage

__all__ = ["Passage", "page_passage", "passages"]


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
    `kind` and, for an answer, `citation_contract` where known; `content` (`page`, `excerpt` or
    `snippet`) where pages or excerpts were asked for. Nothing that changes from call to call."""
    citations: tuple[Citation, ...] = ()
    """The records of an answer; their spans are positions in `text`. A source has none: which
    numbers cite it differs from answer to answer."""


def passages(
    result: WebSearchResult,
    *,
    include_answer: bool = False,
    pages: Mapping[str, WebPage | WebError] | None = None,
    by_excerpt: bool = False,
    most: int | None = None,
) -> Iterator[Passage]:
    """Yield the passages of `result` in order; one that is listed twice comes once.

    Args:
        result: A search result.
        include_answer: Put the provider's answer first, as a passage marked `kind: "answer"`.
        pages: Pages by the address of their source. The text of a passage is then its whole page,
            marked `content: "page"`; a source without a usable page keeps its snippet, marked
            `content: "snippet"`.
        by_excerpt: Make a passage of each excerpt that a provider gives of a page, marked
            `content: "excerpt"`, instead of one that joins them; a source without any keeps its
            snippet, marked `content: "snippet"`.
        most: Cap on the passages, the answer's apart; None: no cap.
    """
    if include_answer and result.content:
        yield _answer(result)
    seen: set[str] = set()
    for source in result.sources:
        if by_excerpt:
            found = _excerpts(source, result.provider)
        else:
            found = [_passage(source, result.provider, pages)]
        for passage in found:
            if passage.id in seen:
                continue
            if most is not None and len(seen) >= most:
                return
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


def page_passage(
    url: str, page: WebPage, provider: str, source: WebSearchSource | None = None
) -> Passage:
    """Return a whole page as one passage, whose id is its address.

    Args:
        url: The address that was asked for; it stays the same when the page moves.
        page: What was read there.
        provider: Id of the provider that fetched it.
        source: What a search knows of it.
    """
    metadata = {"source": url, "url": url, **_known(source, page)}
    return Passage(url, url, page.text, metadata | {"provider": provider, "chunk_id": url})


def _passage(
    source: WebSearchSource, provider: str, pages: Mapping[str, WebPage | WebError] | None
) -> Passage:
    if pages is None:
        return _made(source, source.text, provider, None)
    outcome = pages.get(source.url)
    if isinstance(outcome, WebPage) and outcome.is_usable:
        return _made(source, outcome.text, provider, "page", outcome)
    return _made(source, source.text, provider, "snippet")


def _excerpts(source: WebSearchSource, provider: str) -> list[Passage]:
    texts = [text for text in source.excerpts if text.strip()]
    if not texts:
        return [_made(source, source.text, provider, "snippet")]
    return [_made(source, text, provider, "excerpt") for text in texts]


def _made(
    source: WebSearchSource,
    text: str,
    provider: str,
    content: str | None,
    page: WebPage | None = None,
) -> Passage:
    passage_id = _digest(source.url, text)
    metadata = {"source": source.url, "url": source.url, **_known(source, page)}
    metadata |= {"provider": provider, "chunk_id": passage_id}
    if content is not None:
        metadata["content"] = content
    return Passage(passage_id, _digest(source.url), text, metadata)


def _known(source: WebSearchSource | None, page: WebPage | None) -> dict[str, str]:
    """Return title and dates as far as they are known; what the search says of them wins."""
    known = {
        "title": (source and source.title) or (page and page.title),
        "published_at": source and source.published_at,
        "updated_at": source and source.updated_at,
    }
    return {name: value for name, value in known.items() if value}


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
