"""Citations: markers in an answer become records; records are rendered, numbered and checked.

Everything here is pure: text and records in, records or text out.
"""

from ..seam_citations import Citation
from .contracts import CONTRACTS, CitationContract, contract_named
from .ledger import CitationLedger, LedgerEntry
from .numbering import Numbering
from .numbers import numbers_by_url
from .reader import Annotation, normalize_citations, read_citations
from .references import Reference, References, references_of
from .rendering import RenderOptions, SourceList, Style, render_citations, render_result
from .results import read_again, with_citations

__all__ = [
    "CONTRACTS",
    "Annotation",
    "Citation",
    "CitationContract",
    "CitationLedger",
    "LedgerEntry",
    "Numbering",
    "Reference",
    "References",
    "RenderOptions",
    "SourceList",
    "Style",
    "contract_named",
    "normalize_citations",
    "numbers_by_url",
    "read_again",
    "read_citations",
    "references_of",
    "render_citations",
    "render_result",
    "with_citations",
]
