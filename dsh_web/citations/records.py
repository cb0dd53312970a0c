"""Building many records at once, without checking what is right by construction.

Validating a record costs more than finding its marker did. The records made here are ordinary
ones all the same: equal to validated ones, hashable, picklable, and they round-trip through JSON.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from ..seam_citations import Citation
from .lookups import Stretch

__all__ = ["Draft", "Marked", "finish"]

Draft: TypeAlias = dict[str, Any]
"""All fields of a record in their order; its two spans stand for nothing yet."""

Marked: TypeAlias = tuple[Stretch, Sequence[Draft], Stretch]
"""marker_span, a draft for each source that is cited there, claim_span."""

_ALL_FIELDS: Final = set(Citation.model_fields)
_SLOTS: Final = vars(BaseModel)
_set_fields = _SLOTS["__dict__"].__set__
_set_fields_set = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__


def finish(marked: Iterable[Marked]) -> tuple[Citation, ...]:
    """Return the records of what is marked, one per draft, in order."""
    fields = []
    for marker_span, drafts, claim_span in marked:
        for each in drafts:
            record = each.copy()
            record["marker_span"] = marker_span
            record["claim_span"] = claim_span
            fields.append(record)
    # What `Citation.model_construct` does one by one and ten times slower, one step for all
    # records at a time. The set of fields is shared: records are frozen, copies copy it.
    records = tuple(map(Citation.__new__, repeat(Citation, len(fields))))
    _run(map(_set_fields, records, fields))
    _run(map(_set_fields_set, records, repeat(_ALL_FIELDS)))
    _run(map(_set_extra, records, repeat(None)))
    _run(map(_set_private, records, repeat(None)))
    return records


def _run(steps: Iterable[object]) -> None:
    deque(steps, maxlen=0)
