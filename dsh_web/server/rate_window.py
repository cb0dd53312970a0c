"""The `x-ratelimit-*` headers."""

from __future__ import annotations

import time


class RateWindow:
    """Counts requests per minute for the `x-ratelimit-*` headers; it reports and never refuses."""

    LIMIT = 50
    SECONDS = 60

    def __init__(self) -> None:
        self._reset_at = 0
        self._used = 0

    def clear(self) -> None:
        """Start a fresh window with the next request."""
        self._reset_at = 0

    def spend(self) -> dict[str, str]:
        """Count one request and return the four headers; `reset` is an absolute Unix second."""
        now = int(time.time())
        if now >= self._reset_at:
            self._reset_at, self._used = now + self.SECONDS, 0
        self._used += 1
        return {
            "x-ratelimit-limit": str(self.LIMIT),
            "x-ratelimit-remaining": str(max(0, self.LIMIT - self._used)),
            "x-ratelimit-used": str(min(self.LIMIT, self._used)),
            "x-ratelimit-reset": str(self._reset_at),
        }
