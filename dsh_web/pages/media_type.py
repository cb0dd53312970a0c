"""What a `content-type` header says, and which types a page can have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["MediaType", "PageKind", "read_media_type"]

PageKind: TypeAlias = Literal["html", "xml", "text", "pdf"]

_ESSENCE = re.compile(r"\s*([\w!#$&^.+-]+/[\w!#$&^.+-]+)\s*(?=[;,]|$)", re.ASCII)
_CHARSET = re.compile(
    r""";\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.ASCII | re.IGNORECASE
)
_HTML = ("text/html", "application/xhtml+xml")
_PDF = ("application/pdf", "application/x-pdf", "text/pdf")


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type as far as reading a page needs it."""

    essence: str
    """Type and subtype in lower case, for example `text/html`."""
    charset: str | None
    """The label as sent, without quotes."""

    @property
    def kind(self) -> PageKind | None:
        """How its text is read; None: it has none."""
        essence = self.essence
        if essence in _HTML:
            return "html"
        if essence in _PDF:
            return "pdf"
        if essence in ("text/xml", "application/xml") or essence.endswith("+xml"):
            return "xml"
        if essence.startswith("text/") or essence == "application/json":
            return "text"
        return "text" if essence.endswith("+json") else None


def read_media_type(header: str | None) -> MediaType | None:
    """Return what a `content-type` header names, or None if it names nothing."""
    found = _ESSENCE.match(header or "")
    if found is None:
        return None
    charset = _CHARSET.search(header or "", found.end())
    label = (
        next((group for group in charset.groups() if group is not None), None) if charset else None
    )
    return MediaType(found[1].lower(), label)
