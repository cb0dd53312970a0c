"""A search result as content blocks that a model cites natively; needs nothing of LangChain."""

from __future__ import annotations

from typing import Any

from dsh_web.render import Excerpt, SearchExcerpts

__all__ = ["search_result_blocks"]


def search_result_blocks(excerpts: SearchExcerpts) -> list[dict[str, Any]]:
    """Return the answer, if any, as a text block, and a `search_result` block for each source.

    The answer is no `search_result`: a model is to cite pages, not another model. Every block is a
    dict of a type that LangGraph's `ToolNode` lets through, since a single other one would turn
    the whole list into JSON text. Anthropic's API takes no further keys, and wants `citations`
    set alike on all results of a request.
    """
    answer = [{"type": "text", "text": excerpts.answer}] if excerpts.answer else []
    return [*answer, *map(_search_result, excerpts.sources)]


def _search_result(excerpt: Excerpt) -> dict[str, Any]:
    return {
        "type": "search_result",
        "source": excerpt.url,
        "title": excerpt.title,
        "content": [{"type": "text", "text": excerpt.text}],
        "citations": {"enabled": True},
    }
