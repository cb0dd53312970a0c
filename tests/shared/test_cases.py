"""Every case of the shared folder, sync and async."""

from __future__ import annotations

import pytest

from .runner import Run, reason_to_skip, run_case


@pytest.mark.timeout(60)
def test_case_holds(run: Run, subtests: pytest.Subtests) -> None:
    reason = reason_to_skip(run.case)
    if reason:
        pytest.skip(reason)

    verdict = run_case(run)

    for key, why in verdict.skipped.items():
        with subtests.test(msg=key):
            pytest.skip(f"{key}: {why}")
    assert verdict.complaints == [], run.case.note
