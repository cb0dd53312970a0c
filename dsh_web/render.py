"""The text that a model is given for a search, which the web cannot forge.

Titles, snippets and addresses come from strangers. Each source is one line, and nothing in it can
end that line, open another link, or read as a further source. The structured result travels beside
this text; nothing is ever scraped back from it.

Models that cite by themselves take the sources one by one instead: `search_excerpts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from .escaping import closed, destination, inline_text, link_text, one_line
from .seam import WebSearchResult, WebSearchSource

__all__ = [
    "DEFAULT_MAX_CHARS",
    "Excerpt",
    "SearchExcerpts",
    "SearchText",
    "render_search",
    "search_excerpts",
    "shown_parts",
]

_LONGEST_DATE = 60
"""Characters; a date is short, whatever stands in its place."""

DEFAULT_MAX_CHARS: Final = 40_000
"""Default cap on the text in code points; about 10,000 tokens."""

NOTHING: Final = "No results found."
TOO_SMALL: Final = "The search found sources, but the output limit leaves no room for any."
CLOSING: Final = "Cite the sources you use by their URLs, as markdown links."


@dataclass(frozen=True, slots=True)
class SearchText:
    """The rendered text of one result."""

    text: str
    is_cut: bool
    """True if something was shortened to fit; every address of a shown source is complete."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a model may quote of one source."""

    url: str
    title: str
    """Never blank: the source's label."""
    text: str
    """Never blank: the snippet, line breaks kept; where there is none, the label."""


@dataclass(frozen=True, slots=True)
class SearchExcerpts:
    """One result in pieces, each of which an API takes as a value of its own."""

    answer: str
    """The provider's answer; empty if there is none."""
    sources: tuple[Excerpt, ...]
    """In the provider's order."""
    is_cut: bool
    """True if something was shortened or left out to fit; addresses are always complete."""


def render_search(result: WebSearchResult, max_chars: int | None = DEFAULT_MAX_CHARS) -> SearchText:
    """Return `result` as the text of the `web_search` tool.

    Args:
        result: What to show.
        max_chars: Cap in code points; None: no cap. Snippets are shortened first, then titles
            fall back to host names, then the answer is cut; addresses only ever go whole.
    """
    answer, sources = shown_parts(result)
    if not answer and not sources:
        return SearchText(NOTHING, is_cut=False)
    full = _assemble(answer, [_item(source) for source in sources], result.truncated)
    if max_chars is None or len(full) <= max_chars:
        return SearchText(full, is_cut=False)
    return SearchText(_fitted(answer, sources, result.truncated, max_chars), is_cut=True)


def search_excerpts(
    result: WebSearchResult,
    max_chars: int | None = DEFAULT_MAX_CHARS,
    *,
    include_answer: bool = True,
) -> SearchExcerpts:
    """Return `result` in pieces, for blocks that a model cites natively.

    Nothing is escaped: a piece that is a value of its own has no line or link to break out of.

    Args:
        result: What to show.
        max_chars: Cap in code points on the answer and all titles, addresses and texts together;
            None: no cap. What gives way first is the same as in `render_search`.
        include_answer: False: the answer is shown elsewhere, and leaves its room to the sources.
    """
    answer, sources = shown_parts(result)
    if not include_answer:
        answer = ""
    full = tuple(_excerpt(source, source.label) for source in sources)
    size = len(answer) + sum(map(_size, full))
    if max_chars is None or size <= max_chars:
        return SearchExcerpts(answer, full, is_cut=False)
    return _fitted_excerpts(answer, sources, max_chars)


def shown_parts(result: WebSearchResult) -> tuple[str, tuple[WebSearchSource, ...]]:
    """Return the answer and the sources to show; market data stands in where there are none."""
    answer = closed((result.content or "").strip())
    if not answer:
        answer = closed("\n\n".join(record.content.strip() for record in result.finance))
    return answer, result.sources or _finance_pages(result)


def _finance_pages(result: WebSearchResult) -> tuple[WebSearchSource, ...]:
    """Return the pages of market data as sources, for a result that has no others."""
    titles = {url: record.category for record in result.finance for url in record.urls}
    return tuple(WebSearchSource(url=url, title=title) for url, title in titles.items())


def _assemble(answer: str, items: list[str], is_truncated: bool) -> str:
    parts = [answer] if answer else []
    if items:
        listing = ["Sources:", *items]
        if is_truncated:
            listing.append(f"(Showing the first {len(items)} sources. Refine the query for more.)")
        parts.append("\n".join(listing))
        parts.append(CLOSING)
    return "\n\n".join(parts)


def _item(source: WebSearchSource, snippet: str | None = None, *, label: str | None = None) -> str:
    text = one_line(source.snippet or "") if snippet is None else snippet
    line = f"- [{link_text(label or source.label)}]({destination(source.url)})"
    if text:
        line += f" — {inline_text(text)}"
    if source.published_at:
        line += f" ({inline_text(_cut(one_line(source.published_at), _LONGEST_DATE))})"
    return line


