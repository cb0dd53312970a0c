"""Keys about documents, nodes, tools and the text that a model reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from ..outcome import NotMeasuredError, Outcome
from ..tool_text import link_destinations, source_items, tool_text
from .compare import (
    Check,
    Complaint,
    at_most,
    equal,
    missing_from,
    present_in,
)

METADATA: Final = ("source", "url", "title", "published_at", "updated_at", "provider", "chunk_id")
"""Metadata fields of documents and nodes, compared over all of them in order."""


def _text_is_cut(outcome: Outcome) -> bool:
    if outcome.tool is not None and outcome.tool.payload is not None:
        return bool(outcome.tool.payload["text_truncated"])
    return tool_text(outcome).is_cut


def _each(read: Callable[[Any], Any]) -> Callable[[Outcome], list[Any]]:
    return lambda outcome: [read(passage) for passage in outcome.need("passages")]


def _metadata(name: str) -> Callable[[Outcome], list[Any]]:
    return _each(lambda passage: passage.metadata.get(name))


def _metadata_values(outcome: Outcome) -> list[Any]:
    return [value for passage in outcome.need("passages") for value in passage.metadata.values()]


def _value_types(want: list[str], outcome: Outcome) -> Complaint:
    others = sorted({type(value).__name__ for value in _metadata_values(outcome)} - set(want))
    return f"also {others}" if others else None


def _scores_do_not_rise(outcome: Outcome) -> bool:
    scores = [passage.score for passage in outcome.need("passages")]
    return all(a >= b for a, b in itertools.pairwise(scores))


def _ids_are_unique(outcome: Outcome) -> bool:
    ids = [passage.id for passage in outcome.need("passages")]
    return None not in ids and len(set(ids)) == len(ids)


def _ids_are_stable(outcome: Outcome) -> bool:
    ids = [passage.id for passage in outcome.need("passages")]
    return ids == [passage.id for passage in outcome.need("repeat")("sync")]


def _sync_equals_async(outcome: Outcome) -> bool:
    repeat = outcome.need("repeat")
    return bool(repeat("sync") == repeat("async") == outcome.need("passages"))


def _artifact_source_urls(outcome: Outcome) -> list[str]:
    payload = outcome.need("tool").payload
    if payload is None:
        raise NotMeasuredError("the tool handed back no structured result")
    return [source["url"] for source in payload["result"]["sources"]]


def _count(outcome: Outcome) -> int:
    return len(outcome.need("passages"))


CHECKS: Final[dict[str, Check]] = {
    "tool_text_links": equal(lambda o: link_destinations(tool_text(o).text)),
    "tool_text_source_items": equal(lambda o: source_items(tool_text(o).text)),
    "tool_text_max_chars": at_most(lambda o: len(tool_text(o).text)),
    "tool_text_contains_all": lambda want, o: missing_from(tool_text(o).text, want),
    "truncated_text": equal(_text_is_cut),
    "count": equal(_count),
    "page_content": equal(_each(lambda passage: passage.text)),
    **{f"metadata_{name}": equal(_metadata(name)) for name in METADATA},
    "metadata_values_none": equal(lambda o: _metadata_values(o).count(None)),
    "metadata_value_types": _value_types,
    "scores_all_float": equal(lambda o: all(type(p.score) is float for p in o.need("passages"))),
    "scores_non_increasing": equal(_scores_do_not_rise),
    "survive_similarity_postprocessor_cutoff_0": equal(lambda o: o.need("stock_filter")()),
    "node_ids_unique": equal(_ids_are_unique),
    "node_ids_equal_on_second_call": equal(_ids_are_stable),
    "sync_equals_async": equal(_sync_equals_async),
    "type": equal(lambda o: o.need("tool").type),
    "tool_call_id": equal(lambda o: o.need("tool").call_id),
    "tool_message_state": equal(lambda o: o.need("tool").state),
    "artifact_source_urls": equal(_artifact_source_urls),
    "content_contains": lambda want, o: missing_from(o.need("tool").text, want),
    "content_excludes": lambda want, o: present_in(o.need("tool").text, want),
}
