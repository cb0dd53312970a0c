from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dsh_web.server import LoopbackServer
from tests.docs import stand_ins


@pytest.fixture(scope="module")
def search_server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as server:
        yield server


@pytest.fixture(scope="module")
def pages_on_this_machine() -> Iterator[None]:
    with stand_ins.page_server():
        yield


@pytest.fixture
def readers_environment(
    search_server: LoopbackServer,
    pages_on_this_machine: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Set the variables that a reader would set; return the folder that the reader is in."""
    info = tmp_path / "documented-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: documented\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[dsh_web.providers]\n"
        f"{stand_ins.FETCH_PROVIDER} = {stand_ins.__name__}:PagesOnThisMachine\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DSH_WEB_FETCH_PROVIDER", stand_ins.FETCH_PROVIDER)
    monkeypatch.setenv("PERPLEXITY_API_KEY", search_server.api_key or "")
    monkeypatch.setenv("PERPLEXITY_BASE_URL", search_server.url)
    folder = tmp_path / "reader"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def both_vendors(
    readers_environment: Path, search_server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set the second vendor's variables too, and the choice that two keys ask for."""
    monkeypatch.setenv("PARALLEL_API_KEY", search_server.api_key or "")
    monkeypatch.setenv("PARALLEL_BASE_URL", search_server.url)
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "perplexity")
