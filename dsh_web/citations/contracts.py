"""Versioned rules by which markers are read: one contract per vendor API and time.

A result stores the name of its contract, so that an old one can be read again as it was meant
when it was made, whatever the vendor writes today.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..errors import InvalidRequestError

__all__ = ["CONTRACTS", "MARKERS", "CitationContract", "contract_named"]


@dataclass(frozen=True, slots=True)
class CitationContract:
    """How the markers of one API are to be understood."""

    name: str
    """`<api>/<version>`, for example `perplexity-agent/2026-10`."""
    provider: str | None = None
    """Id of the provider whose numbers these are; None: whoever gave the answer."""
    default_type: str = "web"
    """Kind of a marker that names none: `[1]`."""
    has_ids: bool = False
    """True if a result's sources carry the numbers of this API: then one without has none, and
    its place in the list means nothing."""
    reads_markers: bool = True
    """False where brackets in the text are never citations: all come beside it."""
    reads_exports: bool = False
    """True if `[^2_3]` and `[^3]` are markers, which the definitions in the text itself resolve."""


MARKERS: Final = CitationContract("markers/1", default_type="numeric")
"""Vendor-neutral: `[1]` and `[web:1]` both name the given sources."""

CONTRACTS: Final = {
    contract.name: contract
    for contract in (
        MARKERS,
        CitationContract("perplexity-agent/2026-10", "perplexity", has_ids=True),
        CitationContract("perplexity-sonar/2026-06", "perplexity-sonar", has_ids=True),
        CitationContract("perplexity-export/2026-10", "perplexity", reads_exports=True),
        CitationContract(
            "parallel-chat/2026-10", "parallel-chat", has_ids=True, reads_markers=False
        ),
        CitationContract("footnotes/1", reads_exports=True),
    )
}
"""The known contracts by name."""


def contract_named(name: str | CitationContract) -> CitationContract:
    """Return the contract of that name; a contract is returned as it is.

    Raises:
        InvalidRequestError: No contract has that name.
    """
    if isinstance(name, CitationContract):
        return name
    try:
        return CONTRACTS[name]
    except (KeyError, TypeError):
        raise InvalidRequestError(
            f"{name!r} is not a citation contract: use one of {', '.join(sorted(CONTRACTS))}, "
            "or give a CitationContract"
        ) from None
