"""Results and pages as Markdown documents."""

from __future__ import annotations

from typing import Literal

from ..citations.numbering import Numbering
from ..citations.rendering import SourceList, render_result
from ..errors import InvalidRequestError
from ..escaping import destination, encoded, without_tags
from ..render import shown_parts
from ..seam import WebSearchResult, WebSearchSource
from ..seam_page import WebPage

__all__ = ["page_markdown", "search_markdown", "shown_markdown"]


def search_markdown(
    result: WebSearchResult,
    *,
    style: Literal["markdown", "footnotes", "plain"] = "markdown",
    numbering: Numbering = "provider",
    source_list: SourceList = "all",
) -> str:
    """Return the answer with its citations, and its sources; see `WebSearchResult.to_markdown`."""
    if style not in ("markdown", "footnotes", "plain"):
        raise InvalidRequestError(
            f"{style!r} is no style of Markdown: use markdown, footnotes or plain; to_html() "
            "gives HTML"
        )
    if result.content:
        return render_result(result, style=style, numbering=numbering, source_list=source_list)
    answer, sources = shown_parts(result)
    parts = [answer] if answer else []
    if sources:
        parts.append("\n".join(_listed(rank, s) for rank, s in enumerate(sources, start=1)))
    return "\n\n".join(parts or ["No results found."]) + "\n"


def shown_markdown(result: WebSearchResult) -> str:
    """Return the same for a viewer of unknown caution: no tag of the answer is left to work."""
    return without_tags(search_markdown(result))


def _listed(rank: int, source: WebSearchSource) -> str:
    """Return one line; nothing in it can end the line or start another construct."""
    title, target = encoded(source.label) or "source", destination(source.url)
    line = f"{rank}. [{title}](<{target}>)" if "(" in target else f"{rank}. [{title}]({target})"
    if source.published_at:
        line += f" ({encoded(source.published_at)})"
    return f"{line} — {encoded(source.snippet)}" if source.snippet else line


def page_markdown(page: WebPage) -> str:
    """Return where the page is from, and its text, in which no tag is left to work."""
    title = encoded(page.title or page.url)
    status = "" if page.status_code is None else f" (HTTP {page.status_code})"
    heading = f"[{title}]({destination(page.url)}){status}"
    return f"{heading}\n\n{without_tags(page.text)}\n"
