"""Turning what the HTTP stack raises into `TransportError`, with nothing secret left inside."""

from __future__ import annotations

import ssl
import traceback
from collections.abc import Iterator

import httpcore

from ..flow import HttpRequest, TransportError

_LONGEST_TEXT = 300

__all__ = ["clear_locals", "forget_frames", "transport_error"]


def forget_frames(error: BaseException) -> None:
    """Drop the tracebacks of `error` and of everything chained to it.

    The frames of the HTTP stack hold the request headers, and with them the key; tracers and rich
    tracebacks print the locals of every frame that they find.
    """
    for member in _chain(error):
        member.__traceback__ = None


def clear_locals(error: BaseException) -> None:
    """Empty the frames that `error` came through, keeping their files and lines.

    For functions of the caller's: where they failed must stay visible, while the key that one of
    them has just read must not. Frames that are still running keep theirs.
    """
    for member in _chain(error):
        traceback.clear_frames(member.__traceback__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            yield current
            pending += [current.__cause__, current.__context__]
            if isinstance(current, BaseExceptionGroup):
                pending += current.exceptions


def transport_error(error: Exception, request: HttpRequest) -> TransportError:
    """Return `error` as the one kind of failure that flows know.

    The error of the HTTP stack itself is not chained: its text quotes what the server sent, which
    may echo the key. Raise the result outside the `except` block, so that it has no context either.
    """
    if isinstance(error, TransportError):
        forget_frames(error)
        return error
    text = str(error) or type(error).__name__
    secrets = [*request.secret_headers.values()] + ([request.bearer] if request.bearer else [])
    for secret in secrets:
        text = secret.mask(text)
    return TransportError(_shortened(text), is_connect_failure=_is_connect_failure(error))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


def _is_connect_failure(error: Exception) -> bool:
    if isinstance(error, (httpcore.ConnectError, httpcore.ConnectTimeout)):
        # A certificate that is wrong now is wrong in a second too.
        return not isinstance(error.__cause__ or error.__context__, ssl.SSLCertVerificationError)
    # httpx wraps the same failures under the same names.
    return type(error).__name__ in ("ConnectError", "ConnectTimeout") and not isinstance(
        error.__cause__, ssl.SSLCertVerificationError
    )
