"""The contract of citations: one record per marker and source, the same for every vendor.

A record outlives the text's display: identity is (provider, source_type, source_index), never the
marker as written. Reading, rendering, numbering and checking records is in `citations`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator

from .models import Frozen

__all__ = ["Citation", "Span"]


def _in_order(span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    if not 0 <= start <= end:
        raise ValueError(f"{span} is not a span: it takes 0 <= start <= end")
    return span


Span: TypeAlias = Annotated[tuple[int, int], AfterValidator(_in_order)]
"""Half-open `(start, end)`, in Unicode code points of the answer: `content[start:end]`."""


class Citation(Frozen):
    """One source that the answer cites at one place.

    A marker that names several sources (`[1, 3]`) is several records with the same `marker_span`.
    """

    provider: str
    """Id of the provider whose numbers these are."""
    source_type: str
    """Kind of source: `web` for web pages; the marker's own word for others (`file`, `memory`,
    ...); `numeric` for a bare number under a contract that gives it no kind."""
    source_index: int | None
    """The provider's own number; None where the provider marks a stretch of text without one."""
    url: str | None = None
    """Address of the source; None when the marker points nowhere."""
    title: str | None = None
    marker_span: Span
    """Where the marker stands: `content[start:end] == raw_marker`. Empty where there is none."""
    claim_span: Span
    """The stretch of the answer that the marker supports: the sentence, list item or table cell,
    without any marker. Empty where there is nothing to support."""
    raw_marker: str
    """As written, for example `[1]` or `[web:1, web:2]`."""
    resolved: bool
    """True if the marker leads to a source."""
    confidence: Literal["high", "low"] = "high"
    """`low`: the link follows a rule that the vendor does not document, or the vendor itself is
    less than sure of it."""
    answer_index: int = 0
    """Which of several joined answers the marker stands in; the numbers of one answer mean
    nothing in another."""

    @property
    def key(self) -> tuple[str, str, int | None, int]:
        """What the source is told apart by within one result."""
        return (self.provider, self.source_type, self.source_index, self.answer_index)

    def moved(self, offset: int, *, answer_index: int | None = None) -> Citation:
        """Return the record for a text in which its answer begins at `offset`.

        Args:
            offset: Code points that now stand before the answer.
            answer_index: Which of several joined answers it is; None: as before.
        """
        changes: dict[str, object] = {
            name: (span[0] + offset, span[1] + offset)
            for name, span in (("marker_span", self.marker_span), ("claim_span", self.claim_span))
        }
        if answer_index is not None:
            changes["answer_index"] = answer_index
        return self.model_copy(update=changes)
