"""A call's cancel token and time, and what its failures are called."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .cancel import CancelToken
from .errors import (
    WEB_FETCH_TIMEOUT,
    WEB_TIMEOUT,
    ProviderError,
    WebCancelledError,
    WebError,
    WebTimeoutError,
)
from .seam import WebSearchProvider
from .seam_extract import WebExtractProvider
from .seam_fetch import WebFetchProvider

if TYPE_CHECKING:
    from ._io.scope import AsyncScope, SyncScope

__all__ = ["CallLimits"]

Result = TypeVar("Result")


class CallLimits:
    """A call's cancel token and time, and what its failures are called."""

    def __init__(
        self,
        provider: WebSearchProvider | WebFetchProvider | WebExtractProvider,
        verb: str,
        cancel: CancelToken | None,
        timeout: float | None,
        own_timeout: float | None = None,
    ) -> None:
        self.provider = provider
        self.label = str(getattr(provider, "label", None) or provider.id)
        self._verb = verb
        self._cancel = cancel
        is_own = own_timeout is not None and (timeout is None or own_timeout < timeout)
        self._timeout = own_timeout if is_own else timeout
        self._timeout_code = WEB_FETCH_TIMEOUT if is_own else WEB_TIMEOUT

    def run(self, work: Callable[[SyncScope], Result]) -> Result:
        """Return what `work` returns under the limits."""
        from ._io.scope import sync_scope

        try:
            with sync_scope(self._timeout, self._cancel) as scope:
                scope.check()
                return work(scope)
        except Exception as error:
            self._raise(error)

    async def run_async(self, work: Callable[[AsyncScope], Awaitable[Result]]) -> Result:
        """Return what `work` returns; it guards itself with the scope that it is given."""
        from ._io.scope import AsyncScope

        try:
            scope = AsyncScope(self._timeout, self._cancel)
            scope.check()
            return await work(scope)
        except Exception as error:
            self._raise(error)

    def stream(
        self, work: Callable[[SyncScope], Generator[Any, None, Result]]
    ) -> Generator[Any, None, Result]:
        """Yield what `work` yields, and return what it returns, under the limits."""
        from ._io.scope import sync_scope

        try:
            with sync_scope(self._timeout, self._cancel) as scope:
                scope.check()
                return (yield from work(scope))
        except Exception as error:
            self._raise(error)

    async def stream_async(
        self, work: Callable[[AsyncScope], AsyncGenerator[Any, None]]
    ) -> AsyncGenerator[Any, None]:
        """Yield what `work` yields; it guards itself with the scope that it is given."""
        from ._io.scope import AsyncScope

        scope = AsyncScope(self._timeout, self._cancel)
        events = work(scope)
        try:
            scope.check()
            async for event in events:
                yield event
        except Exception as error:
            self._raise(error)
        finally:
            await events.aclose()

    def _raise(self, error: Exception) -> NoReturn:
        from ._io.scope import DeadlinePassed

        provider_id = self.provider.id
        # Whatever failed after the cancel failed a call that nobody wants any more.
        if self._cancel is not None and self._cancel.cancelled:
            raise WebCancelledError(
                f"{self.label} {self._verb} aborted", provider=provider_id
            ) from self._cancel.cause
        if isinstance(error, DeadlinePassed):
            raise WebTimeoutError(
                f"{self.label} {self._verb} timed out after {self._timeout:g} s",
                code=self._timeout_code,
                provider=provider_id,
            ) from None
        if isinstance(error, WebError):
            error.provider = error.provider or provider_id
            raise error
        # A provider's own slip over a server's answer; nothing but WebError leaves the seam.
        raise ProviderError(
            f"{self.label} {self._verb} failed: {type(error).__name__}: {error}",
            provider=provider_id,
        ) from error
