"""What the numbers in an answer lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..errors import InvalidRequestError
from ..seam import WebSearchSource
from .contracts import CitationContract, contract_named

__all__ = ["Reference", "References", "references_of"]


@dataclass(frozen=True, slots=True)
class Reference:
    """The target of a marker."""

    url: str
    title: str | None = None
    confidence: Literal["high", "low"] = "high"
    """`low`: found by a rule that the vendor does not document."""


References: TypeAlias = Mapping[tuple[str, int], Reference]
"""(source_type, source_index) to what it leads to."""


def references_of(
    sources: Iterable[WebSearchSource | Mapping[str, Any] | str],
    *,
    contract: CitationContract | str = "markers/1",
    by_position: bool = True,
) -> dict[tuple[str, int], Reference]:
    """Return the references of a list of sources.

    Args:
        sources: In order: `WebSearchSource`s, mappings with `url` and perhaps `title`, or plain
            addresses. An entry without an address still takes its number.
        contract: Says which kinds of markers lead to them.
        by_position: Whether a list in which no source has `ids` is numbered by position.

    A source is found by its `ids`, the provider's own numbers, if any source has some; else by
    its position, from 1. Where two sources claim one number the first has it, with `low`
    confidence.

    Raises:
        InvalidRequestError: A source is of none of these types.
    """
    rules = contract_named(contract)
    listed = [_numbered(source) for source in sources]
    has_ids = not by_position or any(ids for _, ids in listed)
    found: dict[int, Reference] = {}
    for position, (reference, ids) in enumerate(listed, start=1):
        for number in ids if has_ids else (position,):
            if reference is None:
                continue
            known = found.setdefault(number, reference)
            if known.url != reference.url:
                found[number] = Reference(known.url, known.title, "low")
    kinds = dict.fromkeys((rules.default_type, "web"))
    return {(kind, number): reference for kind in kinds for number, reference in found.items()}


def _numbered(
    source: WebSearchSource | Mapping[str, Any] | str,
) -> tuple[Reference | None, tuple[int, ...]]:
    if isinstance(source, WebSearchSource):
        return Reference(source.url, source.title), source.ids
    if isinstance(source, str):
        return (Reference(source) if source.strip() else None), ()
    if isinstance(source, Mapping):
        url, title, ids = source.get("url"), source.get("title"), source.get("ids")
        numbers = tuple(n for n in ids if type(n) is int) if isinstance(ids, list | tuple) else ()
        if not (isinstance(url, str) and url.strip()):
            return None, numbers
        named = isinstance(title, str) and title.strip()
        return Reference(url, title if named else None), numbers
    raise InvalidRequestError(
        f"a source is a {type(source).__name__}: give WebSearchSource objects, mappings with "
        "'url', or addresses"
    )
