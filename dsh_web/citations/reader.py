"""Reading an answer's markers into records, by the rules of a contract. Never raises for a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress
from typing import Any, Literal, TypeAlias

from ..seam import WebSearchSource
from ..seam_citations import Citation
from .annotations import Annotation, annotated_words, on_markers
from .claims import claim_spans
from .contracts import CitationContract, contract_named
from .exported import exported_markers
from .lookups import Cover, Stretch
from .members import Member, members_of
from .records import Draft, Marked, finish
from .references import Reference, References, references_of
from .scan import MARKER, hidden_stretches, is_json_object, reasoning_end

__all__ = ["Annotation", "normalize_citations", "read_citations"]

_MARKER = re.compile(f"({MARKER})")

_Drafts: TypeAlias = Sequence[Draft]
"""A record for each member of one marker."""


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
    if not text:
        return ()
    start = reasoning_end(text)
    if is_json_object(text, start):
        return ()
    reading = _Reading(text, start, references, rules, provider, answer_index)
    spans: list[Stretch] = []
    drafts: list[_Drafts] = []
    if rules.reads_markers:
        spans, drafts = reading.markers()
    if rules.reads_exports:
        spans, drafts = _in_order([*zip(spans, drafts, strict=True), *reading.exported()])
    if annotations:
        reading.let_point(annotations, spans, drafts)
    marked = zip(spans, drafts, claim_spans(text, spans, reading.hidden, start), strict=True)
    if annotations:
        return finish(sorted([*marked, *reading.words(annotations, spans, drafts)], key=_span_of))
    return finish(marked)


def _in_order(marked: list[tuple[Stretch, _Drafts]]) -> tuple[list[Stretch], list[_Drafts]]:
    marked.sort(key=_span_of)
    return [span for span, _ in marked], [drafts for _, drafts in marked]


def _span_of(marked: tuple[Stretch, _Drafts] | Marked) -> Stretch:
    return marked[0]


class _Known(dict[str, _Drafts]):
    """What a marker names, found out once for each that is written differently."""

    def __init__(self, find: Callable[[str], _Drafts]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, marker: str) -> _Drafts:
        found = self[marker] = self._find(marker)
        return found


class _Reading:
    """One text, and what its markers are read by."""

    def __init__(
        self,
        text: str,
        start: int,
        references: References,
        rules: CitationContract,
        provider: str | None,
        answer_index: int,
    ) -> None:
        self.hidden = hidden_stretches(text, start, only_beside_brackets=True)
        self._text = text
        self._start = start
        self._references = references
        self._rules = rules
        self._provider = provider or rules.provider or "unknown"
        self._answer_index = answer_index

    def markers(self) -> tuple[list[Stretch], list[_Drafts]]:
        """Return where markers stand that are not hidden, in order, and what each of them names."""
        # Splitting gives texts and markers in turn, and with their lengths every offset: what would
        # else be a match object and three calls for each marker is a few calls for all.
        pieces = _MARKER.split(self._text[self._start :])
        if len(pieces) == 1:
            return [], []
        offsets = [*accumulate(map(len, pieces), initial=self._start)]
        spans = [*zip(offsets[1:-1:2], offsets[2::2], strict=True)]
        drafts = [*map(_Known(self._drafts).__getitem__, pieces[1::2])]
        if self.hidden or not all(drafts):
            is_hidden = Cover(self.hidden).holds
            kept = [bool(d) and not is_hidden(s[0]) for s, d in zip(spans, drafts, strict=True)]
            spans, drafts = [*compress(spans, kept)], [*compress(drafts, kept)]
        return spans, drafts

    def exported(self) -> Iterator[tuple[Stretch, _Drafts]]:
        """Yield the markers that the text itself defines."""
        is_hidden = Cover(self.hidden).holds
        for at, end, turn, number, reference in exported_markers(self._text, self._start):
            if not is_hidden(at):
                draft = self._draft(("web", number, reference), self._text[at:end])
                draft["answer_index"] = max(0, turn - 1)
                yield (at, end), [draft]

    def let_point(
        self, annotations: Sequence[Annotation], spans: list[Stretch], drafts: list[_Drafts]
    ) -> None:
        """Let annotations that stand on markers say where these lead."""
        for index, note in on_markers(annotations, self._text, spans):
            if len(drafts[index]) == 1:  # which member of a group is meant, nobody says
                (old,) = drafts[index]
                is_same = old["url"] == note.url
                title = note.title or (old["title"] if is_same else None)
                # What offsets count is documented nowhere; against a number they may be off.
                confidence: Literal["high", "low"] = "high" if is_same or not old["url"] else "low"
                reference = Reference(note.url, title, confidence)
                member = (old["source_type"], old["source_index"], reference)
                drafts[index] = [self._draft(member, old["raw_marker"])]

    def words(
        self, annotations: Sequence[Annotation], spans: list[Stretch], drafts: list[_Drafts]
    ) -> Iterator[Marked]:
        """Yield the annotations of words as records without a marker."""
        cited = {draft["url"] for members in drafts for draft in members}
        for member, words in annotated_words(
            annotations,
            self._text,
            spans,
            self._references,
            is_cited=cited.__contains__,
            start=self._start,
        ):
            yield (words[1], words[1]), [self._draft(member, "")], words

    def _drafts(self, marker: str) -> _Drafts:
        members = members_of(marker[1:-1], self._references, self._rules.default_type)
        return [self._draft(member, marker) for member in members]

    def _draft(self, member: Member, raw_marker: str) -> Draft:
        """Return a record but for its spans: the same for every occurrence of a marker."""
        kind, number, reference = member
        return {
            "provider": self._provider,
            "source_type": kind,
            "source_index": number,
            "url": None if reference is None else reference.url,
            "title": None if reference is None else reference.title,
            "marker_span": (0, 0),
            "claim_span": (0, 0),
            "raw_marker": raw_marker,
            "resolved": reference is not None,
            "confidence": "high" if reference is None else reference.confidence,
            "answer_index": self._answer_index,
        }
