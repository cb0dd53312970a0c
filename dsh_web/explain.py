"""What a call would send, found out without sending anything."""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from ._secret import MASK
from .errors import InvalidRequestError, UnsupportedFilterError
from .filters import filter_key, set_filters, without_filters
from .flow import HttpRequest, OpenStream, ReadClock, Resolve, Step
from .models import Frozen
from .seam import WebSearchProvider, WebSearchRequest

__all__ = ["Explanation", "explain_call"]

Fate: TypeAlias = Literal["exact", "approximate", "refused"]

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
    fates = _fates(provider, asked)
    lost = _lost_together(provider, sent)
    return Explanation(
        provider=provider.id,
        method=wire.method if wire else None,
        url=_masked(wire, _shown_url(wire.url)) if wire else None,
        headers=_shown_headers(wire) if wire else {},
        body=_shown_body(wire) if wire else None,
        filters={name: "refused" if name in lost else fate for name, fate in fates.items()},
        warnings=(*warnings, *lost.values()),
        estimated_cost_usd=_estimated_cost(provider, sent),
    )


def _first_request(provider: WebSearchProvider, request: WebSearchRequest) -> HttpRequest | None:
    """Return the first request of the flow; nothing that it asks for is really done."""
    try:
        flow = provider.search_flow(request)
        try:
            step: Step = next(flow)
            for _ in range(_MOST_STEPS):
                if isinstance(step, HttpRequest):
                    return step
                if isinstance(step, OpenStream):
                    return step.request
                step = flow.send(_stand_in(step))
        finally:
            flow.close()
    except InvalidRequestError as error:
        error.provider = error.provider or provider.id
        raise
    except Exception:
        # Its end, or a stand-in that it cannot work with: what it would send stays unknown.
        return None
    return None


def _stand_in(step: Step) -> Any:
    """Return what a flow can go on with instead of a step's outcome."""
    if isinstance(step, ReadClock):
        return time.time()
    # A key, in all likelihood.
    return MASK if isinstance(step, Resolve) else None


def _lost_together(provider: WebSearchProvider, sent: WebSearchRequest) -> dict[str, str]:
    """Return the filters that the provider honours alone but not beside the mode, and a warning."""
    lost: dict[str, str] = {}
    if sent.mode is None:
        return lost
    for name in set_filters(sent):
        if name == "mode":
            continue
        alone = without_filters(sent, keep=(name, "mode"))
        alone = alone.model_copy(update={"on_unsupported": "raise"})
        try:
            _first_request(provider, alone)
        except UnsupportedFilterError as error:
            lost[name] = f"{error.message.partition(': ')[0]}; it was left out"
        except InvalidRequestError:
            continue
    return lost


def _estimated_cost(provider: WebSearchProvider, sent: WebSearchRequest) -> float | None:
    estimate = getattr(provider, "estimated_cost", None)
    cost: Any = None
    with contextlib.suppress(Exception):  # a stranger's slip; the rest can still be shown
        cost = estimate(sent) if callable(estimate) else None
    is_number = isinstance(cost, (int, float)) and not isinstance(cost, bool)
    return float(cost) if is_number and math.isfinite(cost) else None


# What strangers' providers may put in the open instead of into a `Secret`.
_SECRET_HEADER: Final = re.compile(r"authorization|cookie|token|secret|password|key", re.I)
_SECRET_FIELD: Final = re.compile(
    r"(?:^|[_-])(?:api[_-]?key|secret|password|authorization)$|^(?:access|auth)[_-]?token$", re.I
)
_SECRET_PARAMETER: Final = re.compile(r"((?:^|&)[^=&]*(?:key|token|secret|password)=)[^&]*", re.I)


def _shown_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = _SECRET_PARAMETER.sub(rf"\1{MASK}", parts.query)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))


def _shown_headers(wire: HttpRequest) -> dict[str, str]:
    shown = {
        name: MASK if _SECRET_HEADER.search(name) else str(_masked(wire, value))
        for name, value in wire.headers.items()
    }
    shown |= dict.fromkeys(wire.secret_headers, MASK)
    if wire.bearer is not None:
        shown["authorization"] = f"Bearer {MASK}"
    return shown


def _shown_body(wire: HttpRequest) -> Any:
    try:
        body = json.loads(wire.body) if wire.body else None
    except (ValueError, RecursionError):
        body = wire.body.decode("utf-8", "replace")
    return _masked(wire, _without_secret_fields(body))


def _without_secret_fields(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secret_fields(member) for member in value]
    if isinstance(value, dict):
        return {
            name: MASK
            if _SECRET_FIELD.search(name) and isinstance(member, str)
            else _without_secret_fields(member)
            for name, member in value.items()
        }
    return value


def _masked(wire: HttpRequest, value: Any) -> Any:
    for secret in (wire.bearer, *wire.secret_headers.values()):
        if secret is not None:
            value = secret.mask_value(value)
    return value


def _fates(provider: WebSearchProvider, asked: WebSearchRequest) -> dict[str, Fate]:
    supported = getattr(provider, "supported_filters", None) or {}
    fates: dict[str, Fate] = {}
    for name in set_filters(asked):
        value = getattr(asked, name)
        support = supported.get(filter_key(name, value))
        is_default = (name, value) == ("mode", "web")
        fates[name] = "exact" if is_default else (support.level if support else "refused")
    return fates
