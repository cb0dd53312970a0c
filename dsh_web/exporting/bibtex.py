"""Results as BibLaTeX entries for a bibliography."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from ..escaping import one_line, printable_url
from ..render import shown_parts
from ..seam import WebSearchResult, WebSearchSource

__all__ = ["search_bibtex"]

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])|([0-9]{4}-[0-9]{2}|[0-9]{4})$")
_WORD: Final = re.compile(r"[a-z0-9]+")


def search_bibtex(result: WebSearchResult, *, accessed: date | None = None) -> str:
    """Return one `@online` entry per address, in order; see `WebSearchResult.to_bibtex`."""
    by_url = {source.url: source for source in reversed(shown_parts(result)[1])}
    entries = [_entry(source, accessed) for source in reversed(by_url.values())]
    return "\n\n".join(entries) + "\n" if entries else ""


def _entry(source: WebSearchSource, accessed: date | None) -> str:
    fields = {
        # Doubled braces keep the title's capitals as they are.
        "title": f"{{{_escaped(source.label)}}}",
        "organization": _escaped(_host(source.url)),
        "date": _day(source.published_at),
        "url": _address(source.url),
        "urldate": accessed.isoformat() if accessed else "",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@online{{{_key(source)},", *lines, "}"])


def _key(source: WebSearchSource) -> str:
    """Return a key that stays the same for an address whatever stands around it."""
    host = _host(source.url).removeprefix("www.").split(".")[0]
    words = _WORD.findall(_plain(f"{host} {source.url.rsplit('/', 1)[-1]}"))[:3]
    digest = hashlib.sha256(source.url.encode("utf-8", "replace")).hexdigest()[:6]
    return "-".join([*(words or ["source"]), digest])


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _day(published_at: str | None) -> str:
    """Return the date if it is one that BibLaTeX reads; `2 hours ago` is none."""
    match = _DAY.match(published_at or "")
    if match is None:
        return ""
    text = match.group(1) or match.group(2)
    try:
        date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        return ""
    return text


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(char, char) for char in one_line(text))


def _address(url: str) -> str:
    # The field is read verbatim, so an escape would become part of the address.
    return re.sub(r"[{}]", lambda match: f"%{ord(match.group()):02X}", printable_url(url))
