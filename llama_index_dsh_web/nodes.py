"""A search result as LlamaIndex nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import TypeAdapter, ValidationError

from dsh_web import Citation, InvalidRequestError, WebError, WebPage, WebSearchResult
from dsh_web.passages import Passage, passages

__all__ = [
    "HIDDEN_FROM_LLM",
    "citations_of",
    "hidden_from_embedding",
    "passage_node",
    "search_nodes",
]

HIDDEN_FROM_LLM: Final = (
    "source",
    "provider",
    "chunk_id",
    "content",
    "citation_contract",
    "citations",
)
"""`source` repeats `url`; the rest is of no use to a reader. Title, url and dates stay visible."""

_RECORDS: Final = TypeAdapter(tuple[Citation, ...])


def search_nodes(
    result: WebSearchResult,
    *,
    include_answer: bool,
    score_from_rank: bool,
    pages: Mapping[str, WebPage | WebError] | None = None,
    by_excerpt: bool = False,
    most: int | None = None,
) -> list[NodeWithScore]:
    """Return one node per passage, in the provider's order, each in a wrapper of its own.

    Args:
        result: A search result.
        include_answer: Put the provider's answer first, as a node marked `kind: "answer"`, which
            carries its citation records; see `citations_of`.
        score_from_rank: Score 1/rank, rank from 1; False: every score is None.
        pages: Pages by the address of their source; where there is one, it is the text.
        by_excerpt: A node for each excerpt of a page that the provider gives.
        most: Cap on the nodes, the answer's apart; None: no cap.
    """
    found = passages(
        result, include_answer=include_answer, pages=pages, by_excerpt=by_excerpt, most=most
    )
    return [
        NodeWithScore(node=passage_node(passage), score=1 / rank if score_from_rank else None)
        for rank, passage in enumerate(found, start=1)
    ]


def citations_of(node: BaseNode) -> tuple[Citation, ...]:
    """Return the records that an answer's node carries; none for any other node.

    Raises:
        InvalidRequestError: `metadata["citations"]` is something else than records as JSON text.
    """
    text = node.metadata.get("citations")
    if text is None:
        return ()
    try:
        return _RECORDS.validate_json(text)
    except ValidationError as error:
        raise InvalidRequestError(
            'metadata["citations"] holds something else than citation records as JSON text'
        ) from error


def hidden_from_embedding(metadata: Mapping[str, Any]) -> list[str]:
    """Return the metadata that would only blur the embedded text: all but the title."""
    return [name for name in metadata if name != "title"]


def passage_node(passage: Passage) -> TextNode:
    """Return a new node for `passage`."""
    metadata = dict(passage.metadata)
    if passage.citations:
        # As text: vector stores take flat values only.
        metadata["citations"] = _RECORDS.dump_json(passage.citations).decode()
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=metadata,
        excluded_llm_metadata_keys=list(HIDDEN_FROM_LLM),
        excluded_embed_metadata_keys=hidden_from_embedding(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.page_id)},
    )
