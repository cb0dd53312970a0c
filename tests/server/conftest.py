"""A small corpus with known texts and dates, a server over it, and clients that have its key."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer
from dsh_web.server.corpus import open_corpus

PAGES = {
    "tides.md": """---
url: https://energy.example/articles/tides
title: Tidal power
date: 2026-01-15
last_updated: 2026-02-01
---
# Tidal power

Tidal turbines turn the ebb and flow of the sea into electricity. A tidal lagoon stores water behind
a wall and lets it out through turbines at low tide.

Tidal turbines last about twenty-five years in salt water.
""",
    "wind.md": """---
url: https://www.wind.example.org/farms
title: Offshore wind farms
date: 2025-03-10
last_updated: 2025-06-30
---
Offshore wind turbines stand on steel foundations in the sea. Wind farms need a cable to the coast.
""",
    "bees.html": """<html><head><title>How bees dance</title>
<link rel="canonical" href="https://bees.example.edu/dance">
<meta name="date" content="2024-05-01"><script>var turbines = "no";</script></head>
<body><h1>Dance</h1><p>Honey bees dance to show where flowers are.</p>
<p>The angle of the dance points to the <b>sun</b>.</p></body></html>
""",
    "notes/lagoon.txt": """Lagoon notes

The lagoon wall is nine kilometres long. Tidal turbines are built into the lagoon wall.
""",
    "notes/coral.txt": """Coral notes

A coral reef grows one centimetre each year in warm water.
""",
    "skipped.bin": "turbines turbines turbines",
}


def write_pages(folder: Path) -> None:
    """Write the corpus; the files without a date of their own are three days old."""
    moment = (datetime.now(UTC) - timedelta(days=3)).timestamp()
    for name, text in PAGES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (moment, moment))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_pages(folder)
    return folder


@pytest.fixture(scope="session")
def shared_server(corpus: Path) -> Iterator[LoopbackServer]:
    with LoopbackServer(corpus=corpus) as server:
        yield server


@pytest.fixture
def server(shared_server: LoopbackServer) -> LoopbackServer:
    shared_server.reset()
    return shared_server


Connect = Callable[..., httpx.Client]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens httpx clients with a server's key; closes them after the test."""
    clients: list[httpx.Client] = []

    def open_client(server: LoopbackServer, **options: Any) -> httpx.Client:
        key = {"authorization": f"Bearer {server.api_key}"}
        settings: dict[str, Any] = {"base_url": server.url, "headers": key, "timeout": 5}
        # Loading the system's certificates for each test would take longer than the tests do.
        client = httpx.Client(trust_env=False, verify=False, **(settings | options))  # noqa: S501
        clients.append(client)
        return client

    yield open_client
    for client in clients:
        client.close()


@pytest.fixture
def client(server: LoopbackServer, connect: Connect) -> httpx.Client:
    return connect(server)


@pytest.fixture(scope="session")
def python_docs_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that holds the index of Python's documentation."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        open_corpus(None).close()
    return folder
