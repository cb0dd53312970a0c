"""How text from strangers is put into Markdown and HTML so that it stays text.

Titles, addresses and labels come from the web. What is made of them here cannot end the construct
that it stands in, nor start another.
"""

from __future__ import annotations

import html
import re
from typing import Final
from urllib.parse import urlsplit

__all__ = [
    "closed",
    "destination",
    "encoded",
    "html_text",
    "inline_text",
    "is_web_address",
    "link_text",
    "one_line",
    "printable_url",
    "without_tags",
]

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HTML_ENDS: Final = {
    "<!--": "-->",
    "<![cdata[": "]]>",
    "<?": "?>",
    "<pre": "</pre>",
    "<script": "</script>",
    "<style": "</style>",
    "<textarea": "</textarea>",
}
_HTML_START = re.compile(
    rf"(?:^|[\r\n])[ \t>*+.)0-9-]*+({'|'.join(map(re.escape, _HTML_ENDS))})", re.MULTILINE
)


def closed(answer: str) -> str:
    """Return `answer` with a block that it leaves open closed, so that what follows stays outside.

    An answer that was cut at its token limit often ends inside a code fence.
    """
    fence = ""
    for line in answer.splitlines():
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match.group(1)
        elif match.group(1).startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    if fence:
        return f"{answer}\n{fence}"
    lowered = answer.lower()
    # Only what begins a line stays open over blank lines; elsewhere an end would make it one.
    last = {match.group(1): match.end() for match in _HTML_START.finditer(lowered)}
    for start, after in last.items():
        if lowered.find(_HTML_ENDS[start], after) < 0:
            return f"{answer}\n{_HTML_ENDS[start]}"
    return answer


def one_line(text: str) -> str:
    """Return `text` as one line of printable characters."""
    # Covers every line end that str.splitlines knows, and the controls that could fake one.
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def link_text(text: str) -> str:
    """Escape what could end a CommonMark link text or start something inside it."""
    return re.sub(r"([\\\[\]`<])", r"\\\1", one_line(text))


def inline_text(text: str) -> str:
    """Escape what could make a link, an autolink or HTML out of running text; keep it readable."""
    text = re.sub(r"\\(?=[!-/:-@\[-`{-~]|$)", r"\\\\", text)
    text = text.replace("](", "]\\(").replace("][", "]\\[")
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)


def without_tags(markdown: str) -> str:
    """Return Markdown in which no HTML works, for viewers that might let it.

    Code shows a backslash before what would be a tag; link destinations in `<>` stay as they are.
    """
    return re.sub(r"(?<!\]\()<(?=[A-Za-z/!?])", r"\\<", markdown)


_MARKUP: Final = re.compile(r"[\\\[\]`<>|$*_~\"]|&(?=#?\w+;)")


def encoded(text: str) -> str:
    """Return `text` on one line, with all that Markdown, math or tables read written as entities.

    It reads as exactly `text` wherever Markdown is read, inside and outside of links, table cells
    and link titles. `link_text` is easier on the eye, but its backslashed brackets are a formula to
    some readers.
    """
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", one_line(text))


_UNSAFE_IN_DESTINATION = re.compile(r"[\s\x00-\x20\x7f<>\\]")


def destination(url: str) -> str:
    """Return `url` so that CommonMark reads exactly it back as a link destination."""
    url = printable_url(url)
    url = re.sub(r"&(?=#?\w+;)", r"\\&", url)
    return url if _is_balanced(url) else url.replace("(", "\\(").replace(")", "\\)")


def printable_url(url: str) -> str:
    """Return `url` with everything percent-encoded that no address may hold."""
    url = _UNSAFE_IN_DESTINATION.sub(lambda m: _percent_encoded(m.group()), url)
    return "".join(c if c.isprintable() else _percent_encoded(c) for c in url)


def _percent_encoded(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def _is_balanced(text: str) -> bool:
    depth = deepest = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        deepest = max(deepest, depth)
        if depth < 0:
            return False
    # CommonMark promises only three levels; readers differ beyond that.
    return depth == 0 and deepest <= 3


def is_web_address(url: str) -> bool:
    """Return whether `url` is an http or https address with a host: what may become a link."""
    try:
        parts = urlsplit(url)
        return url[:4].lower() == "http" and bool(parts.hostname) and parts.scheme in _SCHEMES
    except ValueError:
        return False


_SCHEMES: Final = frozenset({"http", "https"})
_NOT_IN_HTML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def html_text(text: str) -> str:
    """Return `text` for an HTML text or a quoted attribute.

    Characters that no page may hold become U+FFFD.
    """
    return html.escape(_NOT_IN_HTML.sub("\ufffd", text))
