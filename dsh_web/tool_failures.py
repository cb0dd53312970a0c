"""How a failed tool call is told: one line for the model, and plain data for the program.

Both frameworks say it in the same words and under the same keys.
"""

from __future__ import annotations

from typing import Any, Final

from .errors import InvalidRequestError, WebError
from .seam import WebSearchResult

__all__ = ["failure_data", "failure_text"]

MAX_MESSAGE_CHARS: Final = 500
"""A provider's message may be any length; a model needs its start."""


def failure_text(tool: str, error: WebError) -> str:
    """Return one line for the model: which tool failed, the code, why, and when to try again.

    A slip of the model's own (a blank query, too many of them) is told by its message alone, which
    says what to change.
    """
    if type(error) is InvalidRequestError and error.provider is None:
        return error.message
    message = " ".join(error.message.split())
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS - 1] + "…"
    return f"{tool} failed ({error.code}): {message}{_advice(error)}"


def _advice(error: WebError) -> str:
    if error.retry_after is not None:
        return f" (try again in {error.retry_after:g} s)"
    return " (it may work if tried again)" if error.retryable else ""


def failure_data(error: WebError) -> dict[str, Any]:
    """Return what a program needs to act on `error`, JSON-able.

    `error` holds `code`, `message`, `retryable` and, where known, `provider`, `status_code`,
    `request_id` and `retry_after` (seconds). `result` is what was found before the failure, as a
    dumped `WebSearchResult`; None: nothing.
    """
    partial, found = error.partial, None
    if isinstance(partial, WebSearchResult):
        found = partial.model_dump(mode="json", exclude={"raw"})
    return {"error": error.to_dict(), "result": found}
