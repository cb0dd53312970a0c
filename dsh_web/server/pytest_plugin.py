"""A pytest fixture; enable it with `pytest_plugins = ["dsh_web.server.pytest_plugin"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dsh_web.server.loopback import LoopbackServer


@pytest.fixture(scope="session")
def _dsh_web_session_server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as server:
        yield server


@pytest.fixture
def dsh_web_server(_dsh_web_session_server: LoopbackServer) -> LoopbackServer:
    """A running `LoopbackServer` with nothing recorded and no faults queued."""
    _dsh_web_session_server.reset()
    return _dsh_web_session_server
