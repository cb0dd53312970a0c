"""The contract of extraction: several addresses in, for each its page or its own error out."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pydantic import Field, field_validator

from .errors import WEB_PROVIDER_ERROR, InvalidRequestError, ProviderError, WebError
from .flow import Flow
from .models import Frozen, OptionalText, PositiveInt, RequestModel
from .seam import Usage
from .seam_page import WebPage

__all__ = [
    "ExtractOutcome",
    "WebExtractError",
    "WebExtractProvider",
    "WebExtractRequest",
    "WebExtractResult",
]


class WebExtractRequest(RequestModel):
    """Pages whose text is wanted.

    Raises:
        InvalidRequestError: There is no address, one is blank, or a field has a wrong type.
    """

    urls: tuple[str, ...] = Field(min_length=1)
    """Addresses, in the order in which the outcomes are wanted; repeats are allowed."""
    objective: OptionalText = None
    """What the pages are read for, in plain words: providers that choose excerpts go by it."""
    queries: tuple[str, ...] = ()
    """Keywords that do the same."""
    max_chars: PositiveInt | None = None
    """Cap on the text of each page in code points; None: the provider's own limits."""
    include_raw: bool = False
    """Keep the provider's body in `WebExtractResult.raw`."""

    @field_validator("urls", "queries", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        # A lone text is one address, since nobody means its letters.
        return (value,) if isinstance(value, str) else value

    @field_validator("urls", "queries")
    @classmethod
    def _none_is_blank(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        if not all(text.strip() for text in texts):
            raise InvalidRequestError("each url and each query must be a non-empty string")
        return texts


class WebExtractError(Frozen):
    """Why there is no page for one address; the others are not concerned."""

    code: str = WEB_PROVIDER_ERROR
    """As `WebError.code`."""
    message: str
    status_code: int | None = None
    """HTTP status of the page, as far as it is known."""
    retryable: bool = False

    @classmethod
    def of(cls, error: WebError) -> WebExtractError:
        """Return what is to be said of `error`."""
        known = error.to_dict()
        return cls(**{name: known[name] for name in cls.model_fields if name in known})

    def as_error(self, provider: str) -> WebError:
        """Return the failure as an exception, for callers that treat pages one by one."""
        return ProviderError(
            self.message,
            code=self.code,
            provider=provider,
            status_code=self.status_code,
            retryable=self.retryable,
        )


class ExtractOutcome(Frozen):
    """What became of one address: either a page or an error."""

    url: str
    """As it was asked for."""
    page: WebPage | None = None
    error: WebExtractError | None = None


class WebExtractResult(Frozen):
    """The outcomes of one extraction: one for each address, in the order of the request."""

    outcomes: tuple[ExtractOutcome, ...]
    provider: str
    """Id of the provider that read the pages."""
    request_id: str | None = None
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()
    """What did not go quite as asked."""
    raw: Any = None
    """The provider's decoded body, or a list of them where it took several requests; only with
    `include_raw=True`."""

    @property
    def pages(self) -> tuple[WebPage, ...]:
        """The pages that were read, in order; without those that failed."""
        return tuple(outcome.page for outcome in self.outcomes if outcome.page is not None)

    @property
    def errors(self) -> dict[str, WebExtractError]:
        """The errors by the address that was asked for."""
        return {o.url: o.error for o in self.outcomes if o.error is not None}


@runtime_checkable
class WebExtractProvider(Protocol):
    """What `WebRuntime.register_extract_provider` needs; no base class is involved.

    Optional members: `label` and `unavailable_reason()`. The flow may give its outcomes in any
    order and leave some out: the runtime puts them in the order of the request, and says of those
    that are missing that they are.
    """

    @property
    def id(self) -> str:
        """Stable, unique among the extract providers of a runtime."""
        ...

    def available(self) -> bool:
        """Return whether a call could work: local and cheap, no network."""
        ...

    def extract_flow(self, request: WebExtractRequest) -> Flow[WebExtractResult]:
        """Return a fresh flow that performs `request`, whose addresses are all different."""
        ...
