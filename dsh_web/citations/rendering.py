"""Answers for people: the markers become links, footnotes, HTML or numbers.

The records are never changed, and what is made of them is never read back: keep the result, and
render it whenever it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, TypedDict, Unpack, get_args

from ..errors import InvalidRequestError
from ..seam import WebSearchResult, WebSearchSource
from ..seam_citations import Citation
from ._html import HtmlMarks, as_html, html_of_text
from ._markdown import footnoted, linked
from ._plain import plain
from .layout import Layout, laid_out
from .numbering import Numbering

__all__ = ["RenderOptions", "SourceList", "Style", "render_citations", "render_result"]

Style: TypeAlias = Literal["markdown", "footnotes", "plain", "html", "html_markdown"]
SourceList: TypeAlias = Literal["none", "cited", "all"]


class RenderOptions(TypedDict, total=False):
    """The keywords of `render_citations` that concern how an answer is shown."""

    style: Style
    numbering: Numbering
    source_list: SourceList | None
    id_prefix: str


def render_result(result: WebSearchResult, **options: Unpack[RenderOptions]) -> str:
    """Return the answer of `result` as `render_citations` shows it.

        render_result(result, style="html", numbering="first_use")

    Args:
        result: What a search returned, now or long ago.
        **options: As `render_citations` takes them.

    Raises:
        InvalidRequestError: See `render_citations`.
    """
    return render_citations(result.content, result.citations, sources=result.sources, **options)


def render_citations(
    content: str | None,
    citations: Iterable[Citation],
    *,
    style: Style = "markdown",
    numbering: Numbering = "provider",
    source_list: SourceList | None = None,
    sources: Iterable[WebSearchSource] = (),
    id_prefix: str = "cite-",
) -> str:
    """Return an answer with its citations shown as readers know them.

        render_citations("Tea is a leaf[1].", records)  # 'Tea is a leaf[[1]](https://... "Leaf").'

    A number for which the answer has no source is shown with a question mark and never linked:
    `[7?]`, or `[file:7?]` where the marker names another kind than the web. Only http and https
    addresses become links. A source that is cited twice at one place is shown once there.

    Args:
        content: The answer, exactly as the records were read from it; None: there is none.
        citations: Its records, in any order. They stay as they are.
        style: `markdown`: links, `[[1]](https://...)`. `footnotes`: `[^1]` with definitions at the
            end, which many readers number anew in order. `plain`: `[1]`. `html`: the answer as
            text, in paragraphs, with superscript links. `html_markdown`: the same with the answer's
            Markdown read (extra `html`).
        numbering: `provider`: the provider's own numbers; where two sources claim one (`[1]` in two
            joined answers), the first keeps it and the other gets a new one above all of them.
            `first_use`: 1, 2, 3 in the order of the text. A `CitationLedger`: its numbers.
        source_list: What is listed below the answer: `none`, the `cited` sources, or `all`, with
            those marked that the answer does not cite. Default: `none` for `markdown`, else
            `cited`; footnotes cannot do without.
        sources: All sources of the answer; for `all`.
        id_prefix: What every `id` in HTML begins with; another one for each answer on a page.

    Raises:
        InvalidRequestError: A record does not fit `content`, two records overlap, an option is
            unknown, the ledger lacks a source, or markdown-it-py is not installed.
    """
    if source_list is None:
        source_list = "none" if style == "markdown" else "cited"
    _check_options(style, source_list, id_prefix)
    layout = laid_out(content, citations, numbering, sources if source_list == "all" else ())
    list_cited, list_uncited = source_list != "none", source_list == "all"
    if style == "markdown":
        return linked(layout, list_cited=list_cited, list_uncited=list_uncited)
    if style == "footnotes":
        return footnoted(layout, list_uncited=list_uncited)
    if style == "plain":
        return plain(layout, list_cited=list_cited, list_uncited=list_uncited)
    marks = HtmlMarks(layout, id_prefix, has_list=list_cited)
    body = html_of_text(layout, marks) if style == "html" else _markdown_body(layout, marks)
    return as_html(body, marks.source_list(list_cited=list_cited, list_uncited=list_uncited))


_ID_PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def _check_options(style: str, source_list: str, id_prefix: str) -> None:
    for name, value, known in (
        ("style", style, get_args(Style)),
        ("source_list", source_list, get_args(SourceList)),
    ):
        if value not in known:
            raise InvalidRequestError(f"{value!r} is no {name}: use one of {', '.join(known)}")
    if style == "footnotes" and source_list == "none":
        raise InvalidRequestError(
            "footnotes need their definitions: leave out source_list='none', or use style='plain'"
        )
    if not _ID_PREFIX.fullmatch(id_prefix):
        raise InvalidRequestError(
            f"{id_prefix!r} is no id_prefix: give a letter, then letters, digits, '-' and '_'"
        )


def _markdown_body(layout: Layout, marks: HtmlMarks) -> str:
    try:
        # Only this style needs the parser.
        from ._html_markdown import html_of_markdown
    except ModuleNotFoundError as error:
        raise InvalidRequestError(
            f"style 'html_markdown' needs {error.name}: run pip install \"dsh-web[html]\", or use "
            "style='html'"
        ) from error
    return html_of_markdown(layout, marks)