def _fitted(
    answer: str, sources: tuple[WebSearchSource, ...], is_truncated: bool, max_chars: int
) -> str:
    """Return the text with as much as fits, in the order of what a reader can least do without."""
    sources, is_truncated = _fitting(sources, is_truncated, max_chars)
    if not answer and not sources:
        return _cut(TOO_SMALL, max_chars)
    bare = [_item(source, "") for source in sources]
    room = max_chars - len(_assemble(answer, bare, is_truncated))
    if room >= 0:
        return _assemble(answer, _with_snippets(sources, room), is_truncated)
    bare = [_item(source, "", label=_host(source)) for source in sources]
    room = max_chars - len(_assemble("", bare, is_truncated)) - len("\n\n")
    if room >= 1:
        return _assemble(_cut(answer, room), bare, is_truncated)
    return _assemble("", bare, is_truncated) if bare else _cut(answer, max_chars)


def _fitting(
    sources: tuple[WebSearchSource, ...], is_truncated: bool, max_chars: int
) -> tuple[tuple[WebSearchSource, ...], bool]:
    """Return the sources whose bare items fit, and whether any are missing from the list.

    An address only goes whole, so one that is longer than there is room for takes its own source
    out, never its neighbours.
    """
    kept = list(sources)
    sizes = [len(_item(source, "", label=_host(source))) for source in kept]
    while kept and len(_assemble("", [" " * size for size in sizes], is_truncated)) > max_chars:
        is_truncated = True
        position = _expendable(sizes, max_chars)
        del kept[position], sizes[position]
    return tuple(kept), is_truncated


def _expendable(sizes: list[int], max_chars: int) -> int:
    """Return the position to leave out: a giant's; among ordinary sizes it is rank that counts."""
    longest = max(range(len(sizes)), key=sizes.__getitem__)
    return longest if sizes[longest] > max_chars // 2 else -1


def _with_snippets(sources: tuple[WebSearchSource, ...], room: int) -> list[str]:
    """Return the items with the room for snippets shared out evenly, short ones kept whole."""
    bare = [len(_item(source, "")) for source in sources]
    snippets = [one_line(source.snippet or "") for source in sources]
    wanted = [
        len(_item(s, text)) - size for s, text, size in zip(sources, snippets, bare, strict=True)
    ]
    share = _fair_share(wanted, room)
    items = []
    for source, text, need in zip(sources, snippets, wanted, strict=True):
        over = need - share
        # Escaping makes text longer, never shorter, so cutting by the excess always suffices.
        items.append(_item(source, text if over <= 0 else _cut(text, len(text) - over)))
    return items


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _excerpt(source: WebSearchSource, label: str) -> Excerpt:
    title = one_line(label) or source.url
    return Excerpt(source.url, title, _CONTROLS.sub(" ", source.snippet or "").strip() or title)


def _size(excerpt: Excerpt) -> int:
    return len(excerpt.url) + len(excerpt.title) + len(excerpt.text)


def _fitted_excerpts(
    answer: str, sources: tuple[WebSearchSource, ...], max_chars: int
) -> SearchExcerpts:
    excerpts = [_excerpt(source, source.label) for source in sources]
    if len(answer) + _least(excerpts) > max_chars:
        excerpts = [_excerpt(source, _host(source)) for source in sources]
    while excerpts and _least(excerpts) > max_chars:
        del excerpts[_expendable([_floor(excerpt) for excerpt in excerpts], max_chars)]
    room = max_chars - _least(excerpts)
    answer = _cut(answer, room)
    wanted = [_size(excerpt) - _floor(excerpt) for excerpt in excerpts]
    share = _fair_share(wanted, room - len(answer))
    shortened = (
        replace(e, text=e.text if need <= share else _cut(e.text, len(e.title) + share))
        for e, need in zip(excerpts, wanted, strict=True)
    )
    return SearchExcerpts(answer, tuple(shortened), is_cut=True)


def _floor(excerpt: Excerpt) -> int:
    """Return the size of `excerpt` with its text cut to the length of its title."""
    return len(excerpt.url) + len(excerpt.title) + min(len(excerpt.title), len(excerpt.text))


def _least(excerpts: list[Excerpt]) -> int:
    return sum(map(_floor, excerpts))


def _fair_share(wanted: list[int], room: int) -> int:
    """Return the largest share such that giving each at most that much fits into `room`."""
    left = room
    pending = sorted(wanted)
    while pending and pending[0] <= left // len(pending):
        left -= pending.pop(0)
    return left // len(pending) if pending else room


def _cut(text: str, size: int) -> str:
    if size <= 0:
        return ""
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def _host(source: WebSearchSource) -> str:
    return WebSearchSource(url=source.url).label
