"""A search result as LlamaIndex nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from dsh_web import WebError, WebPage, WebSearchResult
from dsh_web.passages import Passage, passages

__all__ = ["HIDDEN_FROM_LLM", "hidden_from_embedding", "search_nodes"]

HIDDEN_FROM_LLM: Final = ("source", "provider", "chunk_id", "content")
"""`source` repeats `url`; the rest is of no use to a reader. Title, url and dates stay visible."""


def search_nodes(
    result: WebSearchResult,
    *,
    include_answer: bool,
    score_from_rank: bool,
    pages: Mapping[str, WebPage | WebError] | None = None,
) -> list[NodeWithScore]:
    """Return one node per passage, in the provider's order, each in a wrapper of its own.

    Args:
        result: A search result.
        include_answer: Put the provider's answer first, as a node marked `kind: "answer"`.
        score_from_rank: Score 1/rank, rank from 1; False: every score is None.
        pages: Pages by the address of their source; where there is one, it is the text.
    """
    found = passages(result, include_answer=include_answer, pages=pages)
    return [
        NodeWithScore(node=_node(passage), score=1 / rank if score_from_rank else None)
        for rank, passage in enumerate(found, start=1)
    ]


def hidden_from_embedding(passage: Passage) -> list[str]:
    """Return the metadata that would only blur the embedded text: all but the title."""
    return [name for name in passage.metadata if name != "title"]


def _node(passage: Passage) -> TextNode:
    return TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=dict(passage.metadata),
        excluded_llm_metadata_keys=list(HIDDEN_FROM_LLM),
        excluded_embed_metadata_keys=hidden_from_embedding(passage),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.page_id)},
    )
