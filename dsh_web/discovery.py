"""Finding a provider by its id: built in, or offered by an installed package."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any, Final

from .config import read_env
from .errors import WEB_PROVIDER_CONFIGURED_UNAVAILABLE, SelectionError
from .providers import BUILT_IN, BUILT_IN_EXTRACT, BUILT_IN_FETCH, BuiltIn
from .seam import WebSearchProvider
from .seam_extract import WebExtractProvider
from .seam_fetch import WebFetchProvider

__all__ = [
    "ENTRY_POINT_GROUP",
    "load_extract_provider",
    "load_fetch_provider",
    "load_provider",
    "vendors_with_key",
]

ENTRY_POINT_GROUP: Final = "dsh_web.providers"
"""Entry points of this group name a class or factory that is called without arguments."""


def vendors_with_key() -> list[str]:
    """Return the ids of the default providers of all vendors whose key is in the environment."""
    return [
        built_in.id
        for built_in in BUILT_IN
        if built_in.key_variables and read_env(*built_in.key_variables)
    ]


def load_provider(provider_id: str) -> WebSearchProvider | None:
    """Return a new search provider for `provider_id`, or None if nothing offers one.

    Raises:
        SelectionError: An installed package offers it, but its provider cannot be made.
    """
    provider: WebSearchProvider | None = _load(provider_id, BUILT_IN)
    return provider


def load_fetch_provider(provider_id: str) -> WebFetchProvider | None:
    """Return a new fetch provider for `provider_id`, or None if nothing offers one.

    Raises:
        SelectionError: An installed package offers it, but its provider cannot be made.
    """
    provider: WebFetchProvider | None = _load(provider_id, BUILT_IN_FETCH)
    return provider


def load_extract_provider(provider_id: str) -> WebExtractProvider | None:
    """Return a new extract provider for `provider_id`, or None if nothing offers one.

    Raises:
        SelectionError: An installed package offers it, but its provider cannot be made.
    """
    provider: WebExtractProvider | None = _load(provider_id, BUILT_IN_EXTRACT)
    return provider


def _load(provider_id: str, built_ins: tuple[BuiltIn, ...]) -> Any:
    for built_in in built_ins:
        if built_in.id == provider_id:
            module, _, name = built_in.location.partition(":")
            return getattr(importlib.import_module(module), name)()
    for entry_point in entry_points(group=ENTRY_POINT_GROUP, name=provider_id):
        try:
            return entry_point.load()()
        except Exception as error:
            raise SelectionError(
                f"the provider {provider_id!r} of {entry_point.value} cannot be loaded: "
                f"{type(error).__name__}: {error}",
                code=WEB_PROVIDER_CONFIGURED_UNAVAILABLE,
                provider=provider_id,
            ) from error
    return None
