"""Which faults meet which request: standing ones, queued ones, and those it asks for itself."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence

from dsh_web.server.faults import Fault

PATH_PREFIX = "/_fault/"
HEADER = "x-loopback-fault"


class FaultPlan:
    """Holds a server's faults and counts how often each was met. Safe to use from any thread."""

    def __init__(self, standing: Sequence[Fault] = ()) -> None:
        self._standing = tuple(standing)
        self._queued: deque[Fault] = deque()
        self._met: Counter[Fault] = Counter()
        self._lock = threading.Lock()

    def add(self, fault: Fault, times: int = 1) -> None:
        """Queue a fault for the next `times` requests, one request each."""
        if times < 1:
            raise ValueError(f"times is {times!r}; use 1 or more")
        with self._lock:
            self._queued.extend([fault] * times)

    def clear(self) -> None:
        """Forget queued faults and counts; standing faults stay."""
        with self._lock:
            self._queued.clear()
            self._met.clear()

    def for_request(self, specs: Sequence[str]) -> Fault | None:
        """Return everything that meets the next request as one fault, later sources winning.

        Args:
            specs: The texts the request itself carries, weakest first.

        Raises:
            ValueError: if a text cannot be read or the faults cannot hold together.
        """
        asked = [Fault.parse(spec) for spec in specs]
        with self._lock:
            queued = [self._queued.popleft()] if self._queued else []
            unspent = [f for f in (*self._standing, *asked) if not self._is_spent(f)]
            self._met.update(unspent)
        here = [f for f in self._standing if f in unspent] + queued
        here += [f for f in asked if f in unspent]
        result: Fault | None = None
        for fault in here:
            result = fault if result is None else result.merged_with(fault)
        return result

    def _is_spent(self, fault: Fault) -> bool:
        return fault.times is not None and self._met[fault] >= fault.times


def split_fault_path(raw_path: str) -> tuple[list[str], str]:
    """Split leading `/_fault/SPEC` pairs off an undecoded path.

    Returns:
        The specs, outermost first, still percent-encoded, and the rest of the path, never empty.
    """
    specs: list[str] = []
    while raw_path.startswith(PATH_PREFIX):
        spec, _, rest = raw_path.removeprefix(PATH_PREFIX).partition("/")
        specs.append(spec)
        raw_path = "/" + rest
    return specs, raw_path
