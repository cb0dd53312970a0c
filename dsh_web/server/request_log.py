"""What the server was asked, kept so that a test can look at both ends of a connection."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived."""

    method: str
    path: str
    """Decoded path without any leading `/_fault/SPEC`."""
    query: str
    """Query text as sent, without the question mark."""
    headers: dict[str, str]
    """Names in lower case; repeated headers are joined with a comma."""
    body: bytes
    """The body as sent, up to the server's limit of 32 MiB plus one byte."""
    received_at: float = field(default_factory=time.time)
    """Unix time in seconds at which the body was complete."""

    @cached_property
    def json(self) -> Any:
        """The body as JSON, or None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class RequestLog:
    """An append-only list of requests. Safe to use from any thread."""

    def __init__(self) -> None:
        self._requests: list[RecordedRequest] = []
        self._lock = threading.Lock()

    def append(self, request: RecordedRequest) -> None:
        """Add one request at the end."""
        with self._lock:
            self._requests.append(request)

    def snapshot(self) -> list[RecordedRequest]:
        """Return a copy of the list, oldest first."""
        with self._lock:
            return list(self._requests)

    def clear(self) -> None:
        """Forget every request."""
        with self._lock:
            self._requests.clear()
