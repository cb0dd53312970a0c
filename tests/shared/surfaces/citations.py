"""`citations`: an answer and its sources, read without any provider."""

from __future__ import annotations

from ..calls import Mode
from ..outcome import Outcome
from ..stage import Stage, refuse_unknown


def run_citations(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Run a case; reading is pure, so both modes do the same."""
    from dsh_web.citations import normalize_citations

    refuse_unknown("input", stage.input, {"text", "sources"})
    records = normalize_citations(stage.input["text"], stage.input["sources"])
    return Outcome(measured={"citations": records})
