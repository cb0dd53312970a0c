"""What the Parallel providers share: where the API lives and which key it takes.

Wire facts: docs.parallel.ai and its OpenAPI document as read from August to November 2026, and the
vendor's Python SDK 1.3.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..seam import SourceOrigin, WebSearchSource
from . import PARALLEL_KEYS
from ._shape import Reader
from ._vendor import VendorProvider

__all__ = ["ParallelProvider", "passages_in", "source_of", "vendor_warnings"]


class ParallelProvider(VendorProvider):
    """A provider of Parallel; a subclass adds one API's path, request body and mapping.

    Args:
        api_key: The key, or a function (sync or async) that resolves it per call. Default:
            `$PARALLEL_API_KEY`. Without one the provider is unavailable.
        base_url: Where the API lives; the path is appended. Default: `$PARALLEL_BASE_URL`, else
            `https://api.parallel.ai`.
        max_retries: Attempts after the first, for connect failures, 408, 409, 429 and 5xx.
        extra_body: Vendor-only fields, merged last into the request body; an object is merged
            into the object of that name.
    """

    label: ClassVar[str] = "Parallel"
    key_variables: ClassVar[tuple[str, ...]] = PARALLEL_KEYS
    base_url_variable: ClassVar[str] = "PARALLEL_BASE_URL"
    default_base_url: ClassVar[str] = "https://api.parallel.ai"
    merges_objects: ClassVar[bool] = True


def passages_in(excerpts: Any) -> tuple[str, ...]:
    """Return the excerpts of an entry that are text and not blank, as they were sent."""
    members = excerpts if isinstance(excerpts, list) else []
    return tuple(text for text in members if isinstance(text, str) and text.strip())


def source_of(
    entry: Mapping[str, Any], url: str, ids: tuple[int, ...], origin: SourceOrigin
) -> WebSearchSource:
    """Return the source that an entry of results or of a basis stands for; see `MakeSource`."""
    # Wrong types in optional fields are dropped without a word: the source itself is fine.
    excerpts = passages_in(entry.get("excerpts"))
    return WebSearchSource(
        url=url,
        title=title if type(title := entry.get("title")) is str else None,
        snippet="\n\n".join(excerpts) or None,
        excerpts=excerpts,
        published_at=date if type(date := entry.get("publish_date")) is str else None,
        ids=ids,
        origin=origin,
    )


def vendor_warnings(reader: Reader, data: dict[str, Any]) -> tuple[str, ...]:
    """Return what the API itself warns of: a value that it lowered, a field that it ignored."""
    found = []
    for warning in reader.records(data, "warnings"):
        message, kind = warning.get("message"), warning.get("type")
        texts = [text for text in (message, kind) if isinstance(text, str) and text.strip()]
        if texts:
            found.append(f"Parallel: {texts[0]}" + (f" ({texts[1]})" if len(texts) > 1 else ""))
    return tuple(found)
