"""Every recorded response of the shared folder, through its provider, sync and async."""

from __future__ import annotations

import pytest

from .recordings import RecordedRun, reason_to_skip, run_recording


@pytest.mark.timeout(60)
def test_recording_is_read_as_counted(recorded_run: RecordedRun, subtests: pytest.Subtests) -> None:
    reason = reason_to_skip(recorded_run.recording)
    if reason:
        pytest.skip(reason)

    verdict = run_recording(recorded_run)

    for key, why in verdict.skipped.items():
        with subtests.test(msg=key):
            pytest.skip(f"{key}: {why}")
    assert verdict.complaints == [], recorded_run.recording.notes
