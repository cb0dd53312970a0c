"""Records on results: for providers that read none, and for results that were stored."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..seam import WebSearchResult
from ..seam_citations import Citation
from .contracts import CONTRACTS, MARKERS, CitationContract, contract_named
from .reader import Annotation, read_citations
from .references import Reference, references_of

__all__ = ["read_again", "with_citations"]

_SEVERAL = re.compile(r"[,\-\u2013]")
"""What stands between the members of one marker."""


def with_citations(result: WebSearchResult) -> WebSearchResult:
    """Return `result` with records read by the neutral contract, if nothing has read it yet."""
    if not result.content or result.citations or result.citation_contract is not None:
        return result
    references = references_of(result.sources, contract=MARKERS)
    records = read_citations(result.content, references, contract=MARKERS, provider=result.provider)
    return result.model_copy(update={"citations": records, "citation_contract": MARKERS.name})


def read_again(
    result: WebSearchResult, *, contract: CitationContract | str | None = None
) -> WebSearchResult:
    """Return a stored result with its records read anew. Reading again changes nothing.

    Args:
        result: What a search returned, now or long ago. Its sources may have been cut since: what
            its records already lead to stays known.
        contract: Rules to read by; default: those that the result names, else the neutral ones.

    Raises:
        InvalidRequestError: No contract of that name is known.
    """
    rules = contract_named(contract or result.citation_contract or MARKERS)
    if not result.content:
        return result
    # Of these a source without a number never had one, whatever rules are asked for now.
    stored = CONTRACTS.get(result.citation_contract or "")
    by_position = stored is None or not stored.has_ids
    content = result.content
    records: list[Citation] = []
    spans = result.answer_spans or ((0, len(content)),)
    for answer, (start, end) in enumerate(spans):
        known = [
            record
            for record in result.citations
            if (not result.answer_spans or record.answer_index == answer)
            # Defined in the text itself, in numbers of their own.
            and not record.raw_marker.startswith("[^")
        ]
        # The sources of several answers have lost their numbers, which mean nothing together.
        sources = () if result.answer_spans else result.sources
        references = references_of(sources, contract=rules, by_position=by_position)
        _learn(references, known, rules)
        found = read_citations(
            content[start:end],
            references,
            contract=rules,
            provider=result.provider,
            annotations=[*_annotations(known, references, start)],
            answer_index=answer,
        )
        records += [record.moved(start) for record in found]
    return result.model_copy(update={"citations": tuple(records), "citation_contract": rules.name})


def _learn(
    references: dict[tuple[str, int], Reference],
    known: Iterable[Citation],
    rules: CitationContract,
) -> None:
    """Add what the records already led to, which the sources may no longer say."""
    by_number: dict[tuple[str, int], list[Citation]] = {}
    for record in known:
        if record.source_index is None:
            continue
        if record.raw_marker:
            by_number.setdefault((record.source_type, record.source_index), []).append(record)
        elif record.url is not None:  # words with a note of their own, whose page has a number
            for kind in _kinds(record.source_type, rules):
                reference = Reference(record.url, record.title)
                references.setdefault((kind, record.source_index), reference)
    for (source_type, number), records in by_number.items():
        urls = {record.url for record in records}
        if None in urls:
            continue  # it leads nowhere: those of its markers that do were annotated
        # Where an annotation changed the target of one marker, what the sources say is what the
        # others follow; a marker of several members cannot have been changed.
        of_several = [record for record in records if _SEVERAL.search(record.raw_marker)]
        record = (of_several or records)[0]
        reference = Reference(record.url or "", record.title, record.confidence)
        for kind in _kinds(source_type, rules):
            if len(urls) == 1:
                references[kind, number] = reference
            else:
                references.setdefault((kind, number), reference)


def _kinds(source_type: str, rules: CitationContract) -> Iterable[str]:
    """Return the kinds under which `rules` look for a source that was found as `source_type`."""
    if source_type in ("web", MARKERS.default_type):
        return ("web", rules.default_type)
    return (source_type,)


def _annotations(
    known: Iterable[Citation], references: dict[tuple[str, int], Reference], start: int
) -> Iterable[Annotation]:
    """Yield what the provider's annotations must have said, seen from the records."""
    for record in known:
        if record.url is None:
            continue
        if not record.raw_marker:
            claim = record.claim_span
            yield Annotation(
                record.url, record.title, claim[0] - start, claim[1] - start, record.confidence
            )
            continue
        number = record.source_index
        reference = None if number is None else references.get((record.source_type, number))
        if reference is None or reference.url != record.url:
            marker = record.marker_span
            yield Annotation(record.url, record.title, marker[0] - start, marker[1] - start)
