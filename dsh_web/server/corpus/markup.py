"""Reads the title, the address, the date and the text of an HTML page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "dd", "div", "dl"}
    | {"dt", "figcaption", "footer", "form", "h1", "h2", "h3", "h4"}
    | {"h5", "h6", "header", "hr", "li", "main", "nav", "ol"}
    | {"p", "pre", "section", "table", "td", "th", "tr", "ul"}
)
_HEADINGS = frozenset({"h1", "h2", "h3"})


@dataclass(frozen=True)
class HtmlPage:
    """What a corpus needs of an HTML page; what the page does not say is an empty text."""

    title: str
    canonical: str
    published: str
    text: str


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.heading = ""
        self.canonical = ""
        self.published = ""
        self.parts: list[str] = []
        self._silent = 0
        self._in_title = False
        self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and "canonical" in values.get("rel", "").lower().split():
            self.canonical = self.canonical or values.get("href", "").strip()
        elif tag == "meta":
            name = (values.get("property") or values.get("name", "")).lower()
            if name in {"article:published_time", "date"}:
                self.published = self.published or values.get("content", "")
        elif tag == "title":
            self._in_title = True
        elif tag == "body":
            # Pages often leave </head> out.
            self._silent = 0
        elif tag in _SILENT:
            self._silent += 1
        if tag in _HEADINGS:
            self._in_heading = not self.heading
        if tag in _BLOCKS:
            self.parts.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        if tag in _HEADINGS:
            self._in_heading = False
        if tag in _BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            if self._in_heading:
                self.heading += data
            self.parts.append(data)


def read_html(source: str) -> HtmlPage:
    """Return the readable part of an HTML page: paragraphs separated by blank lines, no scripts."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    paragraphs = re.split(r"\n[ \t]*\n\s*", "".join(reader.parts))
    text = "\n\n".join(line for line in (" ".join(p.split()) for p in paragraphs) if line)
    title = " ".join((reader.title or reader.heading).split())
    return HtmlPage(title, reader.canonical, reader.published.strip(), text)
