"""HTML as Markdown: without what no reader sees, with absolute links, at any nesting depth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .depth import flattened, is_heavily_indented
from .shed import without_broken_end
from .tidying import cut_markdown, tidied
from .titles import title_of

__all__ = ["PageText", "to_markdown"]

MAX_DEPTH: Final = 100
"""Elements inside each other that are kept of a page that the converter cannot follow."""
_CLOSED: Final = ("[popover]",)
"""What a browser shows only when asked to."""
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
    source = without_broken_end(html.replace("\0", "")).encode("utf-8", "replace").decode()
    text = _markdown(source, base_url, main_content=main_content)
    if main_content and not text:
        # A page that is all form or all navigation: better whole than nothing.
        text = _markdown(source, base_url, main_content=False)
    text = tidied(text)
    is_cut = max_chars is not None and len(text) > max_chars
    shown = text if max_chars is None else cut_markdown(text, max_chars)
    return PageText(shown, title_of(html, text), is_cut)


def _markdown(source: str, base_url: str, *, main_content: bool) -> str:
    if is_heavily_indented(source):
        source = flattened(source, MAX_DEPTH)
    text, is_sound = _converted(source, base_url, main_content=main_content)
    if not is_sound:
        text, _ = _converted(flattened(source, MAX_DEPTH), base_url, main_content=main_content)
    return text


def _converted(source: str, base_url: str, *, main_content: bool) -> tuple[str, bool]:
    """Return the Markdown, and whether the converter could follow the page.

    It leaves out what stands too deep for it, and runs words together where end tags end nothing.
    """
    # Here: the converter is compiled code that a program without pages need not load.
    from html_to_markdown import (
        ConversionError,
        ConversionOptions,
        PreprocessingOptions,
        convert,
    )

    options = ConversionOptions(
        autolinks=False,
        base_url=base_url,
        compact_tables=True,
        # Text of the page stays text; what it escapes too eagerly is put right by `tidied`.
        escape_asterisks=True,
        escape_misc=True,
        exclude_selectors=[*_CLOSED, *(_OUTSIDE_MAIN if main_content else ())],
        extract_metadata=False,
        inline_data_media="alt_text_only",
        preprocessing=PreprocessingOptions(
            preset="minimal", remove_navigation=False, remove_forms=False
        ),
    )
    try:
        result = convert(source, options)
    except ConversionError:
        # It takes some beginnings, `%PDF` or control characters, for files of other kinds.
        result = convert(f"<!DOCTYPE html>\n<p>{_CONTROLS.sub(' ', source)}", options)
    is_sound = all(str(warning.kind) not in _LOSSES for warning in result.warnings)
    return (result.content or "").strip(), is_sound


_CONTROLS = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
