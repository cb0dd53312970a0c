"""Plain Markdown with a list of sources under it: what people keep when they keep only the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ..seam import WebSearchResult, WebSearchSource
from .contracts import MARKERS
from .exported import definitions_of, exported_markers
from .reader import normalize_citations

__all__ = ["read_markdown"]

_HEADINGS: Final = """
    sources|source|references|reference|citations|bibliography|works cited|links|web sources|
    quellen|quellenangaben|quellenverzeichnis|referenzen|einzelnachweise|literatur|fuentes|
    referencias|bibliografía|bibliografia|fonti|riferimenti|fontes|referências|références|
    bibliographie|bronnen|bronvermelding|källor|kilder|lähteet|źródła|zdroje|források|surse|
    kaynaklar|kaynakça|nguồn|sumber|πηγές|источники|ссылки|джерела|المصادر|المراجع|מקורות|
    स्रोत|संदर्भ|参考文献|参考资料|參考資料|參考文獻|来源|來源|出典|参考|引用元|출처|참고문헌|참고 자료
"""
_NAMES = "|".join(
    map(re.escape, sorted(map(str.strip, _HEADINGS.split("|")), key=len, reverse=True))
)
_HEADING = re.compile(
    r"[ \t]{0,3}(?:>[ \t]*+)?(?:\#{1,6}[ \t]++)?(?:\*\*|__)?[^\w\s\[\]()#*>|<-]{0,4}[ \t]*+"
    rf"(?:{_NAMES})(?:[ \t]*+\([0-9]{{1,4}}\))?(?P<close>[ \t:\uff1a*_\#]*+)(?P<rest>.*)",
    re.IGNORECASE,
)
_ANY_HEADING = re.compile(r"[ \t]{0,3}\#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]{0,3}(?:[-=*_][ \t]*+){3,}$")
_ITEM = re.compile(
    r"[ \t>]*+(?:[-*+\u2022][ \t]++)?"
    r"(?:\[\^?([0-9]{1,9})\]:?|([0-9]{1,9})[.):]|\(([0-9]{1,9})\))(.*)"
)
_ROW = re.compile(r"[ \t]*+\|[ \t]*+\[?([0-9]{1,9})\]?[ \t]*+\|(.*)")
_BULLET = re.compile(r"[ \t>]*+[-*+\u2022][ \t]++(.*)")
_LABEL = re.compile(r"\[\^?([0-9]{1,9})\]:?")
_LINK = re.compile(
    r"\]\([ \t]*+<?(https?://(?:[^\s<>()]++|\([^\s<>()]*+\))++)>?"
    r"(?:[ \t]++(?:\"[^\"]*+\"|'[^']*+'))?[ \t]*+\)"
)
_ADDRESS = re.compile(r"https?://[^\s<>\"]++")
_CLOSERS: Final = {")": "(", "]": "["}
_AROUND: Final = " \t-\u2013\u2014:|,;.<>()[]*_\"'\uff1a"
_FEW_WORDS: Final = 60
"""Code points that may follow an address in a list without a heading: a date, a site's name."""


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    """Exclusive, without the line end."""
    text: str
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    number: int | None
    url: str | None
    title: str | None


