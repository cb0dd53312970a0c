"""A service for whoever has no key: the loopback server, found through the environment."""

from __future__ import annotations

import os
import threading
from typing import Final

from dsh_web.server.loopback import LoopbackServer

__all__ = ["ensure_service"]

_KEYS: Final = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")
_lock = threading.Lock()
_server: LoopbackServer | None = None


def ensure_service() -> str:
    """Make sure that `WebRuntime.from_env()` has something to talk to, and say what it is.

    With a key in the environment nothing happens. Without one a loopback server is started, which
    runs until the process ends, and `PERPLEXITY_API_KEY` and `PERPLEXITY_BASE_URL` are set to it.
    Calling it again changes nothing.

    Returns:
        One sentence for people.
    """
    global _server
    with _lock:
        if _server is None:
            if any(os.environ.get(name, "").strip() for name in _KEYS):
                return "Using the service whose key is set in the environment."
            _server = LoopbackServer().start()
            os.environ["PERPLEXITY_API_KEY"] = _server.api_key
            os.environ["PERPLEXITY_BASE_URL"] = _server.url
        return (
            f"No key is set: a local server stands in at {_server.url}. It searches "
            f"{_server.corpus_size:,} entries of this Python's own documentation."
        )
