"""Opens a server's corpus: a folder, or the running Python's documentation, cached on disk."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
from pathlib import Path

from dsh_web.server.corpus.folder import folder_documents
from dsh_web.server.corpus.index import SCHEMA_VERSION, Index
from dsh_web.server.corpus.python_docs import python_documents


def open_corpus(folder: Path | None) -> Index:
    """Return the index of a folder's pages, built afresh, or of Python's documentation.

    The latter is built once per Python version and kept under the user's cache folder; where that
    cannot be written, it is built in memory each time.
    """
    if folder is not None:
        return Index.build(folder_documents(folder))
    path = cache_path()
    try:
        return Index.open(path)
    except sqlite3.Error:
        return _build_cached(path)


def cache_path() -> Path:
    """Return where the index of Python's documentation is kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    folder = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    version = f"{platform.python_implementation().lower()}-{platform.python_version()}"
    return folder / "dsh-web" / f"python-docs-{version}-{SCHEMA_VERSION}.sqlite3"


def _build_cached(path: Path) -> Index:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=path.name, suffix=".new", dir=path.parent)
    except OSError:
        return Index.build(python_documents())
    os.close(handle)
    fresh = Path(name)
    try:
        Index.build(python_documents(), fresh).close()
        # A rename is atomic: another process sees the old file, or none, or the whole new one.
        fresh.replace(path)
        return Index.open(path)
    except (OSError, sqlite3.Error):
        return Index.build(python_documents())
    finally:
        fresh.unlink(missing_ok=True)
