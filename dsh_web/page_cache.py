"""Keeping fetched pages, for as long as the pages themselves allow."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .errors import InvalidRequestError

if TYPE_CHECKING:
    from .page_rules import Asking, Kept

__all__ = ["PageCache"]

Outcome = TypeVar("Outcome")


class PageCache:
    """Pages that were fetched, used again by the rules of HTTP (RFC 9111): `Cache-Control` & co.

    Give it to `HttpFetchProvider(cache=...)`; several providers can share it. A page is kept if it
    says how long it holds, or how to ask whether it still does. It is a private cache, like that
    of a browser. Share it only where the same certificates are trusted. Safe to use from any
    thread and event loop, and after a fork; pickling it takes the store along, but not the pages
    in memory.

    Args:
        store: Where the pages are kept: any mapping of texts to plain data (a dict of texts,
            numbers, bytes and dicts of texts), for example of `cachetools` or `diskcache`. Access
            to it is serialized and runs off the calling thread, since it may block. One that
            raises is left aside: the fetch runs, and `fault` tells. Default: in memory, the pages
            that were used last.
        max_entries: Pages to keep in memory. A store of your own has limits of its own.
        max_bytes: Bytes of all bodies together to keep in memory.

    Raises:
        InvalidRequestError: The extra `cache` is not installed, `store` is no mapping, or a limit
            is not a whole number of 1 or more.
    """

    def __init__(
        self,
        store: MutableMapping[str, Any] | None = None,
        *,
        max_entries: int = 1000,
        max_bytes: int = 100_000_000,
    ) -> None:
        _rules()
        _check_limit("max_entries", max_entries)
        _check_limit("max_bytes", max_bytes)
        if store is not None and not all(hasattr(store, name) for name in _MAPPING):
            raise InvalidRequestError(
                f"store must be a mutable mapping, not {type(store).__name__}"
            )
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self._store = store
        self._prepare()

    def _prepare(self) -> None:
        self._recent = _Recent(self.max_entries, self.max_bytes)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._fault: str | None = None

    @property
    def fault(self) -> str | None:
        """One line on the last failure of the store, or None if it never failed."""
        return self._fault

    @property
    def may_block(self) -> bool:
        """Whether looking something up can take its time."""
        return self._store is not None

    def asking(self, url: str, sent: Mapping[str, str], *, scope: str) -> Asking:
        """Return the request for `url` as this cache sees it, with what is kept for it.

        Args:
            url: The address in normal form.
            sent: The headers of the request, names in lower case. Requests that differ in one
                have entries of their own.
            scope: What else answers have in common that may be exchanged for one another.
        """
        rules = _rules()
        key = _key(url, sent, scope)
        kept = rules.Kept.of_data(self._safely(lambda pages: pages.get(key)))
        if kept is not None and (kept.url, kept.sent) != (url, sent):
            kept = None  # put there by somebody else
        asking: Asking = rules.Asking(url, sent, kept)
        return asking

    def keep(self, kept: Kept, *, scope: str) -> None:
        """Keep a response, in place of an earlier one to the same request."""
        key, data = _key(kept.url, kept.sent, scope), kept.as_data()

        def put(pages: _Pages) -> None:
            pages[key] = data

        self._safely(put)

    def drop(self, kept: Kept, *, scope: str) -> None:
        """Keep a response no longer."""
        key = _key(kept.url, kept.sent, scope)
        self._safely(lambda pages: pages.pop(key, None))

    def _safely(self, use: Callable[[_Pages], Outcome]) -> Outcome | None:
        if self._process != os.getpid():
            # After a fork: whoever held the lock is not here to let it go, or to end what it did.
            if self._lock.locked():
                self._recent = _Recent(self.max_entries, self.max_bytes)
            self._process, self._lock = os.getpid(), threading.Lock()
        try:
            with self._lock:
                return use(self._recent if self._store is None else self._store)
        except Exception as error:
            self._fault = f"the page cache failed ({type(error).__name__}) and was left aside"
            return None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _OWN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def __repr__(self) -> str:
        where = "in memory" if self._store is None else type(self._store).__name__
        return f"<{type(self).__name__} {where}>"


_OWN = ("_recent", "_lock", "_process", "_fault")
_MAPPING = ("get", "pop", "__setitem__")


class _Pages(Protocol):
    """What is used of a store."""

    def get(self, key: str, /) -> Any: ...

    def pop(self, key: str, default: None, /) -> Any: ...

    def __setitem__(self, key: str, data: Any, /) -> None: ...


class _Recent:
    """The pages that were used last, within two bounds."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[str, Any] = OrderedDict()

    def get(self, key: str, /) -> Any:
        if key in self._pages:
            self._pages.move_to_end(key)
        return self._pages.get(key)

    def pop(self, key: str, default: None, /) -> Any:
        data = self._pages.pop(key, default)
        self._bytes -= len(data["body"]) if data else 0
        return data

    def __setitem__(self, key: str, data: Any, /) -> None:
        self.pop(key, None)
        self._pages[key] = data
        self._bytes += len(data["body"])
        while len(self._pages) > self._max_entries or self._bytes > self._max_bytes:
            self.pop(next(iter(self._pages)), None)


def _check_limit(name: str, limit: Any) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidRequestError(f"{name} must be 1 or more, not {limit!r}")


def _key(url: str, sent: Mapping[str, str], scope: str) -> str:
    # A digest: addresses are long, and may hold what a list of keys should not show.
    text = json.dumps([scope, url, sorted(sent.items())])
    return f"dsh-web-page-{hashlib.sha256(text.encode()).hexdigest()}"


def _rules() -> ModuleType:
    try:
        # Late: only who keeps pages needs the extra.
        from . import page_rules
    except ModuleNotFoundError as error:
        raise InvalidRequestError(
            f'keeping pages needs {error.name}: run pip install "dsh-web[cache]", or leave out '
            "cache="
        ) from error
    return page_rules
