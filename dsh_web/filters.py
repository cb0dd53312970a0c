"""The provider-neutral filters: which are set, and what a provider makes of them.

A filter is never dropped silently. One that the provider cannot honour raises
`WEB_UNSUPPORTED_FILTER` before anything is sent, or becomes a warning if the request says so; one
that it can only approximate always warns.
"""

from __future__ import annotations

from typing import Any, Final

from .errors import UnsupportedFilterError
from .seam import SupportedFilters, WebSearchRequest

__all__ = ["FILTERS", "apply_support", "set_filters", "without_filters"]

FILTERS: Final = (
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
)
"""The names of all neutral filters, in documentation order."""

_UNSET: Final[dict[str, Any]] = {
    name: WebSearchRequest.model_fields[name].get_default() for name in FILTERS
}


_NAMES: Final = frozenset(FILTERS)


def filter_key(name: str, value: Any) -> str:
    """Return the name under which providers declare support: `mode` is declared value by value."""
    return f"mode={value}" if name == "mode" else name


def set_filters(request: WebSearchRequest) -> tuple[str, ...]:
    """Return the names of the filters that `request` sets, in documentation order."""
    return tuple(name for name in FILTERS if getattr(request, name) != _UNSET[name])


def without_filters(request: WebSearchRequest, *, keep: tuple[str, ...] = ()) -> WebSearchRequest:
    """Return `request` with every filter unset but those named in `keep`."""
    unset = {name: value for name, value in _UNSET.items() if name not in keep}
    return request.model_copy(update=unset)


def apply_support(
    request: WebSearchRequest, supported: SupportedFilters, label: str, provider_id: str
) -> tuple[WebSearchRequest, tuple[str, ...]]:
    """Return the request without what the provider cannot honour, and the warnings that follow.

    Raises:
        UnsupportedFilterError: A set filter is not supported and `on_unsupported` is `"raise"`.
    """
    if _NAMES.isdisjoint(request.model_fields_set):
        return request, ()
    dropped: dict[str, Any] = {}
    warnings: list[str] = []
    for name in FILTERS:
        value = getattr(request, name)
        # `mode="web"` is what every search provider does anyway.
        if value == _UNSET[name] or (name, value) == ("mode", "web"):
            continue
        key = filter_key(name, value)
        support = supported.get(key)
        if support is None:
            message = f"{label} does not support the filter {key}"
            if request.on_unsupported == "raise":
                raise UnsupportedFilterError(
                    f"{message}: leave it out, choose another provider, "
                    'or set on_unsupported="warn"',
                    provider=provider_id,
                )
            dropped[name] = _UNSET[name]
            warnings.append(f"{message}; it was left out")
        elif support.level == "approximate":
            warnings.append(f"{label} only approximates the filter {key}: {support.note}")
    if dropped:
        request = request.model_copy(update=dropped)
    return request, tuple(warnings)
