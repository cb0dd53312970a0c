"""When a kept response may stand for a request: HTTP's own rules (RFC 9111), as `hishel` has them.

Nothing is decided here that hishel decides. It is told what it leaves to its caller: times in the
reader's own clock, that this is a private cache, and that a page which says nothing about how long
it holds has to be asked about. This module needs the extra `cache`; `page_cache` imports it late.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate, mktime_tz, parsedate_tz
from typing import Any, Final
from uuid import uuid4

import hishel

from .flow import HttpHead

__all__ = ["Asking", "Kept"]

_OPTIONS: Final[hishel.CacheOptions] = {
    # Nothing that a page sends to this reader goes to another one.
    "shared": False,
    "supported_methods": ["GET"],
    "allow_stale": False,
}
_KEPT = (
    "cache-control",
    "content-length",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "vary",
)
_VALIDATORS = ("etag", "last-modified")
_LATEST = 2**32
"""Unix time in seconds, in the year 2106; a later date is as good as this one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A response that is kept, and what it answered."""

    url: str
    sent: Mapping[str, str]
    """The headers of the request, without those that belong to the connection."""
    status: int
    headers: Mapping[str, str] = field(repr=False)
    """What reading and judging it takes, with times in this machine's clock; no cookies."""
    body: bytes = field(default=b"", repr=False)
    """Whole and decoded; of a redirect empty, since nobody reads it."""

    @property
    def head(self) -> HttpHead:
        """The head, as if it had just arrived."""
        return HttpHead(self.status, self.headers)

    def as_data(self) -> dict[str, Any]:
        """Return plain data for a store: a dict of texts, numbers, bytes and dicts of texts."""
        return {
            "url": self.url,
            "sent": dict(self.sent),
            "status": self.status,
            "headers": dict(self.headers),
            "body": self.body,
        }

    @classmethod
    def of_data(cls, data: object) -> Kept | None:
        """Return what `as_data` made, or None for anything else that a store may hold."""
        if not isinstance(data, dict) or set(data) != set(cls.__slots__):
            return None
        is_sound = (
            isinstance(data["url"], str)
            and type(data["status"]) is int
            and isinstance(data["body"], bytes)
            and _is_texts(data["sent"])
            and _is_texts(data["headers"])
        )
        return cls(**data) if is_sound else None


