"""Checking answers: what they cite, what they fail to cite, and what looks wrong.

Everything is counted from the records; nothing is fetched and no answer is judged. A marker that
leads nowhere is a fault; a claim that shares no word with the text of its source is a hint.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from pydantic import Field

from ..models import Frozen
from ..seam import WebSearchResult
from ..seam_citations import Citation, Span
from .words import TextWords, share_nothing, words_of

__all__ = [
    "AuditSummary",
    "AuditTotals",
    "CitationAudit",
    "CitationFinding",
    "audit_citations",
    "summarize_audits",
]

_LONGEST_CLAIM: Final = 500
"""Code points of a claim in a finding; of a longer one the end, which is next to the marker."""


class CitationFinding(Frozen):
    """One record that deserves a look, and where to look."""

    raw_marker: str
    """As written; empty where a provider linked a stretch of text without a marker."""
    source_type: str
    source_index: int | None = None
    url: str | None = None
    """What the record leads to, if anything."""
    claim: str
    """What the marker supports; the last 500 code points of it, if it is longer."""
    line: int
    """Line of the answer in which the marker stands, from 1."""
    marker_span: Span


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
    cited: tuple[str, ...] = ()
    """Their addresses, in order of first use."""
    unresolved: tuple[CitationFinding, ...] = ()
    """Markers that lead to no source."""
    low_confidence: tuple[CitationFinding, ...] = ()
    """Links by a rule that the vendor does not document, or that it is less than sure of."""
    linked_sources: int = 0
    """Listed pages whose address itself stands in the text: a link in place of a marker."""
    uncited: tuple[str, ...] = ()
    """Addresses of listed sources that neither a marker nor a link leads to."""
    unlisted: tuple[str, ...] = ()
    """Addresses that are cited but not, or no longer, among the listed sources."""
    source_types: dict[str, int] = Field(default_factory=dict)
    """Records per kind of source."""
    duplicated_urls: tuple[str, ...] = ()
    """Addresses that are listed more than once."""
    missing_titles: tuple[str, ...] = ()
    """Addresses of listed sources without a title."""
    mismatches: tuple[CitationFinding, ...] = ()
    """Hints, no verdicts: claims that share no word with the title and snippet of their source.
    There are none for sources without a snippet, for claims of a single word, and where claim and
    source are in different scripts or, as far as can be told, languages."""

    @property
    def is_complete(self) -> bool:
        """Whether every marker leads to a source."""
        return not self.unresolved


class AuditTotals(Frozen):
    """Counts over several answers; see `CitationAudit` for what is counted."""

    answers: int = 0
    """Results with and without a text."""
    markers: int = 0
    citations: int = 0
    sources: int = 0
    cited_sources: int = 0
    """Cited pages, counted anew in each answer."""
    distinct_cited_sources: int = 0
    """Cited pages, counted once over all answers."""
    linked_sources: int = 0
    unresolved: int = 0
    low_confidence: int = 0
    uncited: int = 0
    unlisted: int = 0
    duplicated_urls: int = 0
    missing_titles: int = 0
    mismatches: int = 0
    answers_without_citations: int = 0
    """Answers that have sources and neither cite nor link one."""
    source_types: dict[str, int] = Field(default_factory=dict)


class AuditSummary(AuditTotals):
    """Totals over all answers, and what each contract and each provider adds to them."""

    by_contract: dict[str, AuditTotals] = Field(default_factory=dict)
    """Per contract; under `none` what had no text to read."""
    by_provider: dict[str, AuditTotals] = Field(default_factory=dict)


def audit_citations(result: WebSearchResult, *, name: str = "") -> CitationAudit:
    """Return what there is to say of the citations of `result`; its text is not read anew.

    Args:
        result: An answer with its records, as a search returns it. For a stored one that has none
            yet, call `read_again` first.
        name: What to call it in reports, for example its file.
    """
    records = result.citations
    content = result.content or ""
    urls = [source.url for source in result.sources]
    listed = set(urls)
    cited = dict.fromkeys(record.url for record in records if record.url is not None)
    linked = listed & _addresses_in(content)
    line_ends = [match.end() for match in _LINE_END.finditer(content)]

    def finding(record: Citation) -> CitationFinding:
        return _finding(record, content, line_ends)

    return CitationAudit(
        name=name,
        provider=result.provider,
        contract=result.citation_contract,
        has_answer=bool(content.strip()),
        markers=len({record.marker_span for record in records}),
        citations=len(records),
        sources=len(urls),
        cited_sources=len(cited),
        cited=tuple(cited),
        unresolved=tuple(finding(record) for record in records if not record.resolved),
        low_confidence=tuple(finding(r) for r in records if r.confidence == "low"),
        linked_sources=len(linked),
        uncited=tuple(
            url for url in dict.fromkeys(urls) if content and url not in cited and url not in linked
        ),
        unlisted=tuple(url for url in cited if url not in listed),
        source_types=dict(sorted(Counter(record.source_type for record in records).items())),
        duplicated_urls=tuple(url for url, count in Counter(urls).items() if count > 1),
        missing_titles=tuple(source.url for source in result.sources if not source.title),
        mismatches=tuple(map(finding, _mismatches(result))),
    )


def summarize_audits(audits: Iterable[CitationAudit | WebSearchResult]) -> AuditSummary:
    """Return the totals over several answers; results among them are audited first."""
    listed = [item if isinstance(item, CitationAudit) else audit_citations(item) for item in audits]
    by_contract: dict[str, list[CitationAudit]] = {}
    by_provider: dict[str, list[CitationAudit]] = {}
    for audit in listed:
        by_contract.setdefault(audit.contract or "none", []).append(audit)
        by_provider.setdefault(audit.provider, []).append(audit)
    return AuditSummary(
        **dict(_totals(listed)),
        by_contract={name: _totals(group) for name, group in sorted(by_contract.items())},
        by_provider={name: _totals(group) for name, group in sorted(by_provider.items())},
    )


def _totals(audits: list[CitationAudit]) -> AuditTotals:
    types: Counter[str] = Counter()
    for audit in audits:
        types.update(audit.source_types)
    return AuditTotals(
        answers=len(audits),
        markers=sum(audit.markers for audit in audits),
        citations=sum(audit.citations for audit in audits),
        sources=sum(audit.sources for audit in audits),
        cited_sources=sum(audit.cited_sources for audit in audits),
        distinct_cited_sources=len({url for audit in audits for url in audit.cited}),
        linked_sources=sum(audit.linked_sources for audit in audits),
        unresolved=sum(len(audit.unresolved) for audit in audits),
        low_confidence=sum(len(audit.low_confidence) for audit in audits),
        uncited=sum(len(audit.uncited) for audit in audits),
        unlisted=sum(len(audit.unlisted) for audit in audits),
        duplicated_urls=sum(len(audit.duplicated_urls) for audit in audits),
        missing_titles=sum(len(audit.missing_titles) for audit in audits),
        mismatches=sum(len(audit.mismatches) for audit in audits),
        answers_without_citations=sum(
            audit.has_answer and audit.sources > 0 and audit.citations == audit.linked_sources == 0
            for audit in audits
        ),
        source_types=dict(sorted(types.items())),
    )


_LINE_END = re.compile(r"\r\n?|\n")


def _finding(record: Citation, content: str, line_ends: list[int]) -> CitationFinding:
    start, end = record.claim_span
    # The bound keeps a thousand markers behind one endless sentence from copying it each time.
    is_long = end - start > _LONGEST_CLAIM
    return CitationFinding(
        raw_marker=record.raw_marker,
        source_type=record.source_type,
        source_index=record.source_index,
        url=record.url,
        claim=content[end - _LONGEST_CLAIM if is_long else start : end],
        line=1 + bisect_right(line_ends, record.marker_span[0]),
        marker_span=record.marker_span,
    )


_ADDRESS = re.compile(r"https?://[^\s<>\"]++")
_DEFINITION = re.compile(r"^[ \t]{0,3}\[[^\]\r\n]{1,200}\]:[ \t][^\r\n]*+", re.MULTILINE)
_MAY_END = re.compile(r"[)\]}.,;:!?*_'|`]")
_ENDS_LOOKED_AT: Final = 40
_SAMPLE: Final = 20_000
"""Code points of an answer by which its language is told."""


def _addresses_in(content: str) -> set[str]:
    """Return the addresses in a text, each with and without what may be punctuation behind it.

    The lines that define `[1]: https://...` are a list of sources, not a use of them.
    """
    found: set[str] = set()
    if "://" not in content:
        return found
    for token in _ADDRESS.findall(_DEFINITION.sub("", content)):
        for address in token.split("]("):  # links may stand side by side without a space
            found.add(address)
            for _, end in zip(range(_ENDS_LOOKED_AT), _MAY_END.finditer(address), strict=False):
                found.add(address[: end.start()])
    return found


def _mismatches(result: WebSearchResult) -> Iterator[Citation]:
    """Yield the records whose claim shares no word with what is known of its source."""
    texts: dict[str, list[str]] = {}
    for source in result.sources:
        if source.snippet:
            texts.setdefault(source.url, []).append(f"{source.title or ''} {source.snippet}")
    if not texts:
        return  # where nothing is known of the pages, nothing can be missing from them
    content = result.content or ""
    pages: dict[str, TextWords] = {}
    claims: dict[Span, TextWords] = {}
    language = words_of(content[:_SAMPLE]).language
    for record in result.citations:
        url, span = record.url, record.claim_span
        if url is None or url not in texts:
            continue
        if url not in pages:
            pages[url] = words_of(" ".join(texts[url]))
        if span not in claims:
            # The language of one sentence is a guess; that of the whole answer is none.
            claims[span] = replace(words_of(content[slice(*span)]), language=language)
        if share_nothing(claims[span], pages[url]):
            yield record
