"""A ranked full-text index over documents, in SQLite's FTS5."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dsh_web.server.corpus.document import Document
from dsh_web.server.corpus.words import match_expression

SCHEMA_VERSION = 1
"""Changes when the tables or what is put into them change; part of a cached file's name."""

_SCHEMA = """
CREATE TABLE document (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    published TEXT, updated TEXT
);
CREATE VIRTUAL TABLE search USING fts5(
    title, text, content='document', content_rowid='id', tokenize='porter unicode61'
);
"""
_COLUMNS = "document.id, document.url, document.title, document.text, published, updated"
# A word in a title tells more about a page than the same word somewhere in its text.
# No text from outside is part of these queries: what is asked goes in as parameters.
_RANKED = f"""
SELECT {_COLUMNS}
FROM search JOIN document ON document.id = search.rowid
WHERE search MATCH ? ORDER BY bm25(search, 4.0, 1.0), document.id
"""  # noqa: S608


@dataclass(frozen=True)
class Found:
    """A document and its number in the index."""

    id: int
    document: Document


class Index:
    """Finds documents by words or by address. Use it from one thread at a time."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._size = int(database.execute("SELECT count(*) FROM document").fetchone()[0])

    @classmethod
    def build(cls, documents: Iterable[Document], path: Path | None = None) -> Index:
        """Index documents into a new file, or memory; of two with one address the first stays."""
        target = ":memory:" if path is None else str(path)
        database = sqlite3.connect(target, check_same_thread=False)
        database.executescript(_SCHEMA)
        database.executemany(
            "INSERT OR IGNORE INTO document (url, title, text, published, updated)"
            " VALUES (?, ?, ?, ?, ?)",
            ((d.url, d.title, d.text, d.published, d.updated) for d in documents),
        )
        database.execute("INSERT INTO search(search) VALUES ('rebuild')")
        database.commit()
        return cls(database)

    @classmethod
    def open(cls, path: Path) -> Index:
        """Open a file that `build` wrote, for reading only.

        Raises:
            sqlite3.Error: if it is missing or no such file.
        """
        database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        try:
            database.execute("SELECT rowid FROM search WHERE search MATCH 'x' LIMIT 1").fetchone()
            return cls(database)
        except sqlite3.Error:
            database.close()
            raise

    def __len__(self) -> int:
        return self._size

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def ranked(self, terms: list[str]) -> Iterator[Found]:
        """Yield the documents that contain any of the terms, best first."""
        if not terms:
            return
        for row in self._database.execute(_RANKED, (match_expression(terms),)):
            yield _found(row)

    def by_id(self, number: int) -> Found | None:
        """Return the document with this number, or None."""
        # SQLite has no integers beyond 64 bits, and a URL may hold any.
        return self._one("document.id = ?", number) if 0 < number < 2**63 else None

    def by_url(self, url: str) -> Found | None:
        """Return the document at this address, or the first one on that page, or None."""
        exact = self._one("url = ?", url)
        if exact is not None:
            return exact
        page = url.partition("#")[0]
        return self._one("url = ?", page) or self._one(
            "substr(url, 1, length(?1)) = ?1", f"{page}#"
        )

    def _one(self, condition: str, value: object) -> Found | None:
        query = f"SELECT {_COLUMNS} FROM document WHERE {condition} ORDER BY id LIMIT 1"  # noqa: S608
        row = self._database.execute(query, (value,)).fetchone()
        return None if row is None else _found(row)


def _found(row: tuple[int, str, str, str, str | None, str | None]) -> Found:
    id_, url, title, text, published, updated = row
    return Found(id_, Document(url, title, text, published, updated))
