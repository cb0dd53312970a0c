"""Proxies that the environment names, and the httpx clients for blocking calls through them."""

from __future__ import annotations

import os
import ssl
import threading
import urllib.request
import weakref
from typing import TYPE_CHECKING

from .route import Origin

if TYPE_CHECKING:
    import httpx

__all__ = ["EnvironmentProxies", "ProxyClients"]


class EnvironmentProxies:
    """What the environment says about proxies, read once per origin as an httpx client does."""

    def __init__(self) -> None:
        self._known: dict[Origin, str | None] = {}

    def proxy_for(self, origin: Origin) -> str | None:
        """Return the URL of the proxy for `origin`, or None for a direct connection."""
        try:
            return self._known[origin]
        except KeyError:
            return self._known.setdefault(origin, _environment_proxy(*origin))


def _environment_proxy(scheme: str, host: str, port: int) -> str | None:
    # A proxy cannot reach this machine's own loopback; asking it to is never what was meant.
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or urllib.request.proxy_bypass(f"{host}:{port}"):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


class ProxyClients:
    """Makes clients on demand and closes them; safe to use from any thread and after a fork."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx.Client] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()
        weakref.finalize(self, _close_all, self._clients)

    def client_for(self, proxy: str, verify: ssl.SSLContext) -> httpx.Client:
        """Return the client that sends everything through `proxy`."""
        if self._process != os.getpid():
            # As in the pool: the sockets are the parent's, and so may be a lock that is held.
            self._process = os.getpid()
            self._lock = threading.Lock()
            _close_all(self._clients)
        with self._lock:
            client = self._clients.get(proxy)
            if client is None:
                import httpx

                client = httpx.Client(proxy=proxy, verify=verify, trust_env=False)
                self._clients[proxy] = client
            return client

    def close(self) -> None:
        """Close every client; later calls make new ones."""
        with self._lock:
            _close_all(self._clients)


def _close_all(clients: dict[str, httpx.Client]) -> None:
    while clients:
        clients.popitem()[1].close()
