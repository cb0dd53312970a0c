"""Addresses of pages: read strictly, spelled in one way, so that what is checked is what is used.

Parsers disagree about odd URLs, and every disagreement lets a request go where no check looked.
So there is one parser here, what it cannot read without doubt is refused, and everything behind it
uses its normal form. Hosts follow the URL standard (WHATWG): percent-decoded, mapped by IDNA
(full-width digits and dots become plain ones), numbers read as the IPv4 address that they mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TypeAlias
from urllib.parse import quote, unquote, unquote_to_bytes, urljoin

from .addresses import looks_like_ipv4, parse_ipv4
from .domains import ascii_host
from .errors import BlockedUrlError, InvalidUrlError

__all__ = ["PageUrl", "matches_domain", "read_page_url", "redirect_target", "shown_page"]

DEFAULT_MAX_LENGTH = 2048
"""Characters; what common servers and browsers agree to carry."""

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port."""

_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"//([^/?#]*)(.*)", re.DOTALL)
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]*))?", re.ASCII)
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\\]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_UNESCAPED_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})", re.ASCII)
_SAFE_IN_TARGET = "/:@!$&'()*+,;=-._~%?[]|"


@dataclass(frozen=True, slots=True)
class PageUrl:
    """An http or https address in normal form."""

    scheme: str
    host: str
    """Lower-case ASCII: a name without trailing dot, or an address without brackets."""
    port: int
    target: str
    """Path and query, percent-encoded; starts with a slash."""

    @property
    def origin(self) -> Origin:
        """Scheme, host and port."""
        return (self.scheme, self.host, self.port)

    @property
    def site(self) -> str:
        """The origin as text."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def url(self) -> str:
        """The whole address, without a fragment."""
        return self.site + self.target

    def __str__(self) -> str:
        return self.url


def read_page_url(text: str, *, max_length: int = DEFAULT_MAX_LENGTH) -> PageUrl:
    """Return the page that `text` names; white space around it does not matter.

    Raises:
        InvalidUrlError: It is no absolute http or https URL that can be read in one way only.
        BlockedUrlError: It holds credentials.
    """
    url = text.strip(" \t\r\n\f")
    if len(url) > max_length:
        raise InvalidUrlError(
            f"the url has {len(url)} characters, of which {max_length} are allowed"
        )
    found = _SCHEME.fullmatch(url)
    if found is None:
        raise _invalid(url, "it is not absolute: start it with https://")
    scheme, rest = found[1].lower(), found[2]
    if scheme not in _PORTS:
        raise _invalid(url, f"only http and https pages can be fetched, not {scheme[:20]!r}")
    split = _AUTHORITY.fullmatch(rest)
    if split is None or not split[1]:
        raise _invalid(url, "it names no host: write https://host/path")
    authority, target = split[1], split[2].partition("#")[0]
    if "@" in authority:
        # Before anything else is said of it: whatever stands there may be a password.
        raise BlockedUrlError(
            f"{shown_page(url)} holds credentials, which are never sent: leave out what is "
            "before the @"
        )
    if _FORBIDDEN.search(url):
        raise _invalid(
            url, "it holds white space, a control character or a backslash: percent-encode them"
        )
    if any("\ud800" <= character <= "\udfff" for character in url):
        raise _invalid(url, "it holds half a character")
    parts = _HOST_AND_PORT.fullmatch(authority)
    if parts is None:
        raise _invalid(url, "its host and port cannot be read")
    port = int(parts[2][:10]) if parts[2] else _PORTS[scheme]
    if not 1 <= port <= 65_535:
        raise _invalid(url, "its port is not between 1 and 65535")
    return PageUrl(scheme, _host(parts[1], url), port, _target(target))


def redirect_target(page: PageUrl, location: str, *, max_length: int) -> PageUrl:
    """Return where a redirect of `page` leads.

    Args:
        page: The page that answered.
        location: Its `location` header, each byte as one character.
        max_length: See `read_page_url`.

    Raises:
        InvalidUrlError, BlockedUrlError: See `read_page_url`.
    """
    try:
        # Servers send other scripts as bare UTF-8, against the rules; browsers read it so.
        location = location.encode("latin-1").decode()
    except UnicodeError:
        pass
    location = location.strip(" \t\r\n\f").replace(" ", "%20")
    if _FORBIDDEN.search(location):
        raise _invalid(location, "it holds a control character or a backslash")
    # What looks absolute is read as such, or not at all: joined, `http:/host` would become a path.
    if location.startswith("//"):
        location = f"{page.scheme}:{location}"
    elif _SCHEME.fullmatch(location) is None:
        location = urljoin(page.url, location)
    return read_page_url(location, max_length=max_length)


def matches_domain(page: PageUrl, domains: Sequence[str]) -> str | None:
    """Return the first of `domains` that `page` belongs to, or None.

    Args:
        page: The page.
        domains: As `normalize_domains` spells them: a site stands for its subdomains too, and a
            site with a path for everything below that path.
    """
    for domain in domains:
        host, slash, path = domain.partition("/")
        suffix = host if host.startswith(".") else f".{host}"
        if f".{page.host}".endswith(suffix) and (not slash or _is_below(page.target, path)):
            return domain
    return None


def _is_below(target: str, path: str) -> bool:
    wanted, given = _segments(path), _segments(target.partition("?")[0])
    return given[: len(wanted)] == wanted


def _segments(path: str) -> list[str]:
    """Return the steps of a path as a server would take them, encoded or roundabout."""
    segments: list[str] = []
    for segment in unquote(path).split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment.lower())
    return segments


def shown_page(url: str) -> str:
    """Return `url` for messages: without credentials, query and fragment, and not endless."""
    start = re.match(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:[/\\]{0,3}|[/\\]{2,3}", url)
    head = start[0] if start else ""
    authority, slash, path = re.split(r"[?#]", url[len(head) :], maxsplit=1)[0].partition("/")
    text = head + authority.rpartition("@")[2] + slash + path
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


_SHOWN = 200


def _invalid(url: str, reason: str) -> InvalidUrlError:
    return InvalidUrlError(f"{shown_page(url)} cannot be fetched: {reason}")


def _host(text: str, url: str) -> str:
    if text.startswith("["):
        return _ipv6(text[1:-1], url)
    host = _mapped(_percent_decoded(text, url), url).removesuffix(".")
    if looks_like_ipv4(host):
        address = parse_ipv4(host)
        if address is None:
            raise _invalid(url, "its host ends in a number but is no IPv4 address")
        return str(address)
    if len(host) > 253 or not all(map(_LABEL.fullmatch, host.split("."))):
        raise _invalid(url, "its host is no valid name")
    return host


def _ipv6(text: str, url: str) -> str:
    if "%" in text:
        raise BlockedUrlError(
            f"{shown_page(url)} is blocked: a zone id names one link of this machine"
        )
    try:
        return str(IPv6Address(text))
    except ValueError:
        raise _invalid(url, "what stands in brackets is no IPv6 address") from None


def _percent_decoded(host: str, url: str) -> str:
    if "%" not in host:
        return host
    try:
        return unquote_to_bytes(host).decode()
    except UnicodeError:
        raise _invalid(url, "its host is not UTF-8") from None


def _mapped(host: str, url: str) -> str:
    try:
        return ascii_host(host)
    except UnicodeError:
        raise _invalid(url, "its host is no valid international name") from None


def _target(text: str) -> str:
    # A percent sign that encodes nothing would make two readings of one target.
    encoded = quote(_UNESCAPED_PERCENT.sub("%25", text), safe=_SAFE_IN_TARGET)
    path, _, query = encoded.partition("?")
    return (path or "/") + (f"?{query}" if query else "")
