"""Which numbers an answer cites a page by, and what stands for one that leads nowhere."""

from __future__ import annotations

from collections.abc import Iterable

from ..seam_citations import Citation

__all__ = ["missing_label", "numbers_by_url"]


def numbers_by_url(citations: Iterable[Citation]) -> dict[str, tuple[int, ...]]:
    """Return the provider's numbers for each cited address, both in order of first use.

    Documents and nodes do not hold them, since they differ from answer to answer:

        numbers = numbers_by_url(result.citations)
        for document in documents:
            numbers.get(document.metadata["url"], ())

    Several answers joined to one number independently; give the records of one `answer_index`.
    """
    found: dict[str, dict[int, None]] = {}
    for record in citations:
        if record.url is not None and record.source_index is not None:
            found.setdefault(record.url, {})[record.source_index] = None
    return {url: tuple(numbers) for url, numbers in found.items()}


def missing_label(record: Citation) -> str:
    """Return what to show for an unresolved record: `7?`, or `file:7?` for another kind."""
    if record.source_index is None:
        return f"{record.raw_marker.strip('[]')}?"
    # The kinds of source that bare numbers stand for.
    kind = "" if record.source_type in ("web", "numeric") else f"{record.source_type}:"
    return f"{kind}{record.source_index}?"
