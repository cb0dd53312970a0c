"""One fetch through the seam, and one that ends as a page in Markdown."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from .cancel import CancelToken
from .errors import ProviderError
from .flow import Flow, Resolve
from .limits import CallLimits
from .seam_fetch import WebFetchProvider, WebFetchRequest, WebFetchResult
from .seam_page import WebPage

if TYPE_CHECKING:
    from ._io.async_driver import AsyncDriver
    from ._io.scope import AsyncScope, SyncScope
    from ._io.sync_driver import SyncDriver

__all__ = ["FetchCall", "PageCall"]


class _FetcherCall:
    """A call of one fetch provider.

    Args:
        provider: Who runs it. A `timeout` of its own (seconds, or None) holds if it is shorter.
        request: What is asked.
        cancel: Stops the call.
        timeout: Seconds; None: no limit.
    """

    def __init__(
        self,
        provider: WebFetchProvider,
        request: WebFetchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
    ) -> None:
        self._request = request
        self._provider = provider
        own_timeout = getattr(provider, "timeout", None)
        if not isinstance(own_timeout, (int, float)):  # or something else by that name
            own_timeout = None
        self._limits = CallLimits(provider, "fetch", cancel, timeout, own_timeout)

    def _fetched(self) -> Flow[WebFetchResult]:
        result = yield from self._provider.fetch_flow(self._request)
        if not isinstance(result, WebFetchResult):
            raise ProviderError(
                f"{self._limits.label} fetch failed: its flow returned "
                f"{type(result).__name__}, not a WebFetchResult",
                provider=self._provider.id,
            )
        return result


class FetchCall(_FetcherCall):
    """A fetch by one provider."""

    def run(self, driver: SyncDriver) -> WebFetchResult:
        """Perform the call, blocking."""
        return self._limits.run(lambda scope: driver.run(self._fetched(), scope))

    async def run_async(self, driver: AsyncDriver) -> WebFetchResult:
        """Perform the call on the running event loop."""
        return await self._limits.run_async(lambda scope: driver.run(self._fetched(), scope))


class PageCall(_FetcherCall):
    """A fetch by one provider, and the conversion of what was fetched, under the same limits.

    Args:
        provider: See `FetchCall`.
        request: See `FetchCall`.
        cancel: See `FetchCall`.
        timeout: Seconds for fetch and conversion together; None: no limit.
        convert: Makes a page of what was fetched. It runs off the calling thread, so that a
            cancel or a deadline leaves it behind instead of waiting for it.
    """

    def __init__(
        self,
        provider: WebFetchProvider,
        request: WebFetchRequest,
        cancel: CancelToken | None,
        timeout: float | None,
        convert: Callable[[WebFetchResult], WebPage],
    ) -> None:
        super().__init__(provider, request, cancel, timeout)
        self._convert = convert

    def run(self, driver: SyncDriver) -> WebPage:
        """Perform the call, blocking."""

        def work(scope: SyncScope) -> WebPage:
            # Two flows: the connection is given back before the conversion begins.
            fetched = driver.run(self._fetched(), scope)
            return driver.run(self._converted(fetched), scope)

        return self._limits.run(work)

    async def run_async(self, driver: AsyncDriver) -> WebPage:
        """Perform the call on the running event loop."""

        async def work(scope: AsyncScope) -> WebPage:
            fetched = await driver.run(self._fetched(), scope)
            return await driver.run(self._converted(fetched), scope)

        return await self._limits.run_async(work)

    def _converted(self, fetched: WebFetchResult) -> Flow[WebPage]:
        page: WebPage = yield Resolve(functools.partial(self._convert, fetched))
        return page