def read_markdown(text: str) -> WebSearchResult:
    """Return the answer and the sources of a Markdown text, its citations read.

    A list of sources is what stands under a heading such as `Sources` or `References`, in one of
    many languages, or the numbered lines with addresses at the end: `1. [Title](url)`,
    `1. Title - url`, `[1] url`, `[1]: url`, `- [1] Title: url`. Footnotes with addresses, and the
    export of Perplexity's app, bring their own. Of several lists the last counts.

    `content` is the text without the list; a text without a list is an answer without sources.
    Never raises.
    """
    if any(reference is not None for *_, reference in exported_markers(text)):
        return _exported(text)
    start, end, items = _source_list(_lines(text))
    sources = tuple(_sources(items))
    content = text if not sources else text[:start] + text[end:].lstrip("\r\n")
    return WebSearchResult(
        provider="markdown",
        content=content if content.strip() else None,
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


def _sources(items: list[_Item]) -> Iterator[WebSearchSource]:
    """Yield the items that have an address; one without still takes its number."""
    is_numbered = any(item.number is not None for item in items)
    for position, item in enumerate(items, start=1):
        if item.url is None:
            continue
        number = item.number if is_numbered else position
        ids = () if number is None else (number,)
        yield WebSearchSource(url=item.url, title=item.title, ids=ids, origin="link")


_LINE = re.compile(r"([^\r\n]*+)(?:\r\n?|\n|\Z)")


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    fence = ""
    for match in _LINE.finditer(text):
        line, is_code = match[1], bool(fence)
        opening = _FENCE.match(line)
        if opening is not None:
            if not fence:
                fence, is_code = opening[1], True
            elif opening[1].startswith(fence) and not line[opening.end() :].strip():
                fence = ""
        lines.append(_Line(match.start(), match.end(1), line, is_code))
    return lines


def _source_list(lines: list[_Line]) -> tuple[int, int, list[_Item]]:
    """Return where the list starts and ends, and its items; no items if there is none."""
    stop = len(lines)
    for index in reversed(range(len(lines))):
        line = lines[index]
        heading = None if line.is_code else _HEADING.fullmatch(line.text)
        if heading is not None and not _is_prose(heading):
            # Each list ends where the next begins, so that no line is looked at for two of them.
            last, items = _items_under(heading["rest"], lines[index + 1 : stop])
            if any(item.url for item in items):
                return line.start, lines[index + last].end, items
            stop = index
    return _list_without_heading(lines)


def _is_prose(heading: re.Match[str]) -> bool:
    """Return whether the line only begins like a heading: `Sources differ.`, `Links: none`."""
    if not heading["rest"].strip():
        return False
    has_colon = not set(heading["close"]).isdisjoint(":\uff1a")
    return not (has_colon and _ADDRESS.search(heading["rest"]))


def _items_under(rest: str, lines: list[_Line]) -> tuple[int, list[_Item]]:
    """Return how many lines the list takes, and its items.

    Args:
        rest: What stands behind the heading in its line: `Sources: [1] https://...`.
        lines: What follows, up to the next list.
    """
    items = [*_items_in(rest)]
    last, is_after_blank = 0, False
    for count, line in enumerate(lines, start=1):
        if not line.text.strip() or _RULE.match(line.text):
            is_after_blank = True
            continue
        if line.is_code or _ANY_HEADING.match(line.text):
            break
        item = _item(line.text)
        if item is not None:
            items.append(item)
        elif items and items[-1].url is None and _ADDRESS.search(line.text):
            # The title in one line, the address in the next.
            below = _target(None, line.text)
            title = items[-1].title or below.title
            items[-1] = replace(items[-1], url=below.url, title=title)
        elif is_after_blank and items and not line.text[0].isspace():
            break  # the text goes on
        last, is_after_blank = count, False
    return last, items


def _items_in(rest: str) -> Iterator[_Item]:
    """Yield the items of one line: `[1] https://... [2] https://...`, or addresses alone."""
    labels = [*_LABEL.finditer(rest)]
    if labels:
        ends = [*(label.start() for label in labels[1:]), len(rest)]
        for label, end in zip(labels, ends, strict=True):
            yield _target(int(label[1]), rest[label.end() : end])
    else:
        for address in _ADDRESS.finditer(rest):
            yield _Item(None, _trimmed(address.group()), None)


def _list_without_heading(lines: list[_Line]) -> tuple[int, int, list[_Item]]:
    """Return the numbered lines with addresses at the very end of the text."""
    items: list[_Item] = []
    first = len(lines)
    for index in reversed(range(len(lines))):
        line = lines[index]
        if not line.text.strip():
            continue
        numbered = None if line.is_code else _ITEM.fullmatch(line.text)
        if numbered is None or not _is_reference(numbered):
            break
        items.append(_numbered(numbered))
        first = index
    if not items:
        return 0, 0, []
    return lines[first].start, lines[-1].end, items[::-1]


def _is_reference(item: re.Match[str]) -> bool:
    """Return whether a numbered line is a reference, and no step or finding that has a link."""
    rest = item[4]
    address = _LINK.search(rest) or _ADDRESS.search(rest)
    if address is None:
        return False
    return item[1] is not None or len(rest) - address.end() <= _FEW_WORDS


def _item(line: str) -> _Item | None:
    numbered = _ITEM.fullmatch(line) or _ROW.fullmatch(line)
    if numbered is not None:
        return _numbered(numbered)
    bullet = _BULLET.fullmatch(line)
    if bullet is not None:
        return _target(None, bullet[1])
    return _target(None, line) if line.lstrip(" \t<>[").startswith("http") else None


def _numbered(item: re.Match[str]) -> _Item:
    *numbers, rest = item.groups()
    return _target(next(int(number) for number in numbers if number), rest)


def _target(number: int | None, rest: str) -> _Item:
    link = _LINK.search(rest)
    if link is not None:
        before = rest[: link.start()]
        label = before[before.find("[") + 1 :] if "[" in before else before
        return _Item(number, link[1], _title(label) or _title(rest[link.end() :]))
    address = _ADDRESS.search(rest)
    if address is None:
        return _Item(number, None, _title(rest))
    url = _trimmed(address.group())
    after = rest[address.start() + len(url) :]
    return _Item(number, url, _title(rest[: address.start()]) or _title(after))


def _title(text: str) -> str | None:
    """Return what a title is without marks around it; a number or an address is none."""
    title = text.replace("\\[", "[").replace("\\]", "]").strip()
    title = title.strip("".join(char for char in _AROUND if char not in "()[]"))
    for opener, closer in ("()", "[]"):
        if title.count(opener) != title.count(closer):
            title = title.strip(opener + closer)
    title = title.strip()
    return title if title.strip(_AROUND) and not title.isdigit() and "://" not in title else None


def _trimmed(url: str) -> str:
    """Return an address without the punctuation that the sentence puts behind it."""
    while url and url[-1] in ".,;:!?*_'|)]":
        opener = _CLOSERS.get(url[-1])
        if opener is not None and url.count(opener) >= url.count(url[-1]):
            break
        url = url[:-1]
    return url
