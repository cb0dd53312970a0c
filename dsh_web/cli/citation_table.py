"""Audits of citations as one table that needs no explanation, and a line per finding below it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ..citations import CitationAudit, summarize_audits
from .show import plain

__all__ = ["show_audits"]

_COLUMNS = (
    ("answer", "file that was read"),
    ("places", "places in the text that cite something"),
    ("links", "sources named at these places, counted one by one"),
    ("broken", "links that lead to no source"),
    ("unsure", "links by a rule that the vendor does not document"),
    ("sources", "sources listed with the answer"),
    ("used", "different pages that the text cites"),
    ("unused", "listed sources that nothing cites"),
    ("hints", "claims that share no word with their source's excerpt"),
)
_LONGEST = 160
"""Characters of a claim or an address in one line."""


def show_audits(audits: Sequence[CitationAudit], unreadable: Sequence[tuple[str, str]]) -> None:
    """Print the table, what its columns mean, and what was found.

    Args:
        audits: One per answer.
        unreadable: Name and reason of what could not be read.
    """
    names = _short_names([audit.name for audit in audits] + [name for name, _ in unreadable])
    rows = [_row(names[audit.name], audit) for audit in audits]
    rows += [(names[name], *["unreadable", *[""] * (len(_COLUMNS) - 2)]) for name, _ in unreadable]
    _print_table(rows, _total(audits) if len(audits) > 1 else None)
    print()
    width = max(len(title) for title, _ in _COLUMNS)
    for title, meaning in _COLUMNS[1:]:
        print(f"{title:<{width}}  {meaning}")
    findings = [line for audit in audits for line in _findings(names[audit.name], audit)]
    findings += [_clean(f"{names[name]}: cannot be read: {reason}") for name, reason in unreadable]
    if findings:
        print()
        print("\n".join(findings))


def _row(name: str, audit: CitationAudit) -> tuple[str, ...]:
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
    return (name, *map(str, counts))


def _total(audits: Sequence[CitationAudit]) -> tuple[str, ...]:
    total = summarize_audits(audits)
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
    return (f"{total.answers} answers", *map(str, counts))


def _print_table(rows: Sequence[tuple[str, ...]], total: tuple[str, ...] | None) -> None:
    titles = tuple(title for title, _ in _COLUMNS)
    lines = [titles, *rows, *([total] if total else [])]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    rule = "  ".join("-" * width for width in widths)
    print(_line(titles, widths))
    print(rule)
    for row in rows:
        print(_line(row, widths))
    if total:
        print(rule)
        print(_line(total, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *counts = cells
    shown = [name.ljust(widths[0])]
    shown += [count.rjust(width) for count, width in zip(counts, widths[1:], strict=True)]
    return "  ".join(shown).rstrip()


def _findings(name: str, audit: CitationAudit) -> Iterator[str]:
    if not audit.has_answer:
        yield _clean(f"{name}: there is no answer, only sources")
        return
    if not audit.sources and audit.citations:
        yield _clean(f"{name}: there is no list of sources")
    if audit.sources and not audit.citations:
        linked = audit.linked_sources
        how = f"only links {linked} of" if linked else "cites none of"
        yield _clean(f"{name}: the text {how} its {_counted(audit.sources, 'source')}")
    for record in audit.unresolved:
        where = f"at character {record.marker_span[0]}"
        yield _clean(f"{name}: {record.raw_marker} points to no source ({where})")
    for record in audit.low_confidence:
        yield _clean(f"{name}: {record.raw_marker} probably means {record.url}")
    for url in audit.duplicated_urls:
        yield _clean(f"{name}: listed more than once: {url}")
    if audit.missing_titles:
        yield _clean(f"{name}: {_counted(len(audit.missing_titles), 'source')} without a title")
    for hint in audit.mismatches:
        claim = " ".join(hint.claim.split())
        claim = claim if len(claim) <= _LONGEST else claim[:_LONGEST] + "\N{HORIZONTAL ELLIPSIS}"
        yield _clean(f'{name}: hint: {hint.raw_marker} shares no word with {hint.url}: "{claim}"')


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _clean(text: str) -> str:
    return " ".join(plain(text).split())


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names without the folder that all of them share."""
    folder = ""
    if len(names) > 1:
        try:
            folder = os.path.commonpath([os.path.dirname(name) for name in names])
        except ValueError:
            pass  # some are absolute, others are not
    return {name: _clean(os.path.relpath(name, folder) if folder else name) for name in names}
