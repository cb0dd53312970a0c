"""Audits of citations as one table that needs no explanation, and a line per finding below it."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from ..citations import AuditTotals, CitationAudit, CitationFinding, summarize_audits
from .show import plain

__all__ = ["show_audits"]

_COLUMNS: Final = (
    ("answer", "file that was read"),
    ("result", "what to make of it: see the lines below"),
    ("markers", "places in the text that point to sources"),
    ("links", "sources that these places name, counted one by one"),
    ("broken", "links that lead to no source"),
    ("unsure", "links by a rule that the vendor does not document"),
    ("sources", "sources listed with the answer"),
    ("used", "different pages that the text cites, however often"),
    ("unused", "listed sources that the text neither cites nor links"),
    ("hints", "claims that share no word with their source's excerpt; perhaps nothing is wrong"),
)
_LONGEST: Final = 120
"""Characters of a claim in one line."""
_ROOMY: Final = 100
"""Columns of a terminal from which on there is room to space out the table."""

_Row = tuple[str, ...]


def show_audits(audits: Sequence[CitationAudit], unreadable: Sequence[tuple[str, str]]) -> None:
    """Print the table, what its columns mean, and what was found.

    Args:
        audits: One per answer.
        unreadable: Name and reason of what could not be read.
    """
    names = _short_names([audit.name for audit in audits] + [name for name, _ in unreadable])
    rows = [_row(names[audit.name], audit) for audit in audits]
    rows += [(names[name], "unreadable", *[""] * (len(_COLUMNS) - 2)) for name, _ in unreadable]
    summary = summarize_audits(audits)
    _print_table(rows, _total(summary) if len(audits) > 1 else None)
    print()
    width = max(len(title) for title, _ in _COLUMNS)
    for title, meaning in _COLUMNS[1:]:
        print(f"{title:<{width}}  {meaning}")
    if len(audits) > 1:
        print()
        print("\n".join(_facts(summary)))
    findings = [line for audit in audits for line in _findings(names[audit.name], audit)]
    findings += [f"{names[name]}: cannot be read: {_clean(reason)}" for name, reason in unreadable]
    if findings:
        print()
        print("\n".join(findings))


def _row(name: str, audit: CitationAudit) -> _Row:
    counts = (
        audit.markers,
        audit.citations,
        len(audit.unresolved),
        len(audit.low_confidence),
        audit.sources,
        audit.cited_sources,
        len(audit.uncited),
        len(audit.mismatches),
    )
    return (name, _verdict(audit), *map(str, counts))


def _verdict(audit: CitationAudit) -> str:
    """Return the gravest thing there is to say, in two words."""
    if not audit.has_answer:
        return "no answer"
    if not audit.sources:
        return "no sources"
    if audit.unresolved:
        return "broken"
    if not audit.citations:
        return "links only" if audit.linked_sources else "cites none"
    return "ok"


def _total(total: AuditTotals) -> _Row:
    counts = (
        total.markers,
        total.citations,
        total.unresolved,
        total.low_confidence,
        total.sources,
        total.cited_sources,
        total.uncited,
        total.mismatches,
    )
    return (_counted(total.answers, "answer"), "", *map(str, counts))


def _print_table(rows: Sequence[_Row], total: _Row | None) -> None:
    titles = tuple(title for title, _ in _COLUMNS)
    if sys.stdout.isatty():
        try:
            import rich  # noqa: F401 - only to see whether it is there
        except ImportError:
            pass
        else:
            _print_rich(titles, rows, total)
            return
    # Files and other programs get lines of full length, whatever is installed.
    lines = [titles, *rows, *([total] if total else [])]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(titles))]
    rule = "  ".join("-" * width for width in widths)
    print(_line(titles, widths))
    print(rule)
    for row in rows:
        print(_line(row, widths))
    if total:
        print(rule)
        print(_line(total, widths))


def _print_rich(titles: _Row, rows: Sequence[_Row], total: _Row | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            # rich would end the program here; `main` knows what a closed pipe means.
            raise BrokenPipeError

    console = QuietConsole()
    table = Table(
        box=box.SIMPLE_HEAD,
        show_footer=total is not None,
        footer_style="bold",
        pad_edge=False,
        padding=(0, 1 if console.width >= _ROOMY else 0, 0, 0),
    )
    for column, title in enumerate(titles):
        is_count = column > 1
        table.add_column(
            title,
            Text(total[column]) if total else "",
            justify="right" if is_count else "left",
            no_wrap=column > 0,
            overflow="fold",
        )
    for row in rows:
        name, verdict, *counts = row
        style = {"ok": "green", "broken": "red", "unreadable": "red"}.get(verdict, "yellow")
        # Text, not str: nothing in a file's name is read as markup.
        table.add_row(Text(name), Text(verdict, style=style), *map(Text, counts))
    console.print(table)


def _line(cells: _Row, widths: Sequence[int]) -> str:
    padding = [" " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
    shown = [
        cell + space if column < 2 else space + cell
        for column, (cell, space) in enumerate(zip(cells, padding, strict=True))
    ]
    return "  ".join(shown).rstrip()


def _width(text: str) -> int:
    """Return the columns that a text takes at a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def _facts(total: AuditTotals) -> Iterator[str]:
    """Yield what the columns do not say about all answers together."""
    pages = _counted(total.distinct_cited_sources, "different page")
    yield f"All answers together cite {pages}."
    if total.source_types:
        kinds = ", ".join(
            f"{count} {'without a kind' if kind == 'numeric' else _clean(kind)}"
            for kind, count in total.source_types.items()
        )
        yield f"Links by kind of source: {kinds}."


