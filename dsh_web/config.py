"""The only reader of environment variables."""

from __future__ import annotations

import os

__all__ = ["DEFAULT_FETCH_PROVIDER", "DEFAULT_SEARCH_PROVIDER", "read_env"]

DEFAULT_SEARCH_PROVIDER = "DSH_WEB_SEARCH_PROVIDER"
"""Names the search provider to use when the program does not."""
DEFAULT_FETCH_PROVIDER = "DSH_WEB_FETCH_PROVIDER"
"""Names the fetch provider to use when the program does not."""


def read_env(*names: str) -> str | None:
    """Return the first of the variables that is set and not blank, stripped, else None."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if value:
            return value
    return None
