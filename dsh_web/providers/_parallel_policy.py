"""Which pages Parallel may return: its source policy, never wider than what was asked.

Wire: docs.parallel.ai/search/source-policy (2026-11). An entry means a host with its subdomains,
`.gov` a suffix, `example.com/docs` a part of a site. A leading `www.` is dropped there.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from ..domains import ascii_host
from ..seam import Recency, WebSearchRequest

__all__ = ["first_day", "policy_fault", "source_policy", "strays"]

MOST_DOMAINS: Final = 200

_AGES: Final[dict[Recency, timedelta]] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    # The longest that a month or a year can be: a page must not be lost to the calendar.
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}


def first_day(recency: Recency, now: float) -> date:
    """Return the first day of the window that ends at `now` (Unix seconds), in UTC."""
    return (datetime.fromtimestamp(now, UTC) - _AGES[recency]).date()


def source_policy(request: WebSearchRequest) -> dict[str, Any]:
    """Return the policy that the filters stand for; empty for none. `recency` is not among them."""
    policy: dict[str, Any] = {}
    if request.include_domains:
        policy["include_domains"] = list(request.include_domains)
    if request.exclude_domains:
        policy["exclude_domains"] = list(request.exclude_domains)
    if request.published_after is not None:
        policy["after_date"] = request.published_after.isoformat()
    return policy


def policy_fault(request: WebSearchRequest, *, takes_paths: bool) -> str | None:
    """Return what Parallel would refuse, ignore or widen of the domains, with what to change."""
    if request.include_domains and request.exclude_domains:
        return (
            "include_domains and exclude_domains cannot be combined, Parallel would ignore "
            "the latter: use one of them"
        )
    domains = request.include_domains + request.exclude_domains
    if len(domains) > MOST_DOMAINS:
        return f"{len(domains)} domains are too many: Parallel takes at most {MOST_DOMAINS}"
    for domain in domains:
        host, slash, _ = domain.partition("/")
        if host.startswith("www."):
            return (
                f"{domain!r}: Parallel would drop the 'www.' and take the whole of "
                f"{host.removeprefix('www.')!r}: name other sites, or use another provider"
            )
        if "." not in host:
            return f"{domain!r} is no site: give '.{host}' for every site under that suffix"
        if slash and not takes_paths:
            return (
                f"{domain!r}: Parallel's mode 'turbo' takes no part of a site: name the site "
                f"{host!r}, or use the mode 'fast', 'basic' or 'advanced'"
            )
    return None


def strays(urls: Iterable[str], request: WebSearchRequest) -> tuple[str, ...]:
    """Return a warning if pages came that the domain filters rule out.

    Editions of the vendor's documentation contradict each other on parts of sites; where a server
    does not keep to a filter, a caller has to hear of it.
    """
    allowed, denied = request.include_domains, request.exclude_domains
    if not allowed and not denied:
        return ()
    count = sum(
        any(_is_within(url, site) for site in denied)
        or (bool(allowed) and not any(_is_within(url, site) for site in allowed))
        for url in urls
    )
    if not count:
        return ()
    pages = "1 source" if count == 1 else f"{count} sources"
    name = "include_domains" if allowed else "exclude_domains"
    return (f"{pages} that {name} rules out came back: Parallel did not keep to the filter",)


def _is_within(url: str, site: str) -> bool:
    try:
        parts = urlsplit(url)
        host = ascii_host((parts.hostname or "").rstrip("."))
    except (ValueError, UnicodeError):
        return False
    name, slash, path = site.partition("/")
    is_host = host.endswith(name) if name.startswith(".") else f".{host}".endswith(f".{name}")
    return is_host and (not slash or f"{parts.path}/".startswith(f"/{path}/"))
