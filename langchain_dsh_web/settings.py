"""The settings that retriever and tools share: which runtime, which filters, which limits.

They are set when the object is built. None of them is a tool argument: what a search may cost and
where it may look is decided by whoever deploys the agent, not by the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from langchain_core.rate_limiters import BaseRateLimiter
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dsh_web import InvalidRequestError, WebRuntime, WebSearchRequest

__all__ = ["Count", "EnvironmentRuntime", "RuntimeSettings", "SearchSettings"]

Count: TypeAlias = Annotated[int, Field(ge=1, strict=True)]
Capability: TypeAlias = Literal["search", "fetch"]

_FILTERS = (
    "recency",
    "published_after",
    "published_before",
    "updated_after",
    "updated_before",
    "include_domains",
    "exclude_domains",
    "country",
    "languages",
    "context_size",
    "mode",
    "max_tokens_per_page",
    "max_tokens",
    "objective",
    "search_queries",
    "on_unsupported",
)


class EnvironmentRuntime:
    """A runtime that is built from the environment when it is first needed.

    Args:
        build: Builds it.
    """

    def __init__(self, build: Callable[[], WebRuntime]) -> None:
        self._build = build
        # Together, so that another thread never sees one without the other.
        self._built: tuple[WebRuntime | None, frozenset[str]] = (None, frozenset())

    def get(self, capability: Capability) -> WebRuntime:
        """Return a runtime for `capability`, the same one again once it has a provider for it.

        Raises:
            WebError: The environment pins a provider that cannot be loaded.
        """
        runtime, capabilities = self._built
        if runtime is not None and capability in capabilities:
            return runtime
        # One that found no key is not kept: the key may be set before the next call. Two threads
        # may both get here; either runtime serves.
        made = self._build()
        capabilities = frozenset(status["capability"] for status in made.describe())
        if capability in capabilities:
            self._built = (made, capabilities)
        return made

    def peek(self) -> WebRuntime | None:
        """Return the runtime if there is one already."""
        return self._built[0]


class RuntimeSettings(BaseModel):
    """Who does the work of a retriever or tool, and in what time.

    A deep copy shares the runtime and the rate limiter with the original: a copied limiter would
    allow twice the rate. A pickle holds the settings but no key and no connection; a runtime that
    was built from the environment is built again from the environment of the process that loads
    it.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    runtime: WebRuntime | None = Field(default=None, exclude=True, repr=False)
    """Does the work; None: `WebRuntime.from_env()`, built on first use."""
    timeout: float | None = Field(default=None, ge=0)
    """Seconds for a whole call, without a wait for `rate_limiter`; None: the runtime's own."""
    rate_limiter: BaseRateLimiter | None = Field(default=None, exclude=True, repr=False)
    """Asked for one token per query, and by the fetch tool per page, before it is sent."""

    _capability: ClassVar[Capability] = "search"
    """What the runtime has to be able to do."""

    _environment: EnvironmentRuntime | None = PrivateAttr(default=None)

    def _call_options(self) -> dict[str, Any]:
        """Return the arguments of a call that must be left out to get the runtime's default."""
        return {} if self.timeout is None else {"timeout": self.timeout}

    def _used_runtime(self) -> WebRuntime:
        """Return the runtime that a call uses.

        Raises:
            WebError: The environment pins a provider that cannot be loaded.
        """
        if self.runtime is not None:
            return self.runtime
        if self._environment is None:
            self._environment = EnvironmentRuntime(self._runtime_from_env)
        return self._environment.get(self._capability)

    def _known_runtime(self) -> WebRuntime | None:
        """Return the runtime if there is one already."""
        if self.runtime is not None or self._environment is None:
            return self.runtime
        return self._environment.peek()

    def _runtime_from_env(self) -> WebRuntime:
        return WebRuntime.from_env()

    def _shared_on_copy(self) -> tuple[object, ...]:
        """Return the members that a deep copy shares with the original."""
        return (self.runtime, self.rate_limiter, self._environment)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        memo = {} if memo is None else memo
        memo |= {id(member): member for member in self._shared_on_copy()}
        return super().__deepcopy__(memo)

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        private = {**(state.get("__pydantic_private__") or {}), "_environment": None}
        return {**state, "__pydantic_private__": private}


class SearchSettings(RuntimeSettings):
    """What every search of one retriever or tool has in common.

    The filters have the meaning, the spelling and the defaults of `dsh_web.WebSearchRequest`.
    """

    stream_text: bool = False
    """Send listeners the answer while it is written, as the custom event `dsh_web.delta`."""

    recency: Literal["hour", "day", "week", "month", "year"] | None = None
    published_after: date | None = None
    published_before: date | None = None
    updated_after: date | None = None
    updated_before: date | None = None
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    country: str | None = None
    languages: tuple[str, ...] = ()
    context_size: Literal["low", "medium", "high"] | None = None
    mode: Literal["web", "academic", "sec", "people", "finance"] | None = None
    max_tokens_per_page: int | None = None
    max_tokens: int | None = None
    objective: str | None = None
    search_queries: tuple[str, ...] = ()
    on_unsupported: Literal["raise", "warn"] = "raise"

    @field_validator(*_FILTERS, mode="before")
    @classmethod
    def _as_the_core_reads_it(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        return getattr(_checked({name: value}), name)

    @model_validator(mode="after")
    def _filters_fit_together(self) -> Self:
        _checked(self._search_fields())
        return self

    def _search_fields(self) -> dict[str, Any]:
        """Return the filters as fields of a `WebSearchRequest`."""
        return {name: getattr(self, name) for name in _FILTERS}


def _checked(filters: Mapping[str, Any]) -> WebSearchRequest:
    """Return a request with the filters as the core normalizes them.

    Raises:
        ValueError: One is out of range, or two contradict each other; pydantic reports it.
    """
    try:
        return WebSearchRequest(query="any", **filters)
    except InvalidRequestError as error:
        raise ValueError(error.message) from error
