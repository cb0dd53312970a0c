"""One spelling for the sites of a domain filter, whatever the caller pasted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .errors import InvalidRequestError

__all__ = ["ascii_host", "normalize_domains"]

# A host (or a bare suffix such as `.gov`), then an optional path.
_SHAPE = re.compile(r"\.?[\w-]+(\.[\w-]+)*(/\S*)?", re.UNICODE)


def normalize_domains(values: Iterable[Any], *, keep_www: bool = False) -> tuple[str, ...]:
    """Return the sites without scheme, `www.`, port or trailing slash, lower-case, each once.

    Args:
        values: Sites as people write them.
        keep_www: Leave `www.` where it stands, for lists in which a wider site would let more in.

    Raises:
        InvalidRequestError: A value is not a site; the message names it and says what is.
    """
    return tuple(dict.fromkeys(_normalize(value, keep_www=keep_www) for value in values))


def _normalize(value: Any, *, keep_www: bool) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("-"):
        raise InvalidRequestError(f"{value!r}: put sites to leave out into exclude_domains")
    if "*" in text:
        raise InvalidRequestError(
            f"{value!r}: leave the asterisk out, a domain includes its subdomains"
        )
    rest = re.sub(r"^[a-z][a-z0-9+.-]*://", "", text, flags=re.IGNORECASE)
    host, slash, path = rest.partition("/")
    host = re.sub(r":\d+$", "", host.lower()).rstrip(".")
    host = host if keep_www else _without_www(host)
    path = path.split("?")[0].split("#")[0].rstrip("/")
    domain = _ascii(host) + (slash + path if path else "")
    if not _SHAPE.fullmatch(domain):
        raise InvalidRequestError(
            f"{value!r} is not a domain: give a site such as 'example.com', '.gov' "
            "or 'example.com/docs'"
        )
    return domain


# Second-level names under which others register: `www.gov.uk` is a site, `gov.uk` thousands.
_REGISTRY = re.compile(
    r"(?:ac|co|com|edu|gob|gov|gouv|go|mil|ne|net|nhs|nic|or|org|police)\.[a-z]{2}"
)


def _without_www(host: str) -> str:
    rest = host.removeprefix("www.")
    return host if "." not in rest or _REGISTRY.fullmatch(rest) else rest


def _ascii(host: str) -> str:
    try:
        return ascii_host(host)
    except UnicodeError:
        return host


def ascii_host(host: str) -> str:
    """Return a host name in lower-case ASCII, mapped as browsers map it (UTS 46).

    Raises:
        UnicodeError: It is no valid name.
    """
    if host.isascii():
        return host.lower()
    # On demand: its tables cost as much as the rest of this package, and few hosts need them.
    import idna

    mapped = idna.uts46_remap(host, std3_rules=False)
    return mapped if mapped.isascii() else idna.encode(mapped).decode("ascii").lower()
