"""HTML as Markdown: without what no reader sees, with absolute links, at any nesting depth."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass
from typing import Final

from .depth import flattened
from .tidying import tidied

__all__ = ["PageText", "to_markdown"]

MAX_DEPTH: Final = 100
"""Elements inside each other that are kept of a page that the converter cannot follow."""
_LOSSES: Final = ("depth_limit_exceeded", "malformed_html")
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
    # Surrogates cannot pass into compiled code, and no page has use for NUL.
    source = _SCRIPTED.sub("", html.replace("\0", "")).encode("utf-8", "replace").decode()
    text, is_sound = _converted(source, base_url, main_content=main_content)
    if not is_sound:
        text, _ = _converted(flattened(source, MAX_DEPTH), base_url, main_content=main_content)
    text = tidied(text)
    is_cut = max_chars is not None and len(text) > max_chars
    return PageText(text[:max_chars].rstrip() if is_cut else text, _title(html), is_cut)


def _converted(source: str, base_url: str, *, main_content: bool) -> tuple[str, bool]:
    """Return the Markdown, and whether the converter could follow the page.

    It leaves out what stands too deep for it, and runs words together where end tags end nothing.
    """
    # Here: the converter is compiled code that a program without pages need not load.
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        autolinks=False,
        base_url=base_url,
        compact_tables=True,
        # Text of the page stays text; what it escapes too eagerly is put right by `tidied`.
        escape_asterisks=True,
        escape_misc=True,
        exclude_selectors=_OUTSIDE_MAIN if main_content else [],
        extract_metadata=False,
        inline_data_media="alt_text_only",
        preprocessing=PreprocessingOptions(
            preset="minimal", remove_navigation=False, remove_forms=False
        ),
    )
    result = convert(source, options)
    is_sound = all(str(warning.kind) not in _LOSSES for warning in result.warnings)
    return (result.content or "").strip(), is_sound


# Every repetition below is bounded: a page of a million beginnings must not take for ever.
_TITLE = re.compile(r"<title(?:\s[^<>]{0,500})?>([^<]{0,2000})", re.IGNORECASE)


def _title(page: str) -> str | None:
    found = _TITLE.search(page)
    return " ".join(entities.unescape(found[1]).split()) or None if found else None


# So that the text of such a link is not left in brackets; `tidied` finds those that hide better.
_SCRIPTED = re.compile(
    r"""\b(?:href|src)\s{0,9}=\s{0,9}(?:"\s{0,9}(?:javascript|vbscript|data):[^"<>]{0,5000}"|"""
    r"""'\s{0,9}(?:javascript|vbscript|data):[^'<>]{0,5000}')""",
    re.IGNORECASE,
)
