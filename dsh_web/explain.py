"""What a call would send, found out without sending anything."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from pydantic import Field

from .errors import InvalidRequestError
from .filters import filter_key, set_filters
from .flow import HttpRequest, OpenStream, Resolve, Step
from .seam import Frozen, WebSearchProvider, WebSearchRequest

__all__ = ["Explanation", "explain_call"]

Fate: TypeAlias = Literal["exact", "approximate", "refused"]

MASK = "[masked]"
_MOST_STEPS = 5


class Explanation(Frozen):
    """A search that was not made."""

    provider: str
    """Id of the provider that would run."""
    method: str | None = None
    """None, like the next three, if the provider sends nothing that can be foretold."""
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    """Secrets are masked."""
    body: Any = None
    """The request body: decoded JSON, or text."""
    filters: dict[str, Fate] = Field(default_factory=dict)
    """Each filter that is set, and what becomes of it."""
    warnings: tuple[str, ...] = ()
    """What the result would warn of."""
    estimated_cost_usd: float | None = None
    """US dollars, from a price table; None if nobody can tell."""


def explain_call(
    provider: WebSearchProvider,
    asked: WebSearchRequest,
    sent: WebSearchRequest,
    warnings: tuple[str, ...],
) -> Explanation:
    """Return what `provider` would do with the request.

    Args:
        provider: Who would run.
        asked: The request as the caller made it.
        sent: The same without the filters that the provider cannot honour.
        warnings: What the call would warn of.

    Raises:
        InvalidRequestError: The provider would refuse the request.
    """
    wire = _first_request(provider, sent)
    estimate = getattr(provider, "estimated_cost", None)
    return Explanation(
        provider=provider.id,
        method=wire.method if wire else None,
        url=wire.url if wire else None,
        headers=_shown_headers(wire) if wire else {},
        body=_shown_body(wire) if wire else None,
        filters=_fates(provider, asked),
        warnings=warnings,
        estimated_cost_usd=estimate(sent) if callable(estimate) else None,
    )


def _first_request(provider: WebSearchProvider, request: WebSearchRequest) -> HttpRequest | None:
    """Return the first request of the flow; nothing that it asks for is really done."""
    flow = provider.search_flow(request)
    try:
        step: Step = next(flow)
        for _ in range(_MOST_STEPS):
            if isinstance(step, HttpRequest):
                return step
            if isinstance(step, OpenStream):
                return step.request
            # A key, in all likelihood: the flow goes on with a stand-in for it.
            step = flow.send(MASK if isinstance(step, Resolve) else None)
    except (StopIteration, InvalidRequestError) as stop:
        if isinstance(stop, InvalidRequestError):
            raise
    finally:
        flow.close()
    return None


def _shown_headers(wire: HttpRequest) -> dict[str, str]:
    shown = dict(wire.headers) | dict.fromkeys(wire.secret_headers, MASK)
    if wire.bearer is not None:
        shown["authorization"] = f"Bearer {MASK}"
    return shown


def _shown_body(wire: HttpRequest) -> Any:
    try:
        return json.loads(wire.body) if wire.body else None
    except ValueError:
        return wire.body.decode("utf-8", "replace")


def _fates(provider: WebSearchProvider, asked: WebSearchRequest) -> dict[str, Fate]:
    supported = getattr(provider, "supported_filters", None) or {}
    fates: dict[str, Fate] = {}
    for name in set_filters(asked):
        value = getattr(asked, name)
        support = supported.get(filter_key(name, value))
        is_default = (name, value) == ("mode", "web")
        fates[name] = "exact" if is_default else (support.level if support else "refused")
    return fates
