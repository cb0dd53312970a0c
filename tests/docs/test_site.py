"""The site is complete, and builds without a warning and without the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import dsh_web
import langchain_dsh_web
import llama_index_dsh_web
from tests.docs.reading import DOCS, ROOT

MADE_OF_FILES = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "overview.md": "README.md",
}


class _IgnoringTags(yaml.SafeLoader):
    """Reads mkdocs.yml without importing what its `!!python/name:` tags name."""


_IgnoringTags.add_multi_constructor("", lambda loader, suffix, node: None)


def nav_pages(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for part in entry.values() if isinstance(entry, dict) else entry:
        if not isinstance(entry, str):
            yield from nav_pages(part)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # A proxy that nobody runs: whatever asked for the network would fail.
    nowhere = "http://127.0.0.1:9"
    environment = {**os.environ, "HTTPS_PROXY": nowhere, "HTTP_PROXY": nowhere}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert built.returncode == 0, built.stderr
    assert "WARNING -" not in built.stderr + built.stdout
    return folder


def test_the_navigation_lists_every_page_once() -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=_IgnoringTags)  # noqa: S506
    listed = list(nav_pages(config["nav"]))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.glob("**/*.md")}

    assert sorted(pages | set(MADE_OF_FILES)) == sorted(listed)


def test_the_site_builds_without_a_warning(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert (site / "search/search_index.json").is_file()


def test_files_beside_the_documentation_have_pages_that_links_lead_to(site: Path) -> None:
    for page, source in MADE_OF_FILES.items():
        heading = (ROOT / source).read_text().splitlines()[0].removeprefix("# ")
        assert heading in (site / page.removesuffix(".md") / "index.html").read_text()
    provider_page = (site / "concepts/providers/index.html").read_text()
    assert 'href="../../contributing/#add-a-provider"' in provider_page
    notebooks = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    listing = (site / "notebooks/index.html").read_text()
    assert [name for name in notebooks if f'href="{name}"' not in listing] == []
    assert [name for name in notebooks if not (site / "notebooks" / name).is_file()] == []
    assert 'href="../filters/"' in (site / "overview/index.html").read_text()


class _Loads(HTMLParser):
    """Collects what a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        is_loaded = tag == "link" and values.get("rel") != "canonical"
        self.urls += [values.get("src") or "", (values.get("href") or "") if is_loaded else ""]


def test_a_page_of_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loads = _Loads()
    for page in site.glob("**/*.html"):
        loads.feed(page.read_text())

    assert len(loads.urls) > 100
    assert [url for url in loads.urls if re.match(r"(\w+:)?//", url)] == []


@pytest.mark.parametrize("package", [dsh_web, langchain_dsh_web, llama_index_dsh_web])
def test_the_reference_has_every_public_name(package: Any, site: Path) -> None:
    text = "".join(page.read_text() for page in (site / "reference").glob("**/*.html"))
    names = [f"{package.__name__}.{name}" for name in package.__all__ if name != "__version__"]

    assert [name for name in names if f'id="{name}"' not in text] == []


def test_the_settings_page_names_every_environment_variable_that_is_read() -> None:
    page = (DOCS / "reference/settings.md").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "dsh_web").glob("**/*.py"))
    read = set(re.findall(r'"(DSH_WEB_[A-Z_]+|[A-Z]+_(?:API_KEY|BASE_URL))"', sources))

    assert len(read) >= 5
    assert sorted(name for name in read if f"`{name}`" not in page) == []
