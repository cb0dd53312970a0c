"""The steps that a provider's flow can ask for, and nothing that performs them.

A *flow* is a generator: it yields a step, receives that step's outcome, and returns the result of
the whole exchange. It does no I/O, knows no clock and no event loop, so the same flow serves sync
and async callers and can be played by hand in a test. `_io` holds the drivers that perform steps.

    def search_flow(self, request):
        response = yield from send_with_retries(self._http_request(request))
        return self._search_result(response)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from ._secret import Secret
from .cancel import CancelToken

__all__ = [
    "Emit",
    "Flow",
    "Guard",
    "HttpHead",
    "HttpRequest",
    "HttpResponse",
    "OpenStream",
    "ReadChunk",
    "ReadClock",
    "Resolve",
    "Sleep",
    "Step",
    "TransportError",
    "WaitFor",
]

Result = TypeVar("Result")

DEFAULT_MAX_BYTES = 10_000_000
"""Cap on the decoded bytes of a response body, unless the request sets its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Decides where the connections of a request may go.

    The driver looks the host up once, hands every address to `admit`, and connects to one of those
    very addresses; TLS is verified against the name. A guarded request never goes through a proxy
    or through an HTTP client of the caller's, both of which would look the name up again. Its
    connections are kept apart: only requests under the same guard (this object) use them again.
    """

    admit: Callable[[str, Sequence[str]], None]
    """Called with the host and all its addresses before any connection; raises to refuse them.

    A `WebError` is thrown into the flow as it is.
    """
    resolve: Callable[[str], Sequence[str]] | None = None
    """Returns the addresses of a host in place of the system's resolver; may block."""
    dial: Callable[[str, int], tuple[str, int]] | None = None
    """Returns where a connection to an admitted address and port is really made."""


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
    """Cap on the decoded body; `when_too_large` says what happens beyond it."""
    when_too_large: Literal["refuse", "cut"] = "refuse"
    """`refuse` raises `TransportError`; with `cut` the body simply ends there."""
    guard: Guard | None = None
    """Set for an address that this program did not choose itself."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response: the outcome of an `HttpRequest` step.

    Its repr shows the status alone: a server may echo the key anywhere else.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case; of a repeated header the last value, or all if it is a list."""
    body: bytes = field(repr=False)
    """Decoded from whatever it was compressed with."""
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
class ReadClock:
    """Receive the Unix time in seconds, for a request that has to name a day."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wait until `signal` is given: a one-shot flag that anybody, in any thread, can raise."""

    signal: CancelToken


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Send `request` and receive the `HttpHead` of the response; its body stays unread.

    A flow has at most one open response: opening another closes the one before, and so does the
    end of the flow.
    """

    request: HttpRequest


@dataclass(frozen=True, slots=True)
class HttpHead:
    """The head of a response: the outcome of an `OpenStream` step."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case; of a repeated header the last value, or all if it is a list."""
    received_at: float = 0.0
    """Unix time in seconds at which it arrived."""


@dataclass(frozen=True, slots=True)
class ReadChunk:
    """Receive the next decoded bytes of the open response; empty at its end.

    A body that unfolds to more than the request's `max_bytes` is refused with `TransportError`,
    or ends there if the request says so.
    """


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand `event` to whoever consumes the stream."""

    event: Any


Step: TypeAlias = (
    HttpRequest | Resolve | Sleep | WaitFor | ReadClock | OpenStream | ReadChunk | Emit
)
Flow: TypeAlias = Generator[Step, Any, Result]
"""A generator that yields steps and returns a `Result`."""
