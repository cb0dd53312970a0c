"""Which providers exist and which one a call gets: pure, and blind to registration order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Literal, Protocol, TypedDict, TypeVar

from .errors import (
    WEB_DUPLICATE_PROVIDER,
    WEB_PROVIDER_AMBIGUOUS,
    WEB_PROVIDER_CONFIGURED_MISSING,
    WEB_PROVIDER_CONFIGURED_UNAVAILABLE,
    WEB_PROVIDER_UNAVAILABLE,
    SelectionError,
)

__all__ = ["ProviderRegistry", "ProviderStatus"]


class AnyProvider(Protocol):
    """What search and fetch providers have in common."""

    @property
    def id(self) -> str: ...

    def available(self) -> bool: ...


class ProviderStatus(TypedDict):
    """What `WebRuntime.describe` says of one registered provider; holds no secret."""

    capability: Literal["search", "fetch", "extract"]
    id: str
    available: bool
    configured: bool
    """True if this id is pinned."""
    reason: str | None
    """Why it is not available."""


Provider = TypeVar("Provider", bound=AnyProvider)


class ProviderRegistry(Generic[Provider]):
    """The providers of one capability, by id.

    Args:
        capability: `search`, `fetch` or `extract`, for messages.
        setting: What a user sets to pin a provider, for messages.
    """

    def __init__(self, capability: Literal["search", "fetch", "extract"], setting: str) -> None:
        self._capability = capability
        self._setting = setting
        self._providers: dict[str, Provider] = {}
        self._lock = threading.Lock()

    def register(self, provider: Provider) -> Callable[[], None]:
        """Add `provider` and return a function that removes this registration, and only this one.

        Raises:
            SelectionError: `WEB_DUPLICATE_PROVIDER`, the id is taken.
            TypeError: `provider` has no text id.
        """
        provider_id = getattr(provider, "id", None)
        if not isinstance(provider_id, str) or not provider_id:
            raise TypeError(f"{provider!r} has no id: a provider needs a non-empty text `id`")
        with self._lock:
            if provider_id in self._providers:
                raise SelectionError(
                    f"a {self._capability} provider with the id {provider_id!r} is already "
                    "registered: dispose of that registration first, or use another id",
                    code=WEB_DUPLICATE_PROVIDER,
                    provider=provider_id,
                )
            self._providers[provider_id] = provider
        is_registered = True

        def dispose() -> None:
            nonlocal is_registered
            with self._lock:
                # A later registration under the same id is not ours to remove, even if it is the
                # same object again.
                if is_registered:
                    is_registered = False
                    self._providers.pop(provider_id, None)

        return dispose

    def select(self, configured: str | None) -> Provider:
        """Return the provider for a call that runs now.

        Raises:
            SelectionError: No single provider fits; see the selection table in the README.
        """
        if configured is not None:
            return self._configured(configured)
        available = self.available()
        if len(available) == 1:
            return available[0]
        if available:
            ids = ", ".join(provider.id for provider in available)
            raise SelectionError(
                f"several {self._capability} providers are available ({ids}): "
                f"choose one with {self._setting}",
                code=WEB_PROVIDER_AMBIGUOUS,
            )
        raise SelectionError(
            f"no {self._capability} provider is available{self._reasons()}",
            code=WEB_PROVIDER_UNAVAILABLE,
        )

    def available(self) -> list[Provider]:
        """Return the available providers, sorted by id."""
        return [provider for provider in self.all() if is_available(provider)]

    def all(self) -> list[Provider]:
        """Return every registered provider, sorted by id."""
        with self._lock:
            return [self._providers[provider_id] for provider_id in sorted(self._providers)]

    def describe(self, configured: str | None) -> list[ProviderStatus]:
        """Return the state of every provider, sorted by id; `configured` is the pinned id."""
        statuses = []
        for provider in self.all():
            available = is_available(provider)
            statuses.append(
                ProviderStatus(
                    capability=self._capability,
                    id=provider.id,
                    available=available,
                    configured=provider.id == configured,
                    reason=None if available else unavailable_reason(provider),
                )
            )
        return statuses

    def _configured(self, provider_id: str) -> Provider:
        with self._lock:
            provider = self._providers.get(provider_id)
            known = ", ".join(sorted(self._providers)) or "none"
        if provider is None:
            raise SelectionError(
                f"the configured {self._capability} provider {provider_id!r} is not registered "
                f"(registered: {known})",
                code=WEB_PROVIDER_CONFIGURED_MISSING,
                provider=provider_id,
            )
        if not is_available(provider):
            raise SelectionError(
                f"the configured {self._capability} provider {provider_id!r} is not available: "
                f"{unavailable_reason(provider)}",
                code=WEB_PROVIDER_CONFIGURED_UNAVAILABLE,
                provider=provider_id,
            )
        return provider

    def _reasons(self) -> str:
        reasons = [f"{p.id}: {unavailable_reason(p)}" for p in self.all()]
        if reasons:
            return f" ({'; '.join(reasons)})"
        hint = (
            "set PERPLEXITY_API_KEY or PARALLEL_API_KEY, or "
            if self._capability == "search"
            else ""
        )
        return f": none is registered; {hint}register one"


def is_available(provider: AnyProvider) -> bool:
    """Return whether `provider` is available; one that cannot even say so is not."""
    try:
        return bool(provider.available())
    except Exception:
        # Selection has to go on: one broken provider must not stop the others from running.
        return False


def unavailable_reason(provider: AnyProvider) -> str:
    """Return why `provider` is not available, in its own words if it has any."""
    explain = getattr(provider, "unavailable_reason", None)
    try:
        reason = explain() if callable(explain) else None
        provider.available()
    except Exception as error:
        return f"asking it raised {type(error).__name__}: {error}"
    return reason or "it reports itself as not available"
