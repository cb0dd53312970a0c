"""Plain Markdown with a list of sources under it: what people keep when they keep only the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..seam import WebSearchResult, WebSearchSource
from .contracts import MARKERS
from .exported import definitions_of, is_exported
from .reader import normalize_citations

__all__ = ["read_markdown"]

_HEADINGS: Final = """
    sources source references reference citations bibliography links quellen quellenangaben
    referenzen einzelnachweise literatur fuentes referencias bibliografia fonti riferimenti
    fontes referências bibliografía bibliografia références bibliographie bronnen källor kilder
    источники ссылки 参考文献 参考资料 来源 出典 출처 참고문헌
"""
_NAMES = "|".join(map(re.escape, _HEADINGS.split()))
_HEADING = re.compile(
    rf"[ \t]*+(?:\#{{1,6}}[ \t]+)?(?:\*\*|__)?(?:{_NAMES})"
    r"(?:[ \t]*:)?(?:\*\*|__)?(?:[ \t]*:)?[ \t]*\#*",
    re.IGNORECASE,
)
_ANY_HEADING = re.compile(r"[ \t]{0,3}\#{1,6}[ \t]")
_ITEM = re.compile(
    r"[ \t>]*+(?:[-*+\u2022][ \t]+)?(?:\[\^?([0-9]{1,9})\]:?|([0-9]{1,9})[.):])[ \t]*+(.*)"
)
_BULLET = re.compile(r"[ \t>]*+[-*+\u2022][ \t]+(.*)")
_LINK = re.compile(
    r"\[((?:[^\[\]\\]|\\.){0,1000}+)\]"
    r"\([ \t]*<?(https?://[^\s<>]{1,4000}?)>?[ \t]*(?:[\"'][^\"']*[\"'])?\)"
)
_ADDRESS = re.compile(r"https?://[^\s<>\"]++")
_AROUND: Final = " \t-\u2013\u2014:|,;.<>()[]*_\"'"


@dataclass(frozen=True, slots=True)
class _Item:
    number: int | None
    url: str | None
    title: str | None


def read_markdown(text: str) -> WebSearchResult:
    """Return the answer and the sources of a Markdown text, its citations read.

    A list of sources is what stands under a heading such as `Sources` or `References`, or the
    numbered lines with addresses at the end: `1. [Title](url)`, `[1] url`, `[1]: url`,
    `- [1] Title: url`. Footnotes with addresses, and the export of Perplexity's app, bring their
    own. A text without a list is an answer without sources. Never raises.
    """
    if is_exported(text):
        return _exported(text)
    start, items = _source_list(text)
    content = text[:start]
    sources = tuple(
        WebSearchSource(
            url=item.url, title=item.title, ids=(item.number or position,), origin="link"
        )
        for position, item in enumerate(items, start=1)
        if item.url is not None
    )
    return WebSearchResult(
        provider="markdown",
        content=content or None,
        sources=sources,
        citations=normalize_citations(content, sources, provider="markdown"),
        citation_contract=MARKERS.name,
    )


def _exported(text: str) -> WebSearchResult:
    definitions = definitions_of(text)
    turns = {turn for turn, _ in definitions}
    contract = "footnotes/1" if turns == {0} else "perplexity-export/2026-10"
    sources = tuple(
        WebSearchSource(url=reference.url, title=reference.title, ids=(number,), origin="link")
        for (_, number), reference in definitions.items()
        if reference is not None
    )
    return WebSearchResult(
        provider="markdown",
        content=text,
        sources=sources,
        citations=normalize_citations(text, (), contract=contract, provider="markdown"),
        citation_contract=contract,
    )


def _source_list(text: str) -> tuple[int, list[_Item]]:
    """Return where the list begins, and its items; the end of the text if there is none."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for index in reversed(range(len(lines))):
        if _HEADING.fullmatch(lines[index].rstrip("\r\n")):
            found = _items_under(lines[index + 1 :])
            if any(item.url for item in found):
                return starts[index], found
    first = len(lines)
    items: list[_Item] = []
    for index in reversed(range(len(lines))):
        line = lines[index].strip()
        numbered = _ITEM.fullmatch(line)
        if numbered is not None and (item := _item(numbered)).url is not None:
            items.append(item)
            first = index
        elif line:
            break
    return starts[first] if items else len(text), items[::-1]


def _items_under(lines: list[str]) -> list[_Item]:
    found = []
    for raw in lines:
        line = raw.strip()
        numbered = _ITEM.fullmatch(line)
        bullet = _BULLET.fullmatch(line)
        if numbered is not None:
            found.append(_item(numbered))
        elif bullet is not None:
            found.append(_target(None, bullet[1]))
        elif _ADDRESS.match(line):
            found.append(_target(None, line))
        elif found and _ANY_HEADING.match(raw):
            break
    return found


def _item(line: re.Match[str]) -> _Item:
    return _target(int(line[1] or line[2]), line[3])


def _target(number: int | None, rest: str) -> _Item:
    link = _LINK.search(rest)
    if link is not None:
        return _Item(number, link[2], link[1].strip() or None)
    address = _ADDRESS.search(rest)
    if address is None:
        return _Item(number, None, None)
    url = address.group().rstrip(".,;")
    if url.endswith(")") and "(" not in url:
        url = url[:-1]
    title = f"{rest[: address.start()]} {rest[address.end() :]}".strip(_AROUND)
    return _Item(number, url, title or None)
