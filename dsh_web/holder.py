"""What a runtime holds: providers, drivers, the meter. What it does with them is in `runtime`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .arguments import Unset, checked_timeout
from .config import DEFAULT_FETCH_PROVIDER, DEFAULT_SEARCH_PROVIDER, read_env
from .discovery import load_fetch_provider, load_provider, vendors_with_key
from .errors import InvalidRequestError
from .metering import Budget, UsageMeter, UsageTotal
from .providers import BUILT_IN_FETCH
from .registry import ProviderRegistry, ProviderStatus
from .seam import WebSearchProvider
from .seam_fetch import WebFetchProvider
from .sharing import ResultCache, SharedCalls

if TYPE_CHECKING:
    import ssl

    import httpx

    from ._io.async_driver import AsyncDriver
    from ._io.sync_driver import SyncDriver

__all__ = ["RuntimeHolder"]

DEFAULT_TIMEOUT = 300.0
"""Seconds a call may take unless it says otherwise; long research answers take minutes."""
DEFAULT_MAX_QUERIES = 4


class RuntimeHolder:
    """The part of `WebRuntime` that outlives a call; its arguments are documented there."""

    def __init__(
        self,
        *,
        search_provider: str | None = None,
        fetch_provider: str | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        max_queries: int = DEFAULT_MAX_QUERIES,
        budget: Budget | None = None,
        coalesce: bool = False,
        cache: ResultCache | None = None,
        http_client: httpx.Client | None = None,
        async_http_client: httpx.AsyncClient | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._search_provider = search_provider
        self._fetch_provider = fetch_provider
        self.timeout = checked_timeout(timeout)
        if max_queries < 1:
            raise InvalidRequestError(f"max_queries must be 1 or more, not {max_queries!r}")
        self.max_queries = max_queries
        self._meter = UsageMeter(budget)
        self._coalesce = coalesce
        self._cache = cache
        self._shared = SharedCalls(coalesce=coalesce, cache=cache)
        self._http_client = http_client
        self._async_http_client = async_http_client
        self._ssl_context = ssl_context
        self._searchers: ProviderRegistry[WebSearchProvider] = ProviderRegistry(
            "search", f"search_provider= or {DEFAULT_SEARCH_PROVIDER}"
        )
        self._fetchers: ProviderRegistry[WebFetchProvider] = ProviderRegistry(
            "fetch", f"fetch_provider= or {DEFAULT_FETCH_PROVIDER}"
        )

    @classmethod
    def from_env(cls, *, search_provider: str | None = None, **settings: Any) -> Self:
        """Return a runtime with the providers that the environment configures.

        Registered are, for every vendor whose key is set, that vendor's default provider, and
        the provider that is pinned by name (`search_provider` or `$DSH_WEB_SEARCH_PROVIDER`):
        a built-in one, or one that an installed package offers in the entry-point group
        `dsh_web.providers`. For fetching, `http` is always registered, beside the one that is
        pinned (`fetch_provider` or `$DSH_WEB_FETCH_PROVIDER`).

        Args:
            search_provider: See the class.
            **settings: The other arguments of the class.

        Raises:
            SelectionError: The pinned provider exists but cannot be loaded.
        """
        runtime = cls(search_provider=search_provider, **settings)
        pinned = runtime._configured_searcher()
        ids = dict.fromkeys([*vendors_with_key(), *([pinned] if pinned else [])])
        for provider_id in ids:
            provider = load_provider(provider_id)
            # Unknown ids stay unregistered; the call then says so, naming the id.
            if provider is not None:
                runtime.register_search_provider(provider)
        pinned = runtime._configured_fetcher()
        built_in = [provider.id for provider in BUILT_IN_FETCH]
        for provider_id in dict.fromkeys([*built_in, *([pinned] if pinned else [])]):
            fetcher = load_fetch_provider(provider_id)
            if fetcher is not None:
                runtime.register_fetch_provider(fetcher)
        return runtime

    # -- providers -----------------------------------------------------------------------------

    def register_search_provider(self, provider: WebSearchProvider) -> Callable[[], None]:
        """Add a search provider; return a function that takes it out again.

        Raises:
            SelectionError: `WEB_DUPLICATE_PROVIDER`.
        """
        return self._searchers.register(provider)

    def register_fetch_provider(self, provider: WebFetchProvider) -> Callable[[], None]:
        """Add a fetch provider; return a function that takes it out again.

        Raises:
            SelectionError: `WEB_DUPLICATE_PROVIDER`.
        """
        return self._fetchers.register(provider)

    def describe(self) -> list[ProviderStatus]:
        """Return the state of every registered provider, without network and without secrets."""
        searchers = self._searchers.describe(self._configured_searcher())
        return searchers + self._fetchers.describe(self._configured_fetcher())

    def search_provider_id(self) -> str:
        """Return the id of the provider that a search would use now.

        Raises:
            SelectionError: None can be chosen; see the selection table in the README.
        """
        return self._searchers.select(self._configured_searcher()).id

    def fetch_provider_id(self) -> str:
        """Return the id of the provider that a fetch would use now.

        Raises:
            SelectionError: None can be chosen; see the selection table in the README.
        """
        return self._fetchers.select(self._configured_fetcher()).id

    @property
    def usage(self) -> UsageTotal:
        """What all searches of this runtime have consumed so far."""
        return self._meter.total

    @property
    def budget(self) -> Budget:
        """What the searches of this runtime may consume."""
        return self._meter.budget

    # -- life ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Close idle connections. A later call simply opens new ones."""
        for driver in (self.__dict__.get("_sync"), self.__dict__.get("_async")):
            if driver is not None:
                driver.close()

    async def aclose(self) -> None:
        """Close idle connections; the same as `close`, which needs no event loop."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        ids = ", ".join(provider.id for provider in self._searchers.all()) or "none"
        return f"<{type(self).__name__} search providers: {ids}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._http_client is not None or self._async_http_client is not None:
            raise TypeError("a runtime with an HTTP client of yours cannot be pickled")
        if self._cache is not None:
            raise TypeError("a runtime with a cache of yours cannot be pickled")
        settings = {
            "search_provider": self._search_provider,
            "fetch_provider": self._fetch_provider,
            "timeout": self.timeout,
            "max_queries": self.max_queries,
            "budget": self._meter.budget,
            "coalesce": self._coalesce,
        }
        providers = (self._searchers.all(), self._fetchers.all())
        return functools.partial(_rebuild, type(self)), (settings, *providers)

    # -- inside --------------------------------------------------------------------------------

    def _configured_searcher(self) -> str | None:
        return self._search_provider or read_env(DEFAULT_SEARCH_PROVIDER)

    def _configured_fetcher(self) -> str | None:
        return self._fetch_provider or read_env(DEFAULT_FETCH_PROVIDER)

    def _sync_driver(self) -> SyncDriver:
        driver: SyncDriver | None = self.__dict__.get("_sync")
        if driver is None:
            if self._http_client is None and self._async_http_client is not None:
                raise TypeError(
                    "this runtime was given only an async_http_client: pass http_client too, "
                    "or use the async methods"
                )
            # Here, not at the top: the HTTP stack costs ten times what this module does.
            from ._io.sync_driver import SyncDriver

            made = SyncDriver(client=self._http_client, ssl_context=self._ssl_context)
            # Atomic, and free of a lock that a fork could leave held.
            driver = self.__dict__.setdefault("_sync", made)
        return driver

    def _async_driver(self) -> AsyncDriver:
        driver: AsyncDriver | None = self.__dict__.get("_async")
        if driver is None:
            from ._io.async_driver import AsyncDriver

            made = AsyncDriver(
                client=self._async_http_client,
                sync_client=self._http_client,
                ssl_context=self._ssl_context,
            )
            driver = self.__dict__.setdefault("_async", made)
        return driver

    def _effective(self, timeout: float | Unset | None) -> float | None:
        return self.timeout if isinstance(timeout, Unset) else checked_timeout(timeout)


def _rebuild(
    kind: type[RuntimeHolder],
    settings: dict[str, Any],
    searchers: list[WebSearchProvider],
    fetchers: list[WebFetchProvider],
) -> RuntimeHolder:
    runtime = kind(**settings)
    for searcher in searchers:
        runtime.register_search_provider(searcher)
    for fetcher in fetchers:
        runtime.register_fetch_provider(fetcher)
    return runtime
