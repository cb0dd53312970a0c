"""The only reader of environment variables."""

from __future__ import annotations

import os

__all__ = [
    "DEFAULT_EXTRACT_PROVIDER",
    "DEFAULT_FETCH_PROVIDER",
    "DEFAULT_SEARCH_PROVIDER",
    "read_env",
    "shown_url",
]

DEFAULT_SEARCH_PROVIDER = "DSH_WEB_SEARCH_PROVIDER"
"""Names the search provider to use when the program does not."""
DEFAULT_FETCH_PROVIDER = "DSH_WEB_FETCH_PROVIDER"
"""Names the fetch provider to use when the program does not."""

DEFAULT_EXTRACT_PROVIDER = "DSH_WEB_EXTRACT_PROVIDER"
"""Names the extract provider to use when the program does not."""


def read_env(*names: str) -> str | None:
    """Return the first of the variables that is set and not blank, stripped, else None."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if value:
            return value
    return None


def shown_url(url: object) -> str:
    """Return a configured url without credentials, for messages and reprs."""
    text = str(url)
    scheme, mark, rest = text.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else text
