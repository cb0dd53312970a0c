"""Agent runs that can be asked for again: what state each is in, and how many are kept."""

from __future__ import annotations

import json
import math
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

MOST_RUNS = 256
MOST_BYTES = 64 * 1024 * 1024

# The part of a background run's time that it waits before it starts.
_QUEUED_SHARE = 0.3

Phase = Literal["queued", "in_progress", "over"]


@dataclass(frozen=True)
class SharedFile:
    """A file that a run made."""

    id: str
    filename: str
    content: bytes

    def entry(self, created_at: int) -> dict[str, Any]:
        """Return the file as a list of files names it."""
        return {
            "id": self.id,
            "object": "file",
            "filename": self.filename,
            "bytes": len(self.content),
            "created_at": created_at,
        }


class StoredRun:
    """One run: its first and its last response object, and which of the two holds now.

    The answer is known from the start; a background run merely does not tell it before its time
    has passed. That keeps runs free of tasks that would have to be stopped.
    """

    def __init__(
        self,
        opening: Mapping[str, Any],
        closing: Mapping[str, Any],
        files: Sequence[SharedFile] = (),
        *,
        seconds: float = 0.0,
        fetched: Sequence[str] = (),
    ) -> None:
        self.opening = opening
        self.closing = closing
        self.fetched = tuple(fetched)
        self._files = tuple(files)
        self._seconds = seconds
        self._begun = time.monotonic()
        self.is_held = False
        self._cancelled: dict[str, Any] | None = None
        self._cancelled_at = math.inf
        self.size = len(json.dumps([opening, closing])) + sum(len(f.content) for f in files)

    @property
    def id(self) -> str:
        """The response id."""
        return str(self.opening["id"])

    @property
    def is_background(self) -> bool:
        """True if it was asked for in the background."""
        return bool(self.opening["background"])

    @property
    def is_visible(self) -> bool:
        """False if the client asked not to store it: then it can be continued, but not read."""
        return bool(self.opening["store"])

    @property
    def phase(self) -> Phase:
        """How far the run is."""
        if self._cancelled is not None:
            return "over"
        if self.is_held:
            return "in_progress"
        passed = time.monotonic() - self._begun
        if passed >= self._seconds:
            return "over"
        return "queued" if passed < self._seconds * _QUEUED_SHARE else "in_progress"

    @property
    def is_cancelled(self) -> bool:
        """True if it was cancelled before it was over."""
        return self._cancelled is not None

    @property
    def is_completed(self) -> bool:
        """True if it ended well, so that it may be continued."""
        return self.phase == "over" and self.snapshot()["status"] == "completed"

    def snapshot(self) -> Mapping[str, Any]:
        """Return the response object as it is now."""
        if self._cancelled is not None:
            return self._cancelled
        phase = self.phase
        if phase == "over":
            return self.closing
        return {**self.opening, "status": phase, "output": self._finished_items(phase)}

    def hold(self) -> None:
        """Keep it in progress until `release`: it is being streamed."""
        self.is_held = True

    def release(self) -> None:
        """Let it be over."""
        self.is_held = False

    def wait_for(self, share: float) -> float | None:
        """Return the seconds until a share of the work is done; None if it never will be.

        Args:
            share: 0 for the moment at which the work begins, 1 for its end.
        """
        working = _QUEUED_SHARE + (1 - _QUEUED_SHARE) * share
        moment = self._begun + self._seconds * working
        now = time.monotonic()
        if self.is_cancelled and (self._cancelled_at < moment or not self.is_background):
            return None
        return max(0.0, moment - now)

    def over_for(self) -> float:
        """Return for how many seconds it has been over; negative before that."""
        end = min(self._begun + self._seconds, self._cancelled_at)
        return time.monotonic() - end

    def cancel(self) -> bool:
        """Cancel it; False if it was over already."""
        phase = self.phase
        if phase == "over":
            return False
        self._cancelled_at = time.monotonic()
        self._cancelled = {
            **self.opening,
            "status": "cancelled",
            "output": self._finished_items(phase),
            "error": {"code": "cancelled", "message": "cancelled", "type": "cancelled"},
            "incomplete_details": {"reason": "cancelled"},
        }
        return True

    def files(self) -> tuple[SharedFile, ...]:
        """Return the files shared so far."""
        return self._files if self.phase == "over" and not self.is_cancelled else ()

    def _finished_items(self, phase: Phase) -> list[Any]:
        if phase == "queued":
            return []
        # Captures list what tools found while the run goes on; the text comes last.
        last = ("message", "share_file")
        return [item for item in self.closing["output"] if item["type"] not in last]


class RunStore:
    """The newest runs, at most `MOST_RUNS` of them and about `MOST_BYTES`."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, StoredRun] = OrderedDict()
        self._size = 0

    def add(self, run: StoredRun) -> None:
        """Keep a run and forget the oldest ones that there is no room for."""
        self._runs[run.id] = run
        self._size += run.size
        while len(self._runs) > MOST_RUNS or (self._size > MOST_BYTES and len(self._runs) > 1):
            _, oldest = self._runs.popitem(last=False)
            self._size -= oldest.size

    def find(self, response_id: str) -> StoredRun | None:
        """Return the run that may be read under this id, or None."""
        run = self._runs.get(response_id)
        return run if run is not None and run.is_visible else None

    def may_be_continued(self, response_id: str) -> bool:
        """True if it is the id of a completed run, whether or not it may be read."""
        run = self._runs.get(response_id)
        return run is not None and run.is_completed
