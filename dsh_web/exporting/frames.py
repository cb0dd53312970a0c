"""Results as data frames: one row per source."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any, get_args
from urllib.parse import urlsplit

from ..citations.numbers import numbers_by_url
from ..errors import InvalidRequestError
from ..seam import WebSearchResult
from ..showing import FrameBackend

__all__ = ["search_frame"]

_TYPES: dict[str, type] = {
    "rank": int,
    "cited_as": str,
    "citations": int,
    "title": str,
    "url": str,
    "host": str,
    "published_at": str,
    "updated_at": str,
    "snippet": str,
    "provider": str,
}


def search_frame(result: WebSearchResult, backend: FrameBackend | None = None) -> Any:
    """Return one row per source; see `WebSearchResult.to_frame`."""
    name, library = _library(backend)
    columns = _columns(result)
    if name == "polars":
        types = {str: library.String, int: library.Int64}
        return library.DataFrame(columns, schema={c: types[t] for c, t in _TYPES.items()})
    types = {str: "string", int: "int64"}
    series = {c: library.Series(columns[c], dtype=types[t]) for c, t in _TYPES.items()}
    return library.DataFrame(series)


def _columns(result: WebSearchResult) -> dict[str, list[Any]]:
    numbers = numbers_by_url(result.citations)
    counts = Counter(record.url for record in result.citations)
    rows = [
        (
            rank,
            ", ".join(map(str, numbers[source.url])) if source.url in numbers else None,
            counts[source.url],
            source.title,
            source.url,
            _host(source.url),
            source.published_at,
            source.updated_at,
            source.snippet,
            result.provider,
        )
        for rank, source in enumerate(result.sources, start=1)
    ]
    return {name: [_storable(row[index]) for row in rows] for index, name in enumerate(_TYPES)}


def _storable(value: Any) -> Any:
    """Return text without halves of surrogate pairs, which no file of a data frame can hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _library(backend: FrameBackend | None) -> tuple[str, Any]:
    known = get_args(FrameBackend)
    if backend is not None and backend not in known:
        raise InvalidRequestError(f"{backend!r} is no data frame library: use pandas or polars")
    for name in known if backend is None else (backend,):
        try:
            return name, importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    wanted = backend or "pandas or polars"
    raise InvalidRequestError(f"a data frame needs {wanted}: run pip install {backend or 'pandas'}")
