"""A loopback stand-in for Perplexity's HTTP API that really searches.

It exists so that programs and tests can talk to something that behaves like the service, without a
key and without the network. It is an independent witness: nothing here imports the rest of
`dsh_web`, so a misreading of the wire format cannot hide on both sides of a connection.

Start with `LoopbackServer`, or with `ensure_service` where a key may be set; `Fault` describes what
can be made to go wrong, `StreamStyle` how streams are written.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dsh_web.server.faults import Fault
from dsh_web.server.request_log import RecordedRequest
from dsh_web.server.stream_style import StreamStyle

if TYPE_CHECKING:
    from dsh_web.server.loopback import LoopbackServer
    from dsh_web.server.stand_in import ensure_service

__all__ = ["Fault", "LoopbackServer", "RecordedRequest", "StreamStyle", "ensure_service"]

_LAZY = {"LoopbackServer": "loopback", "ensure_service": "stand_in"}


def __getattr__(name: str) -> Any:
    # Lazy, so that faults can be described (and this error read) without the server's extra
    # installed.
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {
            "starlette",
            "uvicorn",
            "h11",
            "anyio",
        }:
            raise
        raise ImportError(
            f'the loopback server needs {error.name}; run: pip install "dsh-web[server]"'
        ) from error
