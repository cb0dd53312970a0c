"""How a failed search reaches an agent: an error that it can read, route on and recover from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.tools import ToolException

from dsh_web import WebError

__all__ = ["WebToolException", "is_retryable"]


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
