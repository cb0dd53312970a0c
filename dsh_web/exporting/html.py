"""Results and pages as HTML fragments: what notebooks show.

Everything that the web or a model wrote is escaped, only http and https addresses become links, and
nothing is loaded from anywhere: no picture, no font, no script. A viewer that takes the style away
is left with a readable answer and a table.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

from ..citations._html import HtmlMarks, as_html, html_of_text, named
from ..citations.layout import MISSING_NOTE, Layout, ShownSource, laid_out
from ..escaping import html_text, one_line
from ..render import shown_parts
from ..seam import Usage, WebSearchResult, WebSearchSource
from ..seam_page import WebPage
from .look import STYLE

__all__ = ["page_html", "search_html"]

_LONGEST_EXCERPT = 240
"""Code points of a snippet in the table and beside a mark; the result has all of it."""
_LONGEST_DATE = 40
_LONGEST_QUERY = 300


def search_html(result: WebSearchResult) -> str:
    """Return `result` as a fragment that can stand on a page any number of times."""
    answer, sources = shown_parts(result)
    if not result.content and (answer or sources):
        # Market data, which is all that such a search finds, is shown as an answer would be.
        result = result.model_copy(update={"content": answer, "sources": sources, "citations": ()})
    parts = [
        _heading(result),
        *_notes(result),
        *_answer_and_sources(result),
        *_related(result),
    ]
    return _framed("Web search result", parts)


def page_html(page: WebPage) -> str:
    """Return `page` as a fragment, its text in a box that scrolls."""
    source = ShownSource(None, page.url, page.title, one_line(page.title or "") or page.url)
    facts = [] if page.status_code is None else [f"HTTP {page.status_code}"]
    facts += [*filter(None, [page.kind]), f"{len(page.text):,} characters"]
    if page.page_count is not None:
        facts.append(f"{page.page_count} pages")
    if page.truncated:
        facts.append("cut to a limit")
    layout = laid_out(page.text, (), "provider")
    marks = HtmlMarks(layout, _new_prefix(), has_list=False)
    body = _markdown(layout, marks) if page.kind == "html" else html_of_text(layout, marks)
    parts = [
        f'<p class="dsh-question">{named(source)}</p>',
        f'<p class="dsh-about">{html_text(_host(page.url))} · {" · ".join(facts)}</p>',
        f'<div class="dsh-page" tabindex="0" role="region" aria-label="Text of the page">{body}'
        "</div>",
    ]
    return _framed("Web page", parts)


def _framed(label: str, parts: list[str]) -> str:
    frame = f'<div class="dsh-web" role="group" aria-label="{label}">'
    return "\n".join([frame, f"<style>\n{STYLE}</style>", *parts, "</div>"])


def _new_prefix() -> str:
    # Another one each time: the same result may stand on one page twice.
    return f"dsh-{secrets.token_hex(4)}-"


def _heading(result: WebSearchResult) -> str:
    facts = [f"<b>{html_text(result.provider)}</b>"]
    if result.model:
        facts.append(html_text(one_line(result.model)))
    count = len(result.sources)
    facts.append("1 source" if count == 1 else f"{count} sources")
    if result.citations:
        cited = len({record.url for record in result.citations if record.url})
        facts.append(f"{cited} cited")
    facts += _cost(result.usage)
    if result.cached:
        facts.append("kept from an earlier call")
    about = f'<p class="dsh-about">{" · ".join(facts)}</p>'
    if result.request is None:
        return about
    question = html_text(_shortened(result.request.query, _LONGEST_QUERY))
    return f'<p class="dsh-question" dir="auto">{question}</p>\n{about}'


def _cost(usage: Usage | None) -> Iterator[str]:
    if usage is not None and usage.cost_usd is not None:
        yield f"{'about ' if usage.cost_is_estimate else ''}${usage.cost_usd:.4f}"


def _notes(result: WebSearchResult) -> Iterator[str]:
    for warning in result.warnings:
        yield f'<p class="dsh-note"><b>Note:</b> {html_text(one_line(warning))}</p>'


def _related(result: WebSearchResult) -> Iterator[str]:
    if result.related_questions:
        questions = " · ".join(html_text(one_line(text)) for text in result.related_questions)
        yield f'<p class="dsh-about" dir="auto"><b>Related:</b> {questions}</p>'


def _answer_and_sources(result: WebSearchResult) -> Iterator[str]:
    layout = laid_out(result.content, result.citations, "provider", result.sources)
    by_url = {source.url: source for source in reversed(result.sources)}

    def details(shown: ShownSource) -> str:
        return "".join(_details(shown, by_url.get(shown.url or "")))

    marks = HtmlMarks(layout, _new_prefix(), has_list=True, details=details)
    if layout.content.strip():
        yield as_html(_markdown(layout, marks), "").rstrip()
        if layout.has_missing:
            yield f'<p class="dsh-about">{MISSING_NOTE}</p>'
    rows = list(_rows(result, layout, marks))
    if not rows:
        yield '<p class="dsh-about">No sources.</p>'
        return
    has_numbers = bool(layout.cited)
    cited = '<th scope="col">Cited</th>' if has_numbers else ""
    yield "\n".join(
        [
            '<table class="dsh-sources"><caption>Sources</caption>',
            '<thead><tr><th scope="col" class="dsh-number">#</th><th scope="col">Source</th>'
            f'<th scope="col" class="dsh-date">Date</th><th scope="col">Excerpt</th>{cited}'
            "</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody></table>",
        ]
    )
    if result.truncated:
        count = len(result.sources)
        shown = "source" if count == 1 else f"{count} sources"
        yield f'<p class="dsh-about">Only the first {shown} of more that were found.</p>'


def _markdown(layout: Layout, marks: HtmlMarks) -> str:
    try:
        # An extra; without it the Markdown stays as it is written.
        from ..citations._html_markdown import html_of_markdown
    except ModuleNotFoundError:
        return html_of_text(layout, marks)
    return html_of_markdown(layout, marks)


def _details(shown: ShownSource, source: WebSearchSource | None) -> Iterator[str]:
    yield f"<b>{html_text(one_line(shown.name))}</b>"
    facts = [_host(shown.url or "")]
    if source is not None and source.published_at:
        facts.append(_shortened(source.published_at, _LONGEST_DATE))
    yield f"<i>{html_text(' · '.join(fact for fact in facts if fact))}</i>"
    if source is not None and source.snippet:
        yield html_text(_shortened(source.snippet, _LONGEST_EXCERPT))


def _rows(result: WebSearchResult, layout: Layout, marks: HtmlMarks) -> Iterator[str]:
    cited = {shown.url: shown for shown in layout.cited if shown.url is not None}
    seen: set[str] = set()
    for rank, source in enumerate(result.sources, start=1):
        shown = cited.get(source.url) if source.url not in seen else None
        seen.add(source.url)
        yield _row(shown, rank, source, layout, marks)
    for shown in layout.cited:
        if shown.url not in seen:
            # Resolved before the list was cut, or named by the answer alone.
            yield _row(shown, None, None, layout, marks)


def _row(
    shown: ShownSource | None,
    rank: int | None,
    source: WebSearchSource | None,
    layout: Layout,
    marks: HtmlMarks,
) -> str:
    if shown is None:
        assert source is not None
        entry = ShownSource(None, source.url, source.title, source.label)
        identity, number = "", "\u2013" if layout.cited else str(rank)
    else:
        entry = shown
        identity, number = f' id="{marks.source_id(shown)}"', str(shown.number)
    host = _host(entry.url or "")
    excerpt = _shortened((source and source.snippet) or "", _LONGEST_EXCERPT)
    cells = [
        f'<td class="dsh-number">{number}</td>',
        f'<th scope="row">{named(entry)}<span class="dsh-host">{html_text(host)}</span></th>',
        f'<td class="dsh-date">{"<br>".join(_dates(source))}</td>',
        f'<td dir="auto">{html_text(excerpt)}</td>',
    ]
    if layout.cited:
        back = " ".join(marks.backlinks(shown)) if shown is not None else "no"
        cells.append(f"<td>{back or 'yes'}</td>")
    return f"<tr{identity}>{''.join(cells)}</tr>"


def _dates(source: WebSearchSource | None) -> Iterator[str]:
    if source is None:
        return
    if source.published_at:
        yield html_text(_shortened(source.published_at, _LONGEST_DATE))
    if source.updated_at and source.updated_at != source.published_at:
        yield f"updated {html_text(_shortened(source.updated_at, _LONGEST_DATE))}"


def _shortened(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _host(url: str) -> str:
    try:
        return one_line(urlsplit(url).hostname or "")
    except ValueError:
        return ""
