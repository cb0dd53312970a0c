"""The surfaces that can run now: each turns a case into an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..calls import Mode
from ..case_files import Case
from ..outcome import Outcome
from ..stage import Stage
from .citations import run_citations
from .errors import run_errors
from .fetch import run_fetch
from .lifecycle import run_lifecycle, scenario_variants
from .retriever import run_retriever
from .search import run_search
from .stream import run_stream
from .tools import run_tool_args

__all__ = ["SURFACES", "Surface"]


def _one(case: Case) -> tuple[str, ...]:
    return ("",)


def _both_frameworks(case: Case) -> tuple[str, ...]:
    return ("langchain", "llama_index")


@dataclass(frozen=True, slots=True)
class Surface:
    """How the cases of one surface are run."""

    run: Callable[[Stage, Mode, str], Outcome]
    """Called with the stage, the mode, and one of the case's variants."""
    variants: Callable[[Case], tuple[str, ...]] = _one
    """Ways into the package that the same case must hold for; each is a test of its own."""


SURFACES: Final = {
    "citations": Surface(run_citations),
    "sonar": Surface(run_search),
    "agent": Surface(run_search),
    "search": Surface(run_search),
    "parallel_search": Surface(run_search),
    "sonar_stream": Surface(run_stream),
    "agent_stream": Surface(run_stream),
    "fetch": Surface(run_fetch),
    "errors": Surface(run_errors),
    "tool_args": Surface(run_tool_args, _both_frameworks),
    "retriever": Surface(run_retriever),
    "lifecycle": Surface(run_lifecycle, scenario_variants),
}
"""Surface to how it is run."""
