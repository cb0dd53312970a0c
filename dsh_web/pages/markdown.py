"""HTML as Markdown: without what no reader sees, with absolute links, at any nesting depth."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass
from typing import Final

__all__ = ["PageText", "to_markdown"]

MAX_DEPTH: Final = 250
"""Elements inside each other that are kept; beyond it their tags go and their text stays."""
_OUTSIDE_MAIN: Final = [
    "nav",
    "footer",
    "aside",
    "form",
    "body > header",
    "[role=navigation]",
    "[role=banner]",
    "[role=contentinfo]",
    "[role=complementary]",
    "[role=search]",
]


@dataclass(frozen=True, slots=True)
class PageText:
    """A converted page."""

    text: str
    """Markdown."""
    title: str | None
    is_cut: bool
    """True if the Markdown was longer than was asked for."""


def to_markdown(
    html: str, *, base_url: str, main_content: bool = False, max_chars: int | None = None
) -> PageText:
    """Return an HTML page as Markdown.

    Scripts, styles, comments, templates and hidden elements are gone; headings, lists, tables, code
    and links are kept. Any text is accepted: what is no HTML is text.

    Args:
        html: The page's source.
        base_url: Its address. Relative links become absolute against the page's own `base`, else
            against this.
        main_content: Leave out navigation, footers, side bars and forms.
        max_chars: Cap on the Markdown in code points; None: no cap.
    """
    # Here: the converter is compiled code that a program without pages need not load.
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        autolinks=False,
        base_url=base_url,
        compact_tables=True,
        exclude_selectors=_OUTSIDE_MAIN if main_content else [],
        extract_metadata=False,
        inline_data_media="alt_text_only",
        # Ours is the lower one, so that nothing is ever lost to this.
        max_depth=4 * MAX_DEPTH,
        preprocessing=PreprocessingOptions(
            preset="minimal", remove_navigation=False, remove_forms=False
        ),
    )
    # Surrogates cannot pass into compiled code, and no page has use for NUL.
    source = _flat(_without_scripted_links(html)).encode("utf-8", "replace").decode()
    text = (convert(source.replace("\0", ""), options).content or "").strip()
    is_cut = max_chars is not None and len(text) > max_chars
    return PageText(text[:max_chars].rstrip() if is_cut else text, _title(html), is_cut)


# Every repetition below is bounded: a page of a million beginnings must not take for ever.
_TITLE = re.compile(r"<title(?:\s[^<>]{0,500})?>([^<]{0,2000})", re.IGNORECASE)


def _title(page: str) -> str | None:
    found = _TITLE.search(page)
    return " ".join(entities.unescape(found[1]).split()) or None if found else None


_SCRIPTED = re.compile(
    r"""\b(?:href|src)\s{0,9}=\s{0,9}(?:"\s{0,9}(?:javascript|vbscript|data):[^"]*"|"""
    r"""'\s{0,9}(?:javascript|vbscript|data):[^']*')""",
    re.IGNORECASE,
)


def _without_scripted_links(page: str) -> str:
    return _SCRIPTED.sub("", page)


_TAG = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,50})"
    r"(?:[^<>\"']{1,5000}|\"[^\"]{0,5000}\"|'[^']{0,5000}'){0,300}+>"
)
_FLOATING: Final = frozenset(
    (
        # Without an end tag.
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr"),
        # With content that is no text of the page; a lost tag would make it some.
        *("noscript", "script", "style", "template", "textarea", "title"),
    )
)
"""Elements that do not count as depth and always keep their tags."""


def _flat(page: str) -> str:
    """Return `page` without the tags that stand deeper than `MAX_DEPTH`.

    A tree that is thousands deep has no structure that anybody could see, and would cost a
    converter its stack.
    """
    if page.count("<") <= MAX_DEPTH:
        return page
    depth = 0

    def kept(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag[2].lower() in _FLOATING or tag[0].endswith("/>"):
            return tag[0]
        if tag[1]:
            depth = max(0, depth - 1)
            return tag[0] if depth < MAX_DEPTH else ""
        depth += 1
        return tag[0] if depth <= MAX_DEPTH else ""

    return _TAG.sub(kept, page)
