"""The `basis` of an answer: which pages Parallel says it rests on.

A basis has one entry per field of the answer, for a text a single one, and says nothing of where
in the text a page is used. Its citations therefore support the answer as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..citations import Annotation, Reference
from ..citations.scan import reasoning_end
from ._parallel import passages_in, source_of
from ._shape import Reader, web_url
from ._sources import SourceList

__all__ = ["CONTRACT", "Basis"]

CONTRACT: Final = "parallel-chat/2026-10"

_UNSURE: Final = ("medium", "low")


@dataclass(slots=True)
class _Page:
    """One address, and what all citations say of it together."""

    title: str | None = None
    excerpts: dict[str, None] = field(default_factory=dict)
    confidence: Literal["high", "low"] = "low"
    """`high` if one entry that cites it is not unsure."""


class Basis:
    """What the pages of all entries come to; each address counts once, in order of first use.

    Args:
        reader: Notes the wrong types that are met.
        data: The body.
    """

    def __init__(self, reader: Reader, data: dict[str, Any]) -> None:
        self._pages: dict[str, _Page] = {}
        self.sources = SourceList(reader, make_source=source_of)
        """The pages, numbered from 1 in their order."""
        for entry in reader.records(data, "basis"):
            confidence = entry.get("confidence")
            is_unsure = isinstance(confidence, str) and confidence.strip().lower() in _UNSURE
            for citation in reader.items(entry, "citations"):
                self._take(citation, is_unsure=is_unsure)
        for number, (url, page) in enumerate(self._pages.items(), start=1):
            entry = {"url": url, "title": page.title, "excerpts": [*page.excerpts]}
            is_bare = page.title is None and not page.excerpts
            self.sources.add_entry(entry, ids=(number,), origin="link" if is_bare else "result")

    def _take(self, citation: Any, *, is_unsure: bool) -> None:
        url = web_url(citation.get("url")) if isinstance(citation, dict) else None
        if url is None:
            self.sources.add_entry(citation)  # counts it as left out
            return
        page = self._pages.setdefault(url, _Page())
        title = citation.get("title")
        if page.title is None and isinstance(title, str) and title.strip():
            page.title = title
        page.excerpts.update(dict.fromkeys(passages_in(citation.get("excerpts"))))
        if not is_unsure:
            page.confidence = "high"

    def references(self) -> dict[tuple[str, int], Reference]:
        """Return the pages by their numbers."""
        return {
            ("web", number): Reference(url, page.title, page.confidence)
            for number, (url, page) in enumerate(self._pages.items(), start=1)
        }

    def annotations(self, content: str | None) -> Iterator[Annotation]:
        """Yield each page as a note on the whole of `content`."""
        start, end = reasoning_end(content or ""), len(content or "")
        for url, page in self._pages.items():
            yield Annotation(url, page.title, start, end, page.confidence)
