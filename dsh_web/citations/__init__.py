"""Citations: markers in an answer become records; records are rendered, numbered and checked.

Everything here is pure: text and records in, records or text out. Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..seam_citations import Citation
    from .audit import (
        AuditSummary,
        AuditTotals,
        CitationAudit,
        CitationFinding,
        audit_citations,
        summarize_audits,
    )
    from .contracts import CONTRACTS, CitationContract, contract_named
    from .ledger import CitationLedger, LedgerEntry
    from .markdown_sources import read_markdown
    from .numbering import Numbering
    from .numbers import missing_label, numbers_by_url
    from .reader import Annotation, normalize_citations, read_citations
    from .references import Reference, References, references_of
    from .rendering import RenderOptions, SourceList, Style, render_citations, render_result
    from .results import read_again, with_citations

_HOME = {
    "..seam_citations": ("Citation",),
    ".audit": (
        "AuditSummary",
        "AuditTotals",
        "CitationAudit",
        "CitationFinding",
        "audit_citations",
        "summarize_audits",
    ),
    ".contracts": ("CONTRACTS", "CitationContract", "contract_named"),
    ".ledger": ("CitationLedger", "LedgerEntry"),
    ".markdown_sources": ("read_markdown",),
    ".numbering": ("Numbering",),
    ".numbers": ("missing_label", "numbers_by_url"),
    ".reader": ("Annotation", "normalize_citations", "read_citations"),
    ".references": ("Reference", "References", "references_of"),
    ".rendering": ("RenderOptions", "SourceList", "Style", "render_citations", "render_result"),
    ".results": ("read_again", "with_citations"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "CONTRACTS",
    "Annotation",
    "AuditSummary",
    "AuditTotals",
    "Citation",
    "CitationAudit",
    "CitationContract",
    "CitationFinding",
    "CitationLedger",
    "LedgerEntry",
    "Numbering",
    "Reference",
    "References",
    "RenderOptions",
    "SourceList",
    "Style",
    "audit_citations",
    "contract_named",
    "missing_label",
    "normalize_citations",
    "numbers_by_url",
    "read_again",
    "read_citations",
    "read_markdown",
    "references_of",
    "render_citations",
    "render_result",
    "summarize_audits",
    "with_citations",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
