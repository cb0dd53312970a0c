"""The default corpus: what is in it, where it points, and its cache."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsh_web.server import LoopbackServer
from dsh_web.server.corpus import Index, open_corpus
from dsh_web.server.corpus.python_addresses import address, builtin_address
from dsh_web.server.corpus.python_source import docstrings
from dsh_web.server.corpus.words import search_terms

LIBRARY = f"https://docs.python.org/{sys.version_info.major}.{sys.version_info.minor}/library/"


@pytest.fixture(scope="module")
def index(python_docs_cache: Path) -> Iterator[Index]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(python_docs_cache))
        index = open_corpus(None)
    yield index
    index.close()


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How do I set a timeout in asyncio?", "asyncio.timeout — asyncio"),
        ("asyncio.wait_for", "asyncio.wait_for — asyncio"),
        ("What does itertools.chain do?", "itertools.chain — itertools"),
        ("how can I make a directory with pathlib", "pathlib.Path.mkdir — pathlib"),
        ("join strings with a separator", "str.join — builtins"),
        ("Which function gives the square root?", "math.sqrt — math"),
        ("run a subprocess and capture its output", "subprocess.run — subprocess"),
        ("walk a directory tree", "os.walk — os"),
        ("encode a query string for a URL", "urllib.parse.urlencode — urllib.parse"),
    ],
)
def test_questions_find_the_function_that_does_it(index: Index, question: str, title: str) -> None:
    found = [entry.document.title for entry in index.ranked(search_terms(question))]

    assert title in found[:6]


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("asyncio.tasks", "wait_for", "asyncio-task.html#asyncio.wait_for"),
        ("asyncio", "", "asyncio.html"),
        ("unittest.case", "TestCase", "unittest.html#unittest.TestCase"),
        ("unittest.mock", "Mock", "unittest.mock.html#unittest.mock.Mock"),
        ("json.decoder", "JSONDecoder", "json.html#json.JSONDecoder"),
        ("posixpath", "join", "os.path.html#os.path.join"),
        ("concurrent.futures._base", "wait", "concurrent.futures.html#concurrent.futures.wait"),
        ("multiprocessing.pool", "Pool", "multiprocessing.html#multiprocessing.pool.Pool"),
        ("wsgiref.util", "", "wsgiref.html#module-wsgiref.util"),
        ("email.message", "Message", "email.message.html#email.message.Message"),
    ],
)
def test_addresses_follow_the_documentation(module: str, name: str, expected: str) -> None:
    assert address(module, name) == LIBRARY + expected


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("len", "functions"),
        ("int", "functions"),
        ("str", "stdtypes"),
        ("str.join", "stdtypes"),
        ("KeyError", "exceptions"),
    ],
)
def test_built_in_names_have_their_own_pages(name: str, page: str) -> None:
    assert builtin_address(name) == f"{LIBRARY}{page}.html#{name}"


def test_private_and_test_modules_are_left_out(index: Index) -> None:
    found = [entry.document for entry in index.ranked(["test", "idle", "private", "main"])]

    assert found
    assert not [d.url for d in found if "#_" in d.url or "idlelib" in d.url or "._" in d.url]


def test_most_pages_have_a_date_and_some_do_not(index: Index) -> None:
    dates = [entry.document.published for entry in index.ranked(["file"])]

    assert None in dates
    assert sum(date is not None for date in dates) > len(dates) / 2


def test_docstrings_are_read_without_running_the_source() -> None:
    source = '''"""Module."""
raise SystemExit
__all__ = ["shown", "Kind"]
def shown(a, *, b=1):
    """Show it."""
def unlisted():
    """Not exported."""
class Kind:
    """A kind."""
    def __init__(self, size: int): ...
    def grow(self):
        """Grow.

        Slowly."""
    def _shrink(self):
        """Private."""
'''

    found = {entry.qualname: entry for entry in docstrings(source)}

    assert set(found) == {"", "shown", "Kind", "Kind.grow"}
    assert found["shown"].signature == "(a, *, b=1)"
    assert found["Kind"].signature == "(size: int)"
    assert found["Kind"].text == "A kind.\n\nKind.grow: Grow."


def test_the_index_is_cached_on_disk(
    python_docs_cache: Path, monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(python_docs_cache))
    (cached,) = (python_docs_cache / "dsh-web").iterdir()
    before = cached.stat()
    started = time.monotonic()

    with LoopbackServer() as server:
        took = time.monotonic() - started
        answer = connect(server).post("/search", json={"query": "asyncio.timeout"})

    assert took < 1
    assert answer.json()["results"][0]["url"].startswith(LIBRARY)
    assert (cached.stat().st_mtime_ns, cached.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("trouble", ["a damaged file", "a folder that cannot be made"])
def test_the_cache_is_only_a_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("dsh_web.server.corpus.opening.python_documents", _one_page)
    if trouble == "a damaged file":
        open_corpus(None).close()
        (cached,) = (tmp_path / "dsh-web").iterdir()
        cached.write_bytes(b"not a database, but long enough to be read as one" * 50)
    else:
        (tmp_path / "dsh-web").write_text("in the way")

    index = open_corpus(None)

    assert [found.document.title for found in index.ranked(["single"])] == ["Single"]
    index.close()
    assert not list(tmp_path.rglob("*.new"))


def test_a_relative_cache_folder_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dsh_web.server.corpus.opening import cache_path

    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert cache_path().parent == tmp_path / ".cache" / "dsh-web"
    assert os.path.basename(cache_path()).startswith("python-docs-")


def _one_page() -> Any:
    from dsh_web.server.corpus import Document

    return [Document("https://one.example/", "Single", "A single page.", None, "2026-01-01")]
