"""What a reader of Markdown or HTML finds in rendered answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from dsh_web import WebSearchSource
from dsh_web.citations import Citation, normalize_citations, render_citations

COMMONMARK = MarkdownIt("commonmark").enable(["table", "strikethrough"])

NASTY = [
    "plain words",
    'a "quoted" title',
    "](https://evil.example/) [x",
    '" onmouseover="alert(1)',
    "<script>alert(1)</script>",
    "</a></sup></li></section><img src=x onerror=alert(1)>",
    "[1] and [2]: https://evil.example/",
    "line\nbreak\r\n\r\n[1]: https://evil.example/ 'x'",
    "`code` ``",
    "a | b | c",
    "\\",
    "\\[1\\] $x$ $$",
    "&#93;&lpar;https://evil.example/&#x29; &amp;",
    "\u202egnp.exe \u2028 \u0000",
    "![x](https://evil.example/x.png)",
    "<https://evil.example/>",
    "~~~",
    "# heading",
    "*_",
    "\ud800",
]

NASTY_URLS = [
    "https://a.example/x",
    "https://a.example/a_(b)",
    "https://a.example/)](https://evil.example/",
    'https://a.example/" onclick="alert(1)',
    "https://a.example/'><script>alert(1)</script>",
    "https://a.example/ [1]\n\n[2]: https://evil.example/",
    "https://a.example/?q[1]=2&amp;x=&copy;",
    "https://a.example/`|$x$`",
    "https://a.example/\\",
    "https://a.example/((((",
    "https://a.example/\u202e\u0000\ud800",
    "https://a.example/" + "[1]" * 2000,
]


@dataclass(frozen=True)
class Link:
    href: str
    text: str
    title: str | None


def links_in(markdown: str) -> list[Link]:
    """Every link that CommonMark reads, pictures too."""
    found = []
    for block in COMMONMARK.parse(markdown):
        opened: list[tuple[str, str | None, list[str]]] = []
        for token in block.children or []:
            if token.type == "link_open":
                opened.append((str(token.attrGet("href")), token.attrGet("title"), []))
            elif token.type == "link_close":
                href, title, text = opened.pop()
                found.append(Link(href, "".join(text), title))
            elif token.type == "image":
                found.append(Link(str(token.attrGet("src")), "", None))
            elif opened:
                opened[-1][2].append(token.content)
    return found


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


@dataclass
class Page:
    elements: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def ids(self) -> list[str]:
        found = [element.attributes.get("id") for element in self.elements]
        return [identity for identity in found if identity]


VOID = ("br", "hr")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.page.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or tag == self.open.pop().tag

    def handle_data(self, text: str) -> None:
        self.page.text += text
        for element in self.open:
            element.text += text

    def handle_comment(self, text: str) -> None:
        raise AssertionError(f"a comment: {text}")

    def handle_decl(self, text: str) -> None:
        raise AssertionError(f"a declaration: {text}")


def page_of(html: str) -> Page:
    """Read HTML strictly: every tag is closed in order, and nothing but tags and text is there."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert [] == [element.tag for element in reader.open]
    return reader.page


def record(
    content: str,
    marker: str,
    index: int | None = 1,
    *,
    at: int | None = None,
    url: str | None = "https://a.example/x",
    **fields: object,
) -> Citation:
    """A record for `marker` at its first place in `content`, or at `at`."""
    start = content.index(marker) if at is None else at
    values: dict[str, object] = {
        "provider": "p",
        "source_type": "web",
        "source_index": index,
        "url": url,
        "marker_span": (start, start + len(marker)),
        "claim_span": (0, start),
        "raw_marker": marker,
        "resolved": url is not None,
    }
    return Citation(**{**values, **fields})


SOURCES = [
    WebSearchSource(url="https://a.example/1", title="Leaf"),
    WebSearchSource(url="https://b.example/2"),
    WebSearchSource(url="https://c.example/3", title="Water"),
]
STYLES = ["markdown", "footnotes", "plain", "html", "html_markdown"]
HTML_STYLES = ["html", "html_markdown"]


def read(text: str, sources: object = SOURCES) -> tuple[Citation, ...]:
    return normalize_citations(text, sources)  # type: ignore[arg-type]


def shown(text: str, style: str = "markdown", **options: object) -> str:
    return render_citations(text, read(text), style=style, **options)  # type: ignore[arg-type]
