"""One extraction through the seam: its limits, its meter, and the order of its outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .cancel import CancelToken
from .errors import ProviderError, WebError
from .fetch_urls import read_page_url
from .flow import Flow
from .limits import CallLimits
from .metering import UsageMeter
from .seam_extract import (
    ExtractOutcome,
    WebExtractError,
    WebExtractProvider,
    WebExtractRequest,
    WebExtractResult,
)
from .seam_page import WebPage

if TYPE_CHECKING:
    from ._io.async_driver import AsyncDriver
    from ._io.scope import AsyncScope, SyncScope
    from ._io.sync_driver import SyncDriver

__all__ = ["ExtractCall", "in_order", "local_extraction"]

_MISSING = WebExtractError(message="the provider returned neither the page nor a reason")


class ExtractCall:
    """An extraction by one provider, ready to run.

    Args:
        provider: Who runs it.
        request: What is asked.
        cancel: Stops the call.
        timeout: Seconds; None: no limit.
        meter: Admits the call and counts what it consumes.
    """

    def __init__(
        self,
        provider: WebExtractProvider,
        request: WebExtractRequest,
        cancel: CancelToken | None,
        timeout: float | None,
        *,
        meter: UsageMeter,
    ) -> None:
        self._provider = provider
        self._asked = request
        self._limits = CallLimits(provider, "extract", cancel, timeout)
        self._meter = meter

    def run(self, driver: SyncDriver) -> WebExtractResult:
        """Perform the call, blocking."""

        def work(scope: SyncScope) -> WebExtractResult:
            self._meter.admit()
            try:
                result = driver.run(self._flow(), scope)
            except BaseException:
                self._meter.record_failure()
                raise
            return self._counted(result)

        return self._limits.run(work)

    async def run_async(self, driver: AsyncDriver) -> WebExtractResult:
        """Perform the call on the running event loop."""

        async def work(scope: AsyncScope) -> WebExtractResult:
            self._meter.admit()
            try:
                result = await driver.run(self._flow(), scope)
            except BaseException:
                self._meter.record_failure()
                raise
            return self._counted(result)

        return await self._limits.run_async(work)

    def _flow(self) -> Flow[WebExtractResult]:
        unique = tuple(dict.fromkeys(self._asked.urls))
        request = self._asked.model_copy(update={"urls": unique})
        result = yield from self._provider.extract_flow(request)
        if not isinstance(result, WebExtractResult):
            raise ProviderError(
                f"{self._limits.label} extract failed: its flow returned "
                f"{type(result).__name__}, not a WebExtractResult",
                provider=self._provider.id,
            )
        return result

    def _counted(self, result: WebExtractResult) -> WebExtractResult:
        self._meter.record(result.usage, searches=0)
        outcomes = in_order(self._asked.urls, result.outcomes)
        return result.model_copy(update={"outcomes": outcomes})


def in_order(urls: Iterable[str], outcomes: Iterable[ExtractOutcome]) -> tuple[ExtractOutcome, ...]:
    """Return one outcome for each of `urls`, in that order, whatever order they came in.

    An outcome belongs to the address that it repeats; else to the one that only its spelling tells
    apart (letter case of the host, a default port, a missing slash). Those that belong nowhere are
    left out, and an address without any gets an error that says so.
    """
    exact: dict[str, ExtractOutcome] = {}
    loose: dict[str, ExtractOutcome] = {}
    for outcome in outcomes:
        exact.setdefault(outcome.url, outcome)
        loose.setdefault(_normal(outcome.url), outcome)
    ordered = []
    for url in urls:
        found = exact.get(url) or loose.get(_normal(url))
        if found is None:
            found = ExtractOutcome(url=url, error=_MISSING)
        ordered.append(found if found.url == url else found.model_copy(update={"url": url}))
    return tuple(ordered)


def local_extraction(
    request: WebExtractRequest, outcomes: Iterable[WebPage | WebError], provider: str
) -> WebExtractResult:
    """Return what a fetch provider read, page by page, as the result of an extraction."""
    told: tuple[str, ...] = ()
    if request.objective or request.queries:
        told = (
            f"the fetch provider {provider!r} reads whole pages: objective and queries, which "
            "choose excerpts, were left aside",
        )
    return WebExtractResult(
        outcomes=tuple(
            ExtractOutcome(url=url, page=outcome)
            if isinstance(outcome, WebPage)
            else ExtractOutcome(url=url, error=WebExtractError.of(outcome))
            for url, outcome in zip(request.urls, outcomes, strict=True)
        ),
        provider=provider,
        warnings=told,
    )


def _normal(url: str) -> str:
    try:
        page = read_page_url(url)
    except WebError:
        return url
    return page.site + page.target.rstrip("/")
