"""One page of a corpus."""

from __future__ import annotations

import datetime as dt
import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """One page: what a search result is made of."""

    url: str
    """Address under which results name the page; unique within a corpus."""
    title: str
    text: str
    """Plain text; blank lines separate paragraphs."""
    published: str | None
    """`YYYY-MM-DD`, or None where the publication date counts as unknown."""
    updated: str | None
    """`YYYY-MM-DD`, or None if unknown."""


def file_dates(url: str, modified: float) -> tuple[str | None, str]:
    """Return `(published, updated)` for a page made from a file that states no dates.

    Both are the file's date (UTC), but every third page, chosen by its address, has no publication
    date: clients have to cope with pages that lack one.

    Args:
        url: The page's address.
        modified: The file's modification time in Unix seconds.
    """
    updated = dt.datetime.fromtimestamp(modified, dt.UTC).date().isoformat()
    return (None if zlib.crc32(url.encode("utf-8", "replace")) % 3 == 0 else updated), updated
