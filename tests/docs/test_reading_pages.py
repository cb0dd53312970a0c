"""The examples about reading pages run as they are printed, over providers made for the test."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from dsh_web import WebPage, WebRuntime, WebSearchResult, WebSearchSource
from tests.fetching import FakeFetcher, html

DOCS = Path(__file__).resolve().parents[2] / "docs"
URL = "https://docs.python.org/3/"


class Serving(FakeFetcher):
    """Serves the same page everywhere."""

    id = "documented-fetch"

    def __init__(self) -> None:
        super().__init__({})

    def fetch_flow(self, request: Any) -> Any:
        content = "<title>Python</title><main><h1>Python</h1><p>Batteries.</p></main>"
        self.pages[request.url] = html(request.url, content)
        return super().fetch_flow(request)


class Finding:
    """Finds that page, whatever the query."""

    id = "documented-search"

    def available(self) -> bool:
        return True

    def search_flow(self, request: Any) -> Any:
        source = WebSearchSource(url=URL, title="Python", snippet="Batteries included.")
        return WebSearchResult(provider=self.id, sources=(source,))
        yield


@pytest.fixture(autouse=True)
def installed_providers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that offers both providers, and pin them."""
    info = tmp_path / "documented-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: documented\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[dsh_web.providers]\n"
        f"documented-fetch = {__name__}:Serving\n"
        f"documented-search = {__name__}:Finding\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DSH_WEB_FETCH_PROVIDER", "documented-fetch")
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "documented-search")


def section(page: str, heading: str | None = None) -> str:
    text = (DOCS / page).read_text()
    return text if heading is None else text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def run(example: str, names: dict[str, Any]) -> None:
    code = compile(example, "docs", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    # Our own page; a coroutine comes out where it awaits at the top level.
    ran = eval(code, names)  # noqa: S307
    if inspect.iscoroutine(ran):
        asyncio.run(ran)


def run_all(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for example in re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M):
        run(example, names)
    return names


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = run_all(section("fetching.md"))

    assert isinstance(names["page"], WebPage)
    assert isinstance(names["runtime"], WebRuntime)
    assert "Python 200 # Python" in capsys.readouterr().out


def test_the_examples_for_langchain_run() -> None:
    names = run_all(section("langchain.md", "Reading pages"))

    assert [tool.name for tool in names["tools"]] == ["web_search", "web_fetch"]
    assert names["text"].startswith(f"Fetched {URL} (HTTP 200)")
    assert [document.metadata["content"] for document in names["documents"]] == ["page"]


def test_the_examples_for_llama_index_run() -> None:
    names = run_all(section("llama-index.md", "Reading pages"))

    assert [document.id_ for document in names["documents"]] == [URL]
    assert [node.metadata["content"] for node in names["nodes"]] == ["page"]
    assert names["fetch"].metadata.name == "web_fetch"
