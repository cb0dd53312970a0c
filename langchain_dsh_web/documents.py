"""A search result as LangChain documents; imports nothing heavier than the document class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document

from dsh_web import WebError, WebPage, WebSearchResult
from dsh_web.passages import Passage, passages

__all__ = ["to_documents"]


def to_documents(
    result: WebSearchResult,
    *,
    include_answer: bool = False,
    pages: Mapping[str, WebPage | WebError] | None = None,
    by_excerpt: bool = False,
    most: int | None = None,
) -> list[Document]:
    """Return one document per source, in order; the answer, if asked for and given, comes first.

    With `pages`, by the address of their source, the text is the page, as far as there is one. With
    `by_excerpt` there is a document for each excerpt of a page that the provider gives. `most` caps
    the documents, the answer's apart.

    Metadata holds known values only, all of them text: `source`, `url`, `title`, `published_at`,
    `updated_at`, `provider`, `chunk_id`; with `pages` or `by_excerpt` also `content`, which is
    `page`, `excerpt` or `snippet`. The same passage is an equal document in every call, so
    retrievers that merge lists can de-duplicate; the numbers by which an answer cites it are for
    that reason not in it, see `dsh_web.citations.numbers_by_url`.

    The answer has `kind: "answer"` and no `url`, and where it cites, `citation_contract` and
    `citations`: a list of dumped `dsh_web.Citation` records whose spans are positions in
    `page_content`.
    """
    found = passages(
        result, include_answer=include_answer, pages=pages, by_excerpt=by_excerpt, most=most
    )
    return [_document(passage) for passage in found]


def _document(passage: Passage) -> Document:
    # Always there, if need be as "": a document prompt that names it raises where it is missing.
    metadata: dict[str, Any] = {"title": ""} | passage.metadata
    if passage.citations:
        metadata["citations"] = [record.model_dump(mode="json") for record in passage.citations]
    return Document(id=passage.id, page_content=passage.text, metadata=metadata)
