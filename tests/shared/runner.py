"""Running one case in one mode and comparing it: the only place that knows both sides."""

from __future__ import annotations

from dataclasses import dataclass

from . import not_yet
from .calls import MODES, Mode
from .case_files import Case
from .expectations import Verdict, compare
from .stage import UnknownWordError, stage_for
from .surfaces import SURFACES


@dataclass(frozen=True, slots=True)
class Run:
    """One case, one way into the package, one mode."""

    case: Case
    variant: str
    mode: Mode

    @property
    def id(self) -> str:
        """What the test is called: `agent-001-sync`, `args-001-langchain-async`."""
        return "-".join(part for part in (self.case.id, self.variant, self.mode) if part)


def runs_of(case: Case) -> list[Run]:
    """Return every run of a case; one whose surface is unknown runs too, and fails."""
    surface = SURFACES.get(case.surface)
    variants = ("",) if surface is None else surface.variants(case)
    return [Run(case, variant, mode) for variant in variants for mode in MODES]


def reason_to_skip(case: Case) -> str | None:
    """Return why the whole case belongs to a later milestone, or None."""
    surfaces = [case.surface, case.input.get("surface")]
    reasons = [
        *(not_yet.SURFACES.get(surface) for surface in surfaces if isinstance(surface, str)),
        not_yet.SCENARIOS.get(case.input.get("scenario", "")),
        not_yet.TOOLS.get(case.input.get("tool", "")),
        not_yet.FEATURES.get(case.requires or ""),
    ]
    return next((reason for reason in reasons if reason), None)


def run_case(run: Run) -> Verdict:
    """Return how the package differs from what the case expects."""
    surface = SURFACES.get(run.case.surface)
    if surface is None:
        return Verdict([f"unknown surface: {run.case.surface}"])
    try:
        with stage_for(run.case) as stage:
            outcome = surface.run(stage, run.mode, run.variant)
            return compare(stage.case.expect, outcome)
    except (UnknownWordError, ValueError) as fault:
        return Verdict([str(fault)])
