"""Turns the lines of the shared folder into tests; without the folder, into one skip each."""

from __future__ import annotations

import pytest

from .case_files import VARIABLE, read_cases, read_recordings, shared_folder
from .recordings import recorded_runs_of
from .runner import runs_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `run` and `recorded_run` one value per run of a case or of a recording."""
    folder = shared_folder()
    if "run" in metafunc.fixturenames:
        runs = [run for case in read_cases(folder) for run in runs_of(case)]
        _parametrize(metafunc, "run", [pytest.param(run, id=run.id) for run in runs])
    if "recorded_run" in metafunc.fixturenames:
        recorded = [run for line in read_recordings(folder) for run in recorded_runs_of(line)]
        _parametrize(metafunc, "recorded_run", [pytest.param(run, id=run.id) for run in recorded])
    if "recorded_stream" in metafunc.fixturenames:
        streams = [line for line in read_recordings(folder) if line.api.endswith("-stream")]
        values: list[object] = [pytest.param(line, id=line.file) for line in streams]
        _parametrize(metafunc, "recorded_stream", values)
    if "recorded_extraction" in metafunc.fixturenames:
        found = [line for line in read_recordings(folder) if line.api == "parallel-extract"]
        _parametrize(metafunc, "recorded_extraction", [pytest.param(r, id=r.file) for r in found])


def _parametrize(metafunc: pytest.Metafunc, name: str, values: list[object]) -> None:
    if not values:
        reason = f"no shared cases in {shared_folder()}: set {VARIABLE} to a folder that has some"
        values = [pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))]
    metafunc.parametrize(name, values)
