"""Reading an answer's markers into records, by the rules of a contract. Never raises for a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..seam import WebSearchSource
from ..seam_citations import Citation
from .claims import claim_spans
from .contracts import CitationContract, contract_named
from .exported import exported_markers
from .references import Reference, References, references_of
from .scan import MARKER, Cover, hidden_stretches, is_json_object, reasoning_end

__all__ = ["Annotation", "normalize_citations", "read_citations"]

_MARKER = re.compile(MARKER)
_PART = re.compile(r"(?:([a-z_]++):)?([0-9]++)")
_MOST_DIGITS: Final = 18
"""Longer numbers name no source, and Python refuses to read very long ones."""
_YEARS = range(1500, 2200)


@dataclass(frozen=True, slots=True)
class Annotation:
    """A stretch of the answer that the provider itself links to a page."""

    url: str
    title: str | None
    start: int
    """Offset in code points of the answer."""
    end: int
    """Exclusive."""


_Member: TypeAlias = tuple[str, int | None, Reference | None]
"""source_type, source_index, and what it leads to."""


@dataclass(slots=True)
class _Found:
    """One marker in the text, with what each of its members leads to."""

    start: int
    end: int
    text: str
    members: list[_Member]
    answer_index: int | None = None
    """Set where the marker itself names the answer it belongs to."""


def normalize_citations(
    text: str | None,
    sources: Iterable[WebSearchSource | Mapping[str, Any] | str],
    *,
    contract: CitationContract | str = "markers/1",
    provider: str | None = None,
) -> tuple[Citation, ...]:
    """Read any stored answer against any list of sources.

        records = normalize_citations("Tea is a leaf[1].", ["https://tea.example/leaf"])

    Args:
        text: The answer; None and "" hold no citation.
        sources: See `references_of`.
        contract: Rules to read by: a name from `CONTRACTS`, or a contract of your own.
        provider: Whose numbers these are; default: the contract's provider, else `unknown`.

    Returns:
        One record per marker and source, in text order; markers that lead nowhere among them.

    Raises:
        InvalidRequestError: The contract is unknown, or a source is of a wrong type.
    """
    rules = contract_named(contract)
    return read_citations(
        text, references_of(sources, contract=rules), contract=rules, provider=provider
    )


def read_citations(
    text: str | None,
    references: References,
    *,
    contract: CitationContract | str,
    provider: str | None = None,
    annotations: Sequence[Annotation] = (),
    answer_index: int = 0,
) -> tuple[Citation, ...]:
    """Return the records of `text`; see `normalize_citations`, which finds the references itself.

    Args:
        text: The answer.
        references: What (source_type, source_index) leads to.
        contract: Rules to read by.
        provider: Whose numbers these are; default: the contract's provider, else `unknown`.
        annotations: Links that came with the answer; implausible ones are ignored.
        answer_index: Which of several joined answers `text` is.

    Raises:
        InvalidRequestError: The contract is unknown.
    """
    rules = contract_named(contract)
    if not text or is_json_object(text):
        return ()
    start = reasoning_end(text)
    hidden = hidden_stretches(text, start)
    found = [*_markers(text, start, hidden, references, rules)]
    if rules.reads_exports:
        found += _exported(text, start, hidden)
        found.sort(key=lambda marker: marker.start)
    loose = _apply(annotations, text, start, found, references) if annotations else []
    claims = claim_spans(text, [(m.start, m.end) for m in found], hidden, start)
    owner = provider or rules.provider or "unknown"
    records = [
        _record(owner, member, (marker.start, marker.end), claim, marker.text, answer)
        for marker, claim in zip(found, claims, strict=True)
        for answer in (answer_index if marker.answer_index is None else marker.answer_index,)
        for member in marker.members
    ]
    if loose:
        records += [
            _record(owner, member, (claim[1], claim[1]), claim, "", answer_index)
            for member, claim in loose
        ]
        records.sort(key=lambda record: record.marker_span)
    return tuple(records)


def _record(
    provider: str,
    member: _Member,
    marker_span: tuple[int, int],
    claim_span: tuple[int, int],
    raw_marker: str,
    answer_index: int,
) -> Citation:
    kind, number, reference = member
    # What `Citation.model_construct` does, without what it looks up each time: the parts are right
    # by construction, and checking them would cost more than finding them did.
    record = _new(Citation)
    fields = {
        "provider": provider,
        "source_type": kind,
        "source_index": number,
        "url": None,
        "title": None,
        "marker_span": marker_span,
        "claim_span": claim_span,
        "raw_marker": raw_marker,
        "resolved": False,
        "confidence": "high",
        "answer_index": answer_index,
    }
    if reference is not None:
        fields["url"], fields["title"] = reference.url, reference.title
        fields["resolved"], fields["confidence"] = True, reference.confidence
    _set(record, "__dict__", fields)
    _set(record, "__pydantic_fields_set__", _ALL_FIELDS)
    _set(record, "__pydantic_extra__", None)
    _set(record, "__pydantic_private__", None)
    return record


_new = Citation.__new__
_set = object.__setattr__
_ALL_FIELDS: Final = set(Citation.model_fields)


def _markers(
    text: str,
    start: int,
    hidden: list[tuple[int, int]],
    references: References,
    rules: CitationContract,
) -> Iterator[_Found]:
    cover = Cover(hidden)
    known: dict[str, list[_Member]] = {}
    for match in _MARKER.finditer(text, start):
        at, end = match.span()
        if hidden and cover.holds(at):
            continue
        marker = match.group()
        members = known.get(marker)
        if members is None:
            inside = marker[1:-1]
            members = known[marker] = [*_members(inside, references, rules.default_type)]
        if members:
            yield _Found(at, end, marker, members)


def _members(inside: str, references: References, default_type: str) -> Iterator[_Member]:
    if inside.isdigit():  # by far the most common: `[3]`
        yield from _member(default_type, inside, references, is_bare=True)
        return
    kind = ""
    for part in inside.split(","):
        numbers = _PART.findall(part)
        kind = numbers[0][0] or kind
        if len(numbers) == 1:
            digits = numbers[0][1]
            yield from _member(kind or default_type, digits, references, is_bare=not kind)
        elif len(numbers) == 2 and numbers[1][0] in ("", kind):
            yield from _range(kind or default_type, numbers[0][1], numbers[1][1], references)


def _member(kind: str, digits: str, references: References, *, is_bare: bool) -> Iterator[_Member]:
    number = _number(digits)
    reference = None if number is None else references.get((kind, number))
    is_year = is_bare and reference is None and len(digits) == 4 and number in _YEARS
    if not is_year:
        yield kind, number, reference


def _range(kind: str, first: str, last: str, references: References) -> Iterator[_Member]:
    """Yield the members of a range of which every one exists; any other is no citation."""
    low, high = _number(first), _number(last)
    if low is None or high is None or not low < high < low + len(references):
        return
    members = [(kind, n, references.get((kind, n))) for n in range(low, high + 1)]
    if all(reference is not None for _, _, reference in members):
        yield from members


def _number(digits: str) -> int | None:
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= _MOST_DIGITS else None


def _exported(text: str, start: int, hidden: list[tuple[int, int]]) -> Iterator[_Found]:
    cover = Cover(hidden)
    for at, end, turn, number, reference in exported_markers(text, start):
        if not cover.holds(at):
            yield _Found(at, end, text[at:end], [("web", number, reference)], max(0, turn - 1))


def _apply(
    annotations: Sequence[Annotation],
    text: str,
    start: int,
    found: list[_Found],
    references: References,
) -> list[tuple[_Member, tuple[int, int]]]:
    """Let annotations say where their markers lead; return those that mark text of their own.

    What the offsets count is not documented, so they are believed only where they fit: exactly
    one marker, or whole words in an answer that has no markers at all.
    """
    by_span = {(marker.start, marker.end): marker for marker in found}
    number_of = {reference.url: key for key, reference in reversed(list(references.items()))}
    loose: dict[tuple[str, int, int], tuple[_Member, tuple[int, int]]] = {}
    for note in annotations:
        span = _trimmed(text, note.start, note.end)
        if span is None or span[0] < start:
            continue
        marker = by_span.get(span)
        kind, number = number_of.get(note.url, ("web", None))
        if marker is not None:
            if len(marker.members) == 1:
                kind, number, known = marker.members[0]
                title = note.title or (known.title if known and known.url == note.url else None)
                marker.members = [(kind, number, Reference(note.url, title))]
        elif not found and _is_whole_words(text, *span):
            known = references.get((kind, number)) if number is not None else None
            title = note.title or (known.title if known else None)
            member = (kind, number, Reference(note.url, title))
            loose[note.url, *span] = (member, span)
    return list(loose.values())


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    if not 0 <= start < end <= len(text):
        return None
    inside = text[start:end]
    start += len(inside) - len(inside.lstrip())
    inside = inside.strip()
    return (start, start + len(inside)) if inside else None


def _is_whole_words(text: str, start: int, end: int) -> bool:
    return not (
        (start > 0 and text[start - 1].isalnum() and text[start].isalnum())
        or (end < len(text) and text[end - 1].isalnum() and text[end].isalnum())
    )
