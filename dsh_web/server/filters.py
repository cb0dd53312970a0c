"""The search filters that all three APIs share: domains and dates. Pure; they really filter."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from dsh_web.server.api_errors import ApiError
from dsh_web.server.corpus import Document
from dsh_web.server.fields import Fields

RECENCY_WORDS = ("hour", "day", "week", "month", "year")
DATE_FIELDS = (
    "search_after_date_filter",
    "search_before_date_filter",
    "last_updated_after_filter",
    "last_updated_before_filter",
)
FILTER_FIELDS = ("search_domain_filter", "search_recency_filter", *DATE_FIELDS)
MOST_DOMAINS = 20
MOST_DOMAIN_CHARS = 253

_AGES = {
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(weeks=1),
    "month": dt.timedelta(days=31),
    "year": dt.timedelta(days=366),
}
_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


@dataclass(frozen=True)
class Filters:
    """Which documents a search may return; the default lets every document pass.

    The ends of date ranges are included. A document without a publication date fails any
    publication range; for recency its last update stands in.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    published_after: str | None = None
    published_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    newest_since: str | None = None

    def accept(self, document: Document) -> bool:
        """True if the document may be returned."""
        if any(_matches_domain(document.url, entry) for entry in self.denied):
            return False
        if self.allowed and not any(_matches_domain(document.url, e) for e in self.allowed):
            return False
        newest = document.published or document.updated
        return (
            _is_within(document.published, self.published_after, self.published_before)
            and _is_within(document.updated, self.updated_after, self.updated_before)
            and _is_within(newest, self.newest_since, None)
        )


def read_filters(
    fields: Fields, raise_if_invalid: Callable[[], None], now: dt.datetime | None = None
) -> Filters:
    """Return the filters in a request.

    Args:
        fields: The object that holds the filter fields.
        raise_if_invalid: Called once types and ranges are known, before meanings are looked at.
        now: The moment that recency counts back from; default is the clock.

    Raises:
        ApiError: 400 for an unreadable date or domain, or recency together with publication dates.
    """
    domains = fields.texts("search_domain_filter", most_items=MOST_DOMAINS, most=MOST_DOMAIN_CHARS)
    recency = fields.word("search_recency_filter", RECENCY_WORDS)
    texts = [fields.text(name) for name in DATE_FIELDS]
    raise_if_invalid()
    dates = [_iso_date(name, text) for name, text in zip(DATE_FIELDS, texts, strict=True)]
    if recency is not None and (dates[0] or dates[1]):
        raise ApiError(
            400,
            "search_recency_filter cannot be used together with search_after_date_filter or"
            " search_before_date_filter",
            kind="invalid_parameter",
            param="search_recency_filter",
        )
    since = None
    if recency is not None:
        since = ((now or dt.datetime.now(dt.UTC)) - _AGES[recency]).date().isoformat()
    allowed, denied = _split_domains(domains)
    return Filters(allowed, denied, dates[0], dates[1], dates[2], dates[3], newest_since=since)


def _split_domains(entries: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    allowed: list[str] = []
    denied: list[str] = []
    for entry in entries:
        text = entry.strip().lower()
        target = denied if text.startswith("-") else allowed
        # The documentation asks to leave scheme and `www.` out; an older guide shows both.
        name = re.sub(r"^(https?://)?(www\.)?", "", text.removeprefix("-")).rstrip("/")
        if not name or any(char.isspace() for char in name):
            raise ApiError(
                400,
                f"search_domain_filter holds {entry!r}, which is not a domain",
                kind="invalid_search_domain_filter",
                param="search_domain_filter",
            )
        target.append(name)
    return tuple(allowed), tuple(denied)


def _matches_domain(url: str, entry: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    domain, _, path = entry.partition("/")
    if domain.startswith("."):
        is_host = host.endswith(domain)
    else:
        is_host = host == domain or host.endswith(f".{domain}")
    if not is_host or not path:
        return is_host
    wanted = path.split("/")
    return parts.path.lower().strip("/").split("/")[: len(wanted)] == wanted


def _iso_date(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    match = _DATE.fullmatch(text.strip())
    try:
        if match is None:
            # ISO dates are undocumented, but a live probe of the service accepted them.
            return dt.date.fromisoformat(text.strip()).isoformat()
        return dt.date(int(match[3]), int(match[1]), int(match[2])).isoformat()
    except ValueError:
        raise ApiError(
            400,
            f"{name} is {text[:40]!r}; the format is MM/DD/YYYY",
            kind="invalid_date_format",
            param=name,
        ) from None


def _is_within(date: str | None, earliest: str | None, latest: str | None) -> bool:
    if earliest is None and latest is None:
        return True
    # ISO dates sort as text.
    return date is not None and (earliest or "") <= date <= (latest or "9999-99-99")
