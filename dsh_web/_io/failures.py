"""Turning what the HTTP stack raises into `TransportError`, with nothing secret left inside."""

from __future__ import annotations

import ssl
import traceback
from collections.abc import Iterator

import httpcore

from ..flow import HttpRequest, TransportError
from .masking import secrets_of

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
    """Return `error` as the one kind of failure that flows know, its cause kept without frames.

    Raise it outside the `except` block: what it must not show may be in the text of `error`, which
    would otherwise come along as its context.
    """
    forget_frames(error)
    text = str(error) or type(error).__name__
    masked = text
    for secret in secrets_of(request):
        masked = secret.mask(masked)
    if isinstance(error, TransportError) and masked == text:
        return error
    failed = TransportError(masked, is_connect_failure=_is_connect_failure(error))
    if not _shows_secret(error, request):
        failed.__cause__ = error
    return failed


def _shows_secret(error: Exception, request: HttpRequest) -> bool:
    texts = [text for member in _chain(error) for text in (str(member), repr(member))]
    return any(secret.mask(text) != text for secret in secrets_of(request) for text in texts)


def _is_connect_failure(error: Exception) -> bool:
    if isinstance(error, (httpcore.ConnectError, httpcore.ConnectTimeout)):
        # A certificate that is wrong now is wrong in a second too.
        return not isinstance(error.__cause__ or error.__context__, ssl.SSLCertVerificationError)
    # httpx wraps the same failures under the same names.
    return type(error).__name__ in ("ConnectError", "ConnectTimeout") and not isinstance(
        error.__cause__, ssl.SSLCertVerificationError
    )
