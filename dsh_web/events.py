"""What a streamed search yields, in the order in which it becomes known."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from .models import Frozen
from .seam import Usage, WebSearchResult, WebSearchSource

__all__ = ["Progress", "SearchDone", "SourcesFound", "StreamEvent", "TextDelta", "UsageReported"]


class TextDelta(Frozen):
    """The next piece of the answer. All of them joined are the final `content`."""

    kind: Literal["text"] = "text"
    text: str


class SourcesFound(Frozen):
    """Sources that were not known before; each comes once, in the provider's order."""

    kind: Literal["sources"] = "sources"
    sources: tuple[WebSearchSource, ...]


class Progress(Frozen):
    """What the provider is doing before or between pieces of text."""

    kind: Literal["progress"] = "progress"
    stage: Literal["searching", "searched", "fetching", "fetched", "reasoning", "other"]
    queries: tuple[str, ...] = ()
    """What is being searched for."""
    urls: tuple[str, ...] = ()
    """What is being read."""
    note: str | None = None
    """The provider's own words for it, if any; never part of the answer."""


class UsageReported(Frozen):
    """What the call has consumed so far; the last one counts."""

    kind: Literal["usage"] = "usage"
    usage: Usage


class SearchDone(Frozen):
    """The end: the same result that the unstreamed search would have returned."""

    kind: Literal["done"] = "done"
    result: WebSearchResult


StreamEvent: TypeAlias = Annotated[
    TextDelta | SourcesFound | Progress | UsageReported | SearchDone, Field(discriminator="kind")
]
"""Any event of a streamed search, told apart by `kind`."""
