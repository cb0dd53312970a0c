"""How a failed search reaches an agent: an error that it can read, route on and recover from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.tools import ToolException

from dsh_web import WebError

__all__ = ["WebToolException", "failure_text", "is_retryable"]

MAX_MESSAGE_CHARS = 500
"""A provider's message may be any length; a model needs its start."""


class WebToolException(ToolException):
    """A web tool failed.

    Args:
        text: What the model is told.
        error: What happened; also the cause. Route on its `code`.
    """

    def __init__(self, text: str, error: WebError) -> None:
        super().__init__(text)
        self.error = error
        self.__cause__ = error

    def __reduce__(self) -> tuple[Callable[..., WebToolException], tuple[Any, ...]]:
        return type(self), (str(self), self.error)


def failure_text(tool: str, error: WebError) -> str:
    """Return one line for the model: which tool failed, the code, why, and when to try again."""
    message = " ".join(error.message.split())
    if len(message) > MAX_MESSAGE_CHARS:
        message = message[: MAX_MESSAGE_CHARS - 1] + "…"
    return f"{tool} failed ({error.code}): {message}{_advice(error)}"


def _advice(error: WebError) -> str:
    if error.retry_after is not None:
        return f" (try again in {error.retry_after:g} s)"
    return " (it may work if tried again)" if error.retryable else ""


def is_retryable(error: BaseException) -> bool:
    """Return whether the same call may succeed later without any change.

    For `ToolRetryMiddleware(retry_on=is_retryable, on_failure="error")` around a tool with
    `handle_tool_error=False`; left to itself that middleware also repeats calls with a wrong key.
    The core has by then retried what a short wait can cure. What is not retried ends the agent's
    run, the model's own slips included, unless an outer `ToolErrorMiddleware` returns the text of
    every `WebToolException` to the model.
    """
    if isinstance(error, WebToolException):
        return error.error.retryable
    return isinstance(error, WebError) and error.retryable
