"""The one error type of the seam, and the leaves that help `except` clauses.

    WebError
     +-- SelectionError           no provider could be chosen (configuration)
     +-- InvalidRequestError      the caller asked for something that cannot be sent
     |    +-- UnsupportedFilterError
     |    +-- InvalidUrlError     an address that is no page's
     +-- BlockedUrlError          an address, or a redirect to one, that must not be fetched
     +-- UnusablePageError        a page that is too large, or not made of text
     +-- ProviderError            the provider, or the way to it, failed
     +-- BudgetExceededError      the runtime's budget is used up
     +-- WebTimeoutError          the call's own `timeout`, or the provider's, ran out
     +-- WebCancelledError        the call's `CancelToken` was cancelled

`code` is what callers route on; it is an open string, so an unknown code must be tolerated. The
classes only group codes. This module imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = [
    "BlockedUrlError",
    "BudgetExceededError",
    "InvalidRequestError",
    "InvalidUrlError",
    "ProviderError",
    "SelectionError",
    "UnsupportedFilterError",
    "UnusablePageError",
    "WebCancelledError",
    "WebError",
    "WebTimeoutError",
]

WEB_PROVIDER_UNAVAILABLE: Final = "WEB_PROVIDER_UNAVAILABLE"
WEB_PROVIDER_CONFIGURED_MISSING: Final = "WEB_PROVIDER_CONFIGURED_MISSING"
WEB_PROVIDER_CONFIGURED_UNAVAILABLE: Final = "WEB_PROVIDER_CONFIGURED_UNAVAILABLE"
WEB_PROVIDER_AMBIGUOUS: Final = "WEB_PROVIDER_AMBIGUOUS"
WEB_DUPLICATE_PROVIDER: Final = "WEB_DUPLICATE_PROVIDER"
WEB_INVALID_REQUEST: Final = "WEB_INVALID_REQUEST"
WEB_UNSUPPORTED_FILTER: Final = "WEB_UNSUPPORTED_FILTER"
WEB_BUDGET_EXCEEDED: Final = "WEB_BUDGET_EXCEEDED"
WEB_ABORTED: Final = "WEB_ABORTED"
WEB_TIMEOUT: Final = "WEB_TIMEOUT"
WEB_PROVIDER_ERROR: Final = "WEB_PROVIDER_ERROR"
WEB_INVALID_URL: Final = "WEB_INVALID_URL"
WEB_BLOCKED_URL: Final = "WEB_BLOCKED_URL"
WEB_REDIRECT_BLOCKED: Final = "WEB_REDIRECT_BLOCKED"
WEB_FETCH_TOO_LARGE: Final = "WEB_FETCH_TOO_LARGE"
WEB_FETCH_TIMEOUT: Final = "WEB_FETCH_TIMEOUT"
WEB_UNSUPPORTED_CONTENT_TYPE: Final = "WEB_UNSUPPORTED_CONTENT_TYPE"


class WebError(Exception):
    """A failed search or fetch.

    Never a `RuntimeError`: LlamaIndex's sync bridge swallows those.

    Args:
        message: What happened and what to do; it may reach a model, so it holds no secret.
        code: What callers route on, for example `"WEB_PROVIDER_ERROR"`. Open set.
        provider: Id of the provider that was running, if one was.
        status_code: HTTP status of the provider's answer, if there was one.
        request_id: The provider's own id for the request, for its support desk.
        retry_after: Seconds the provider asked callers to wait.
        retryable: Whether the same call may succeed later without any change.
        content: The answer's text, where there was one that could not be used.
        partial: What was found before the failure, as a `WebSearchResult`: the queries of several
            that were done, or the answer of a stream as far as it came.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        provider: str | None = None,
        status_code: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        content: str | None = None,
        partial: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.provider = provider
        self.status_code = status_code
        self.request_id = request_id
        self.retry_after = retry_after
        self.retryable = retryable
        self.content = content
        self.partial = partial

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r})"

    def to_dict(self) -> dict[str, Any]:
        """Return the error as a JSON-able dict without the fields that are unknown.

        What was found before it is not in it; see `partial`.
        """
        fields = (
            "code",
            "message",
            "provider",
            "status_code",
            "request_id",
            "retry_after",
            "content",
        )
        known = {name: getattr(self, name) for name in fields if getattr(self, name) is not None}
        return known | {"retryable": self.retryable}

    def __reduce__(self) -> tuple[Callable[..., WebError], tuple[Any, ...]]:
        # Keyword-only arguments need a helper; the cause is lost, as with every pickled exception.
        state = self.to_dict() | {"partial": self.partial}
        message = state.pop("message")
        return _rebuild, (type(self), message, state)


def _rebuild(kind: type[WebError], message: str, state: dict[str, Any]) -> WebError:
    return kind(message, **state)


class SelectionError(WebError):
    """No provider could be chosen, or an id was registered twice."""


class InvalidRequestError(WebError):
    """The request itself is at fault: blank query, bad bound, bad filter."""

    def __init__(self, message: str, *, code: str = WEB_INVALID_REQUEST, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class UnsupportedFilterError(InvalidRequestError):
    """A filter is set that the chosen provider does not honour."""

    def __init__(self, message: str, *, code: str = WEB_UNSUPPORTED_FILTER, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class InvalidUrlError(InvalidRequestError):
    """The address is no absolute http or https URL, or can be read in more than one way."""

    def __init__(self, message: str, *, code: str = WEB_INVALID_URL, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class BlockedUrlError(WebError):
    """The address must not be fetched: private, with credentials, or against the domain policy.

    With the code `WEB_REDIRECT_BLOCKED` it is not the address that was asked for but one that the
    page redirects to.
    """

    def __init__(self, message: str, *, code: str = WEB_BLOCKED_URL, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class UnusablePageError(WebError):
    """The page is there, but too large (`WEB_FETCH_TOO_LARGE`) or of a type that has no text."""

    def __init__(
        self, message: str, *, code: str = WEB_UNSUPPORTED_CONTENT_TYPE, **details: Any
    ) -> None:
        super().__init__(message, code=code, **details)


class ProviderError(WebError):
    """The provider answered with an error, could not be reached, or made no sense."""

    def __init__(self, message: str, *, code: str = WEB_PROVIDER_ERROR, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class BudgetExceededError(WebError):
    """The runtime's budget is used up; nothing was sent."""

    def __init__(self, message: str, *, code: str = WEB_BUDGET_EXCEEDED, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class WebTimeoutError(WebError):
    """The whole call, attempts and waits included, took longer than its `timeout`.

    With the code `WEB_FETCH_TIMEOUT` it was the fetch provider's own, shorter limit.
    """

    def __init__(self, message: str, *, code: str = WEB_TIMEOUT, **details: Any) -> None:
        super().__init__(message, code=code, **details)


class WebCancelledError(WebError):
    """The call's `CancelToken` was cancelled; the reason is the cause."""

    def __init__(self, message: str, *, code: str = WEB_ABORTED, **details: Any) -> None:
        super().__init__(message, code=code, **details)
