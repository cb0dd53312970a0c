"""Answers as plain text: numbers in brackets, and a list of sources without any markup."""

from __future__ import annotations

from ..escaping import one_line, printable_url
from .layout import MISSING_NOTE, NOT_CITED, Layout, Missing, Place, ShownSource

__all__ = ["plain"]


def plain(layout: Layout, *, list_cited: bool, list_uncited: bool) -> str:
    """Return the answer with `[1]` in place of markers. Its own Markdown stays as it is.

    The list writes `1.` before a source, so that only the answer itself holds `[1]`. An address has
    a line of its own: a title that runs from right to left would reorder what stands beside it.
    """
    out: list[str] = []
    for piece in layout.pieces():
        if isinstance(piece, Place):
            out.append(piece.lead)
            out += [
                f"[{one_line(mark.label)}]" if isinstance(mark, Missing) else f"[{mark.number}]"
                for mark in piece.marks
            ]
        else:
            out.append(piece)
    lines = []
    if list_cited:
        lines += [line for source in layout.cited for line in _entry(source, f"{source.number}. ")]
    if list_uncited:
        lines += [line for s in layout.uncited for line in _entry(s, "- ", f" {NOT_CITED}")]
    if lines:
        lines.insert(0, "Sources:")
    if list_cited and layout.has_missing:
        lines += ["", MISSING_NOTE] if lines else [MISSING_NOTE]
    body, end = "".join(out), layout.line_end
    if not lines:
        return body
    body = body.rstrip()
    return (f"{body}{end}{end}" if body else "") + end.join(lines) + end


def _entry(source: ShownSource, label: str, note: str = "") -> list[str]:
    lines = [f"{label}{one_line(source.name) or 'source'}{note}"]
    if source.url is not None:
        lines.append(" " * len(label) + printable_url(source.url))
    return lines
