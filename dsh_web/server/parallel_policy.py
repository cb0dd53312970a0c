"""Parallel's source policy: which pages a search may return. Pure; it really filters."""

from __future__ import annotations

import datetime as dt
import posixpath
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from dsh_web.server.corpus import Document
from dsh_web.server.fields import Fields
from dsh_web.server.settings import UndatedPages

MOST_DOMAINS: Final = 200
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_BAD: Final = re.compile(r"[\s?#@*]|://|:\d")


@dataclass(frozen=True)
class SourcePolicy:
    """Which documents may be returned; the default lets every one pass."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    after: str | None = None
    """Published on or after this ISO day."""
    undated: UndatedPages = "kept"
    """What becomes of pages without a date where there is an `after`."""

    def accept(self, document: Document) -> bool:
        """True if the document may be returned; an allow list switches the deny list off."""
        if self.include:
            if not any(_matches(document.url, entry) for entry in self.include):
                return False
        elif any(_matches(document.url, entry) for entry in self.exclude):
            return False
        if self.after is None:
            return True
        if document.published is None:
            return self.undated == "kept"
        return document.published >= self.after


def read_policy(settings: Fields | None, mode: str, undated: UndatedPages) -> SourcePolicy:
    """Return the policy of a request; what is wrong with it is noted."""
    policy = settings.object("source_policy") if settings else None
    if policy is None:
        return SourcePolicy(undated=undated)
    include = policy.texts("include_domains", most_items=MOST_DOMAINS, least=1)
    exclude = policy.texts("exclude_domains", most_items=MOST_DOMAINS, least=1)
    if len(include) + len(exclude) > MOST_DOMAINS:
        policy.note("include_domains", f"at most {MOST_DOMAINS} domains in all", "too_long")
    for name, entries in (("include_domains", include), ("exclude_domains", exclude)):
        for position, entry in enumerate(entries):
            if _BAD.search(entry):
                policy.note(name, "not a domain, suffix or path prefix", "value_error", position)
            elif "/" in entry and mode == "turbo":
                policy.note(name, "paths are not supported in turbo mode", "value_error", position)
    after = policy.text("after_date")
    if after is not None and not _is_day(after):
        policy.note("after_date", "Input should be a valid date, YYYY-MM-DD", "date_type")
    return SourcePolicy(tuple(map(_entry, include)), tuple(map(_entry, exclude)), after, undated)


def _entry(text: str) -> str:
    host, slash, path = text.partition("/")
    return host.lower().removeprefix("www.") + slash + path.rstrip("/")


def _is_day(text: str) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def _matches(url: str, entry: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    domain, slash, path = entry.partition("/")
    if domain.startswith("."):
        is_host = host.endswith(domain)
    else:
        is_host = host == domain or host.endswith(f".{domain}")
    if not is_host or not slash or not path:
        return is_host
    # At the border of a segment, letter case counts, dot segments do not.
    given = posixpath.normpath(parts.path or "/").lstrip("/")
    return given == path or given.startswith(f"{path}/")
