"""A search with an answer as a LlamaIndex `Response`, whose numbers lead to its source nodes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeWithScore, TextNode

from dsh_web import Citation, WebSearchResult, WebSearchSource
from dsh_web.citations import missing_label
from dsh_web.passages import Passage, passages

from .nodes import citations_of, passage_node

__all__ = ["answer_response", "citations_of"]

RESPONSE_SCHEMA: Final = 1
"""Version of the dict in `Response.metadata`."""

NUMBER: Final = "citation_number"


def answer_response(
    result: WebSearchResult, *, cited_only: bool = False, score_from_rank: bool = True
) -> Response:
    """Return `result` as a response in which `[n]` stands for `source_nodes[n - 1]`.

    That is how LlamaIndex's `CitationQueryEngine` numbers, whatever the provider writes: `[web:7]`
    becomes `[2]` if its page is the second node, and `[1, 3]` becomes `[1][3]`. A marker that leads
    nowhere keeps what it says and gets a question mark: `[9?]`, `[file:2?]`. Nodes that the answer
    cites hold their number as `citation_number`, which no LLM and no embedding is shown. A cited
    page that `max_results` has cut from the sources gets a node after all others.

    `metadata` is a JSON-able dict: `schema` (1), `kind` (`"web_answer"`) and `result`, the dumped
    `dsh_web.WebSearchResult` with the answer as the provider wrote it. Spans of citation records
    are positions in that text, not in the response's.

    Args:
        result: A search result; without an answer, the response is None.
        cited_only: Only the nodes that the answer cites, in order of first use, which numbers its
            sources from 1 on without gaps.
        score_from_rank: Score 1/rank, rank from 1; False: every score is None.
    """
    sources = _cited_sources(result) if cited_only else (*result.sources, *_cut_sources(result))
    found = list(passages(result.model_copy(update={"sources": tuple(sources)})))
    numbers = _numbers(found)
    cited = {record.url for record in result.citations}
    nodes = [
        NodeWithScore(
            node=_node(passage, numbers, cited), score=1 / rank if score_from_rank else None
        )
        for rank, passage in enumerate(found, start=1)
    ]
    return Response(
        response=None if result.content is None else _renumbered(result, numbers),
        source_nodes=nodes,
        metadata={
            "schema": RESPONSE_SCHEMA,
            "kind": "web_answer",
            "result": result.model_dump(mode="json", exclude={"raw"}),
        },
    )


def _cited_sources(result: WebSearchResult) -> Iterator[WebSearchSource]:
    """Yield the sources that the answer cites, in order of first use."""
    by_url = {source.url: source for source in (*_cut_sources(result), *reversed(result.sources))}
    cited = dict.fromkeys(record.url for record in result.citations)
    return (by_url[url] for url in cited if url is not None)


def _cut_sources(result: WebSearchResult) -> Iterator[WebSearchSource]:
    """Yield what is known of pages that the answer cites and that are not among the sources."""
    seen = {source.url for source in result.sources}
    for record in result.citations:
        if record.url is not None and record.url not in seen:
            seen.add(record.url)
            yield WebSearchSource(url=record.url, title=record.title, origin="link")


def _numbers(found: Sequence[Passage]) -> dict[str, int]:
    """Return the number of each page; one with several passages has that of its first."""
    numbers: dict[str, int] = {}
    for position, passage in enumerate(found, start=1):
        numbers.setdefault(passage.metadata["source"], position)
    return numbers


def _node(passage: Passage, numbers: Mapping[str, int], cited: Container[str | None]) -> TextNode:
    node = passage_node(passage)
    url = passage.metadata["source"]
    if url in cited:
        node.metadata[NUMBER] = numbers[url]
        node.excluded_llm_metadata_keys.append(NUMBER)
        node.excluded_embed_metadata_keys.append(NUMBER)
    return node


def _renumbered(result: WebSearchResult, numbers: Mapping[str, int]) -> str:
    """Return the answer with each marker replaced by the numbers of its sources."""
    content, end, pieces = result.content or "", 0, []
    in_order = sorted(result.citations, key=attrgetter("marker_span"))
    for (start, stop), records in groupby(in_order, key=attrgetter("marker_span")):
        if start >= end:
            marks = dict.fromkeys(_mark(record, numbers) for record in records)
            pieces += [content[end:start], *marks]
            end = stop
    return "".join(pieces) + content[end:]


def _mark(record: Citation, numbers: Mapping[str, int]) -> str:
    return f"[{missing_label(record) if record.url is None else numbers[record.url]}]"