class Asking:
    """One GET request, from looking for a kept answer to judging the one that arrived.

    Args:
        url: What is asked for.
        sent: The headers of the request, names in lower case.
        kept: What is kept of an earlier answer to it, or None.
    """

    def __init__(self, url: str, sent: Mapping[str, str], kept: Kept | None) -> None:
        self.url = url
        self.sent = sent
        self.kept = kept
        self._asked_at = time.time()
        request = hishel.Request("GET", url, hishel.Headers(sent))
        entries = []
        if kept is not None:
            entries.append(hishel.Entry(uuid4(), _request(kept), _response(kept)))
        self._state = hishel.IdleClient(options=_OPTIONS).next(request, entries)

    @property
    def fresh(self) -> Kept | None:
        """What is kept, if it may be used without asking anybody."""
        return self.kept if isinstance(self._state, hishel.FromCache) else None

    @property
    def conditions(self) -> dict[str, str]:
        """Headers that ask the server whether what is kept still holds; empty if nothing can."""
        if not isinstance(self._state, hishel.NeedRevalidation):
            return {}
        asked = self._state.request.headers
        return {name: asked[name] for name in asked if name not in self.sent}

    def refreshed(self, head: HttpHead) -> Kept | None:
        """Return what is kept with the news of a 304, or None if the 304 is not about it."""
        if self.kept is None or not self.conditions:
            return None
        state = self._next(head)
        if not isinstance(state, hishel.NeedToBeUpdated):
            return None
        headers = _worth(state.updating_entries[-1].response, self.kept.headers)
        return None if headers is None else replace(self.kept, headers=headers)

    def to_keep(self, head: HttpHead) -> Kept | None:
        """Return what to keep of an answer once its body is whole, or None to keep nothing."""
        state = self._next(head)
        if not isinstance(state, hishel.StoreAndUse):
            return None
        headers = _worth(state.response, head.headers)
        if headers is None:
            return None
        return self.worth_keeping(Kept(self.url, self.sent, head.status, headers))

    def worth_keeping(self, kept: Kept) -> Kept | None:
        """Return `kept` as it can be kept, or None if it would never answer anything."""
        headers = dict(kept.headers)
        if "*" in headers.get("vary", ""):
            return None
        for name in _VALIDATORS:
            # It is sent back to the server as it is.
            if not (headers.get(name, "").isascii() and headers.get(name, "").isprintable()):
                del headers[name]
        # Without a word on how long it holds hishel would guess by the age of the page.
        headers.setdefault("expires", headers["date"])
        kept = replace(kept, headers=headers)
        state = hishel.CacheMiss(options=_OPTIONS, request=_request(kept)).next(_response(kept))
        if not isinstance(state, hishel.StoreAndUse):
            return None
        again = Asking(self.url, self.sent, kept)
        return kept if again.fresh is not None or again.conditions else None

    def afresh(self) -> Asking:
        """Return the same request as if nothing were kept for it."""
        return Asking(self.url, self.sent, None)

    def _next(self, head: HttpHead) -> hishel.AnyState:
        assert not isinstance(self._state, hishel.FromCache), "what is fresh is not asked for"
        headers = _in_our_time(head, self._asked_at)
        state: hishel.AnyState = self._state.next(
            hishel.Response(head.status, hishel.Headers(headers))
        )
        while isinstance(state, hishel.InvalidateEntries):
            # There is one entry at most; the cache replaces or drops it by what comes next.
            state = state.next()
        return state


def _worth(response: hishel.Response, came: Mapping[str, str]) -> dict[str, str] | None:
    """Return the headers to keep; None if one that came must not be kept (`no-cache="..."`).

    Without what makes it the page that it is, the page is not kept either.
    """
    headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
    is_complete = all(name in headers for name in _KEPT if name in came or name == "date")
    return headers if is_complete else None


def _in_our_time(head: HttpHead, asked_at: float) -> dict[str, str]:
    """Return the headers of an answer with its times in this machine's clock.

    hishel counts the age of a response from its `date` and knows neither `age` nor a clock that
    goes wrong. So `date` becomes the time by our clock at which the answer was made (RFC 9111,
    4.2.3), and `expires` moves along, which leaves the time that it holds as the server said.
    """
    headers = dict(head.headers)
    received_at = head.received_at or time.time()
    made_at = _unix_time(headers.get("date"))
    if made_at is None:
        made_at = received_at
    apparent_age = max(0.0, received_at - made_at)
    age = headers.pop("age", "").strip()
    told_age = min(int(age[:12]), _LATEST) if age.isdecimal() else 0
    delay = max(0.0, received_at - asked_at)
    date = received_at - max(apparent_age, told_age + delay)
    headers["date"] = _http_date(date)
    expires = _unix_time(headers.get("expires"))
    if expires is not None:
        headers["expires"] = _http_date(date + expires - made_at)
    return headers


def _unix_time(date: str | None) -> float | None:
    try:
        parts = parsedate_tz(date or "")
        return None if parts is None else float(mktime_tz(parts))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None  # a server can write anything here, such as the year 99999


def _http_date(seconds: float) -> str:
    return formatdate(min(max(seconds, 0), _LATEST) // 1, usegmt=True)


def _request(kept: Kept) -> hishel.Request:
    return hishel.Request("GET", kept.url, hishel.Headers(kept.sent))


def _response(kept: Kept) -> hishel.Response:
    return hishel.Response(kept.status, hishel.Headers(kept.headers))


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(text, str) for item in value.items() for text in item
    )
