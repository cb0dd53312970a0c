"""The steps that a provider's flow can ask for, and nothing that performs them.

A *flow* is a generator: it yields a step, receives that step's outcome, and returns the result of
the whole exchange. It does no I/O, knows no clock and no event loop, so the same flow serves sync
and async callers and can be played by hand in a test. `_io` holds the drivers that perform steps.

    def search_flow(self, request):
        response = yield from send_with_retries(self._http_request(request))
        return self._search_result(response)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ._secret import Secret

__all__ = [
    "Emit",
    "Flow",
    "HttpHead",
    "HttpRequest",
    "HttpResponse",
    "OpenStream",
    "ReadChunk",
    "Resolve",
    "Sleep",
    "Step",
    "TransportError",
]

Result = TypeVar("Result")

DEFAULT_MAX_BYTES = 10_000_000
"""Cap on the decoded bytes of a response body, unless the request sets its own."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Send one HTTP request and receive the whole response.

    Redirects are never followed: a 3xx comes back as a response like any other.
    """

    method: str
    url: str
    """Absolute http or https URL, already encoded."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case. `host`, `content-length` and `accept-encoding` belong to the driver."""
    bearer: Secret | None = None
    """Sent as `authorization: Bearer ...`; kept apart from `headers` so that nothing prints it."""
    secret_headers: Mapping[str, Secret] = field(default_factory=dict)
    """More headers whose values must never be printed, for example `x-api-key`."""
    body: bytes = b""
    max_bytes: int = DEFAULT_MAX_BYTES
    """A body that unfolds to more than this many bytes is refused with `TransportError`."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response: the outcome of an `HttpRequest` step.

    Its repr shows the status alone: a server may echo the key anywhere else.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case; the last value of a repeated header."""
    body: bytes = field(repr=False)
    """Decoded from gzip or deflate."""
    received_at: float = 0.0
    """Unix time in seconds at which the head arrived, for headers that hold absolute times."""


class TransportError(Exception):
    """Thrown into a flow when an exchange failed below HTTP: the message says how.

    Args:
        message: One line, free of secrets.
        is_connect_failure: True if nothing of the request can have reached the server, which
            makes trying again safe even for a request that costs money.
    """

    def __init__(self, message: str, *, is_connect_failure: bool = False) -> None:
        super().__init__(message)
        self.is_connect_failure = is_connect_failure


@dataclass(frozen=True, slots=True)
class Resolve:
    """Call `function` and receive what it returns; a coroutine function is awaited.

    For what only the caller's code can do: fetching a short-lived key, calling a vendor's SDK. It
    runs off the calling thread, so that a cancel or a deadline can leave it behind. An exception
    of it is thrown into the flow as it is.
    """

    function: Callable[[], Any | Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait before the next attempt; receive True, or False if the call's time would be over first.

    False comes at once: waiting for a deadline that is known to pass helps nobody.
    """

    seconds: float
    jitter: float = 0.0
    """Share of `seconds` (0 to 1) by which the driver may shorten the wait at random."""


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Send `request` and receive the `HttpHead` of the response; its body stays unread.

    A flow has at most one open response: opening another closes the one before, and so does the
    end of the flow. Only a flow that is run as a stream can open one.
    """

    request: HttpRequest


@dataclass(frozen=True, slots=True)
class HttpHead:
    """The head of a response: the outcome of an `OpenStream` step."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case; the last value of a repeated header."""
    received_at: float = 0.0
    """Unix time in seconds at which it arrived."""


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Receive the next decoded bytes of the open response; empty at its end.

    A body that unfolds to more than the request's `max_bytes` is refused with `TransportError`.
    """


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand `event` to whoever consumes the stream."""

    event: Any


Step: TypeAlias = HttpRequest | Resolve | Sleep | OpenStream | ReadChunk | Emit
Flow: TypeAlias = Generator[Step, Any, Result]
"""A generator that yields steps and returns a `Result`."""
