"""How an adapter calls the runtime: which one, and with which bounds and filters.

The retriever and the tools share this module, so that a filter is named, checked and sent in the
same way by both. It knows nothing of LlamaIndex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final, Literal, NoReturn, Self, TypedDict

from dsh_web import CancelToken, WebRuntime, WebSearchRequest
from dsh_web.page_content import time_left

__all__ = ["RuntimeHandle", "SearchCall", "SearchOptions"]


class SearchOptions(TypedDict, total=False):
    """Settings that every search of a retriever or tool is run with; each may be left out."""

    timeout: float | None
    """Seconds for one call, attempts and waits included; None: no limit; left out: the runtime's
    own default."""
    cancel: CancelToken | None
    """Stops running calls, and every later one, from any thread."""
    recency: Literal["hour", "day", "week", "month", "year"] | None
    """Only sources from the last hour, day, week, month or year."""
    published_after: date | str | None
    """Only sources published on or after this day; text is `YYYY-MM-DD`."""
    published_before: date | str | None
    """Only sources published on or before this day."""
    updated_after: date | str | None
    """Only sources last updated on or after this day."""
    updated_before: date | str | None
    """Only sources last updated on or before this day."""
    include_domains: Sequence[str]
    """Only these sites: `example.com` (with subdomains), `.gov`, `example.com/docs`."""
    exclude_domains: Sequence[str]
    """None of these sites; same spelling."""
    country: str | None
    """ISO 3166-1 alpha-2 code."""
    languages: Sequence[str]
    """ISO 639-1 codes."""
    context_size: Literal["low", "medium", "high"] | None
    """How much text the provider retrieves."""
    mode: Literal["web", "academic", "sec", "people", "finance"] | None
    """Which corpus; None: ordinary web search."""
    max_tokens_per_page: int | None
    """Cap on the text of one page, in the provider's tokens."""
    max_tokens: int | None
    """Cap on the text over all results, in the provider's tokens."""
    objective: str | None
    """What the searches are for, in sentences."""
    search_queries: Sequence[str]
    """Keyword queries in the place of those made from each query."""
    on_unsupported: Literal["raise", "warn"]
    """What happens to a filter that the provider cannot honour; default `"raise"`."""


_LIMITS: Final = ("timeout", "cancel")
"""The options that bound the call and are no part of the request."""


class RuntimeHandle:
    """The runtime that was given, or one built from the environment at the first call.

    Args:
        runtime: None: built when it is needed, so that a key may be set after construction.
        **settings: For `WebRuntime.from_env`, if it comes to that.
    """

    def __init__(self, runtime: WebRuntime | None, **settings: Any) -> None:
        self._given = runtime
        self._settings = settings

    def get(self) -> WebRuntime:
        """Return the runtime; always the same one.

        Raises:
            SelectionError: The environment pins a provider that cannot be loaded.
        """
        if self._given is not None:
            return self._given
        built: WebRuntime | None = self.__dict__.get("_built")
        if built is None:
            # Atomic: two first calls at the same time end up with one runtime.
            built = self.__dict__.setdefault("_built", WebRuntime.from_env(**self._settings))
        return built

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Like the runtime itself: a copy shares the connections.
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Another process has an environment of its own.
        return {"_given": self._given, "_settings": self._settings}


class SearchCall:
    """What every search of one adapter object has in common: checked when built, never changed.

    Args:
        runtime: Who searches.
        max_results: Most sources per call; None: no bound.
        options: The rest, by the names of `SearchOptions`. Unknown names are a `TypeError`.

    Raises:
        InvalidRequestError: A bound or a filter is out of range or of the wrong type.
    """

    def __init__(
        self, runtime: RuntimeHandle, max_results: int | None, options: Mapping[str, Any]
    ) -> None:
        unknown = sorted(options.keys() - SearchOptions.__annotations__.keys())
        if unknown:
            raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
        limits = {name: options[name] for name in _LIMITS if name in options}
        if "timeout" in limits:
            # The runtime owns the rule for seconds; an unused one costs and opens nothing.
            limits["timeout"] = WebRuntime(timeout=limits["timeout"]).timeout
        filters = {name: value for name, value in options.items() if name not in _LIMITS}
        # Any query will do: built for its checks, and for its normalized values.
        checked = WebSearchRequest(query="-", max_results=max_results, **filters)
        self.handle = runtime
        self.options = {**checked.model_dump(include=set(filters)), **limits}
        self.max_results = max_results

    @property
    def runtime(self) -> WebRuntime:
        """The runtime to call; see `RuntimeHandle.get`."""
        return self.handle.get()

    @property
    def limits(self) -> dict[str, Any]:
        """The keyword arguments that bound any call, searching or not."""
        return {name: self.options[name] for name in _LIMITS if name in self.options}

    @property
    def cancel(self) -> CancelToken | None:
        """What stops a call."""
        token: CancelToken | None = self.options.get("cancel")
        return token

    def time_left(self) -> Callable[[], float | None]:
        """Return what says how many seconds of a call that starts now are left."""
        return time_left(self.options.get("timeout", self.runtime.timeout))

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments for `search`, `search_many` and their async twins."""
        return {"max_results": self.max_results, **self.options}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Immutable; and a copied cancel token would no longer be the one that its owner cancels.
        return self

    def __getstate__(self) -> dict[str, Any]:
        if self.options.get("cancel") is not None:
            _refuse_pickling()
        return self.__dict__


def _refuse_pickling() -> NoReturn:
    raise TypeError(
        "a cancel token cannot be pickled, since it reaches no other process: "
        "leave cancel= out, or set it there"
    )