def _findings(name: str, audit: CitationAudit) -> Iterator[str]:
    for line in _facts_of(audit):
        yield f"{name}: {_clean(line)}"
    for finding in audit.unresolved:
        kind = finding.source_type
        what = "no source" if kind in ("web", "numeric") else f"a source of kind {kind!r}, no page"
        yield f"{name}: {_clean(f'{finding.raw_marker} points to {what} ({_place(finding)})')}"
    for finding in audit.low_confidence:
        text = f"{finding.raw_marker} probably means {finding.url} ({_place(finding)})"
        yield f"{name}: {_clean(text)}"
    for finding in audit.mismatches:
        marker = finding.raw_marker or "a linked text"
        text = f"hint: {marker} shares no word with {finding.url} ({_place(finding)})"
        yield f"{name}: {_clean(text)}"


def _facts_of(audit: CitationAudit) -> Iterator[str]:
    if not audit.has_answer:
        yield "there is no answer, only sources" if audit.sources else "there is no answer"
        return
    if not audit.sources:
        yield "there is no list of sources"
    elif not audit.citations:
        linked = audit.linked_sources
        how = f"only links {linked} of" if linked else "cites none of"
        yield f"the text {how} its {_counted(audit.sources, 'source')}"
    if audit.sources and audit.unlisted:
        pages = _counted(len(audit.unlisted), "cited page")
        yield f"{pages} not, or no longer, in its list of sources"
    for url in audit.duplicated_urls:
        yield f"listed more than once: {url}"
    if audit.missing_titles:
        yield f"{_counted(len(audit.missing_titles), 'source')} without a title"


def _place(finding: CitationFinding) -> str:
    claim = _clean(finding.claim)
    if len(claim) > _LONGEST:
        claim = "\N{HORIZONTAL ELLIPSIS}" + claim[-_LONGEST:].lstrip()
    return f'line {finding.line}, "{claim}"' if claim else f"line {finding.line}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _clean(text: str) -> str:
    return " ".join(plain(text).split())


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names without the folder that all of them share."""
    folder = ""
    try:
        folder = os.path.commonpath([os.path.dirname(name) for name in names])
    except ValueError:
        pass  # there are none, or some are absolute and others are not
    return {name: _clean(os.path.relpath(name, folder) if folder else name) for name in names}
