"""What is worth trying again, and how long to wait: pure rules and one sub-flow.

This is the only layer of the package that retries. It never retries a request of which any part
may have been processed, except where the server itself says so by its status.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from .flow import (
    Flow,
    HttpHead,
    HttpRequest,
    HttpResponse,
    OpenStream,
    Sleep,
    Step,
    TransportError,
)

__all__ = [
    "RetryPolicy",
    "is_retryable",
    "is_retryable_status",
    "open_with_retries",
    "retry_after",
    "send_with_retries",
]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a request is tried again."""

    max_retries: int = 2
    """Attempts after the first; 0 switches retrying off."""
    first_wait: float = 0.5
    """Seconds before the second attempt when the server gives no hint; doubles each time."""
    longest_wait: float = 8.0
    """Cap in seconds on a wait of our own choosing."""
    longest_hint: float = 60.0
    """A server's `Retry-After` beyond this many seconds ends the call instead of being obeyed."""

    def backoff(self, attempt: int) -> float:
        """Return seconds to wait after failed attempt number `attempt` (from 1), without jitter."""
        return min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)


def is_retryable_status(status: int) -> bool:
    """Return whether an HTTP status says that the same request may succeed later."""
    return status in (408, 409, 429) or 500 <= status <= 599


def is_retryable(response: HttpResponse | HttpHead) -> bool:
    """Return whether the same request may succeed later, by its status and the server's own word.

    Both vendors' SDKs let the header `x-should-retry` overrule the status of a failure.
    """
    verdict = response.headers.get("x-should-retry")
    if response.status >= 400 and verdict in ("true", "false"):
        return verdict == "true"
    return is_retryable_status(response.status)


def retry_after(response: HttpResponse | HttpHead) -> float | None:
    """Return the seconds that a response asks to wait, or None if it does not (readably) ask.

    Reads `retry-after-ms` (milliseconds), then `retry-after` (seconds or an HTTP date, RFC 9110
    10.2.3), then, for a 429, the absolute `x-ratelimit-reset` that Perplexity sends.
    """
    headers = response.headers
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is not None:
        seconds = _number(text)
        return seconds if seconds is not None else _seconds_until(text, response.received_at)
    if response.status == 429:
        reset = _number(headers.get("x-ratelimit-reset"))
        # Only a moment that lies ahead and near is a wait; anything else is another convention.
        if reset is not None and 0 < reset - response.received_at <= 3600:
            return reset - response.received_at
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def _seconds_until(text: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text.strip()).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    # Some gateways send a date in the past; that means "now", not "never".
    return max(0.0, moment - now)


def send_with_retries(request: HttpRequest, policy: RetryPolicy) -> Flow[HttpResponse]:
    """Send `request`, try again where that is safe, and return the last response.

    Raises:
        TransportError: The last attempt failed below HTTP.
    """
    response: HttpResponse = yield from _with_retries(request, policy)
    return response


def open_with_retries(request: HttpRequest, policy: RetryPolicy) -> Flow[HttpHead]:
    """Open `request` as a stream, try again where that is safe, and return the last head.

    Nothing of a body has been delivered at that point; after it there is no retrying.

    Raises:
        TransportError: The last attempt failed below HTTP.
    """
    head: HttpHead = yield from _with_retries(OpenStream(request), policy)
    return head


def _with_retries(step: Step, policy: RetryPolicy) -> Flow[Any]:
    attempt = 1
    while True:
        failure: TransportError | None = None
        response: HttpResponse | HttpHead | None = None
        try:
            response = yield step
        except TransportError as error:
            if not error.is_connect_failure or attempt > policy.max_retries:
                raise
            failure = error
        wait = _wait_before_retry(response, policy, attempt) if response else _own(policy, attempt)
        if wait is None or not (yield wait):
            if response is not None:
                return response
            assert failure is not None
            raise failure
        attempt += 1


def _own(policy: RetryPolicy, attempt: int) -> Sleep:
    return Sleep(policy.backoff(attempt), jitter=0.25)


def _wait_before_retry(
    response: HttpResponse | HttpHead, policy: RetryPolicy, attempt: int
) -> Sleep | None:
    if attempt > policy.max_retries or not is_retryable(response):
        return None
    hint = retry_after(response)
    if hint is None:
        return _own(policy, attempt)
    return Sleep(hint) if hint <= policy.longest_hint else None
