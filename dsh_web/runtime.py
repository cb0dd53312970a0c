"""`WebRuntime`: the object that a program holds. It selects a provider, runs it, and bounds it."""

from __future__ import annotations

from .reading import Reading
from .searching import Searching

__all__ = ["WebRuntime"]


class WebRuntime(Searching, Reading):
    """Searches and fetches through whichever provider is configured.

    Safe to share between threads, event loops and tasks, and usable after a fork. It is a handle,
    like a connection pool: copying it (`copy.deepcopy`) gives the same object, pickling it keeps
    the registrations but no key and no connection.

    Args:
        search_provider: Id of the search provider to use. Default: `$DSH_WEB_SEARCH_PROVIDER`,
            else the only one that is available.
        fetch_provider: The same for fetching; `$DSH_WEB_FETCH_PROVIDER`.
        timeout: Seconds that a call may take when it does not say itself; None: no limit.
        max_queries: Most queries that one `search_many` takes.
        budget: What all searches together may consume; the next call is then refused with
            `WEB_BUDGET_EXCEEDED`. `usage` has the running total.
        coalesce: Let calls that are identical to one under way wait for its result instead of
            sending their own. Off by default.
        cache: Keep good results in this mapping and answer identical calls from it, for example
            `cachetools.TTLCache(maxsize=256, ttl=600)`. Default: no cache.
        http_client: An `httpx.Client` of yours that every request to a provider goes through. It
            stays yours to close. A cancel then leaves a running exchange behind instead of
            interrupting it. Pages are fetched without it, since it would look up by itself the
            addresses that were checked.
        async_http_client: The same for the async methods.
        ssl_context: TLS settings for the built-in connections, for example a private CA.
    """
