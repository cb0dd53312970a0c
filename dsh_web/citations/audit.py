"""Checking answers: what they cite, what they fail to cite, and what looks wrong.

Everything is counted from the records; nothing is fetched and no answer is judged. A marker that
leads nowhere is a fault; a claim that shares no word with the text of its source is a hint.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import Field

from ..models import Frozen
from ..seam import WebSearchResult, WebSearchSource
from ..seam_citations import Citation, Span

__all__ = ["AuditSummary", "CitationAudit", "Mismatch", "audit_citations", "summarize_audits"]


class Mismatch(Frozen):
    """A claim that shares no word with what is known of its source. A hint, not a verdict."""

    claim: str
    raw_marker: str
    marker_span: Span
    url: str


class CitationAudit(Frozen):
    """What one answer cites."""

    name: str = ""
    """What the caller calls the answer, for example its file."""
    provider: str
    contract: str | None = None
    """Rules that the markers were read by; None: there was no answer to read."""
    has_answer: bool = True
    markers: int = 0
    """Places in the text that cite something."""
    citations: int = 0
    """Records: a place that names three sources has three."""
    sources: int = 0
    """Sources listed with the answer."""
    cited_sources: int = 0
    """Different pages that the answer cites: finding a marker twice does not raise it."""
    unresolved: tuple[Citation, ...] = ()
    """Markers that lead to no source."""
    low_confidence: tuple[Citation, ...] = ()
    """Links by a rule that the vendor does not document."""
    linked_sources: int = 0
    """Listed pages whose address itself stands in the text: a link in place of a marker."""
    uncited: tuple[str, ...] = ()
    """Addresses of listed sources that neither a marker nor a link leads to."""
    source_types: dict[str, int] = Field(default_factory=dict)
    """Records per kind of source."""
    duplicated_urls: tuple[str, ...] = ()
    """Addresses that are listed more than once."""
    missing_titles: tuple[str, ...] = ()
    """Addresses of listed sources without a title."""
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every marker leads to a source."""
        return not self.unresolved


class AuditSummary(Frozen):
    """Totals over several answers."""

    answers: int = 0
    markers: int = 0
    citations: int = 0
    sources: int = 0
    cited_sources: int = 0
    unresolved: int = 0
    low_confidence: int = 0
    uncited: int = 0
    duplicated_urls: int = 0
    missing_titles: int = 0
    mismatches: int = 0
    answers_without_citations: int = 0
    """Answers that have sources and neither cite nor link one."""
    source_types: dict[str, int] = Field(default_factory=dict)
    contracts: dict[str, int] = Field(default_factory=dict)
    """Answers per contract."""


def audit_citations(result: WebSearchResult, *, name: str = "") -> CitationAudit:
    """Return what there is to say of the citations of `result`; it is not read anew."""
    records = result.citations
    cited = {record.url for record in records if record.url is not None}
    urls = [source.url for source in result.sources]
    content = result.content or ""
    linked = {url for url in urls if url in content}
    return CitationAudit(
        name=name,
        provider=result.provider,
        contract=result.citation_contract,
        has_answer=bool(result.content),
        markers=len({record.marker_span for record in records}),
        citations=len(records),
        sources=len(urls),
        cited_sources=len(cited),
        unresolved=tuple(record for record in records if not record.resolved),
        low_confidence=tuple(record for record in records if record.confidence == "low"),
        linked_sources=len(linked),
        uncited=tuple(url for url in dict.fromkeys(urls) if url not in cited | linked),
        source_types=dict(sorted(Counter(record.source_type for record in records).items())),
        duplicated_urls=tuple(url for url, count in Counter(urls).items() if count > 1),
        missing_titles=tuple(source.url for source in result.sources if source.title is None),
        mismatches=tuple(_mismatches(result)),
    )


def summarize_audits(audits: Iterable[CitationAudit]) -> AuditSummary:
    """Return the totals over several answers."""
    listed = list(audits)
    types: Counter[str] = Counter()
    for audit in listed:
        types.update(audit.source_types)
    return AuditSummary(
        answers=len(listed),
        markers=sum(audit.markers for audit in listed),
        citations=sum(audit.citations for audit in listed),
        sources=sum(audit.sources for audit in listed),
        cited_sources=sum(audit.cited_sources for audit in listed),
        unresolved=sum(len(audit.unresolved) for audit in listed),
        low_confidence=sum(len(audit.low_confidence) for audit in listed),
        uncited=sum(len(audit.uncited) for audit in listed),
        duplicated_urls=sum(len(audit.duplicated_urls) for audit in listed),
        missing_titles=sum(len(audit.missing_titles) for audit in listed),
        mismatches=sum(len(audit.mismatches) for audit in listed),
        answers_without_citations=sum(
            audit.has_answer and audit.sources > 0 and audit.citations == audit.linked_sources == 0
            for audit in listed
        ),
        source_types=dict(sorted(types.items())),
        contracts=dict(sorted(Counter(audit.contract or "none" for audit in listed).items())),
    )


def _mismatches(result: WebSearchResult) -> Iterator[Mismatch]:
    content = result.content or ""
    pages: dict[str, set[str]] = {}
    claims: dict[Span, set[str]] = {}
    for source in result.sources:
        if source.snippet:
            pages.setdefault(source.url, set()).update(_words(_text_of(source)))
    for record in result.citations:
        known = pages.get(record.url or "")
        if not known:
            continue  # where nothing is known of a page, nothing can be missing from it
        claim = content[slice(*record.claim_span)]
        words = claims.get(record.claim_span)
        if words is None:
            words = claims[record.claim_span] = _words(claim)
        if words and words.isdisjoint(known):
            yield Mismatch(
                claim=claim,
                raw_marker=record.raw_marker,
                marker_span=record.marker_span,
                url=record.url or "",
            )


def _text_of(source: WebSearchSource) -> str:
    return f"{source.title or ''} {source.snippet or ''}"


_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
"""Scripts that write no spaces between words, or glue particles to them."""
_COMMON_WORDS: Final = """
    about after all also and any are been but can for from had has have her his how into its may
    more most not now one only other our out over said she some such than that the their them then
    there these they this those through was were what when which while who will with would you your
    der die das den dem des ein eine einen einem einer und oder ist sind war waren wird werden nicht
    auch auf aus bei mit nach von vor zum zur als wie sich sie ihr
    les des une est sont dans pour par sur avec pas plus que qui aux ses ces leur mais
    los las una uno del con por para que como sus mas pero fue son
    gli dei della delle nel nella con per che non sono come anche
"""
_IGNORED = frozenset(_COMMON_WORDS.split())
_STEM: Final = 5
"""Letters that have to agree: enough to let a plural or a tense pass."""


def _words(text: str) -> set[str]:
    """Return what can be recognised again: the starts of words, numbers, pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif any(map(str.isdigit, word)):
            found.add(word)
        elif len(word) > 2 and word not in _IGNORED:
            found.add(word[:_STEM])
    return found
