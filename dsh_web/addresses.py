"""Which addresses belong to the public internet, and which spellings mean an address at all.

The tables are our own: what `ipaddress` calls global differs between Python releases, leaves out
carrier NAT in some of them, and never looks at the IPv4 address inside a NAT64 or 6to4 one. They
follow the IANA special-purpose registries (RFC 6890 and its updates). An IPv6 address is public
only inside 2000::/3, all that is assigned; an unknown range is therefore refused, not let through.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

__all__ = ["looks_like_ipv4", "parse_ipv4", "refusal_of"]

_V4: Final = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a carrier-grade NAT address"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "a reserved address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)

_V6: Final = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "the unspecified address"),
        ("::1/128", "the loopback address"),
        # Operators place it as they like, so what is inside cannot be told.
        ("64:ff9b:1::/48", "a translation address of a local network"),
        ("100::/64", "a discard-only address"),
        ("2001:2::/48", "an address for benchmarks"),
        ("2001:db8::/32", "an address for documentation"),
        ("3fff::/20", "an address for documentation"),
        ("fc00::/7", "a unique local address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_PROTOCOLS: Final = IPv6Network("2001::/23")
_TEREDO: Final = IPv6Network("2001::/32")
_6TO4: Final = IPv6Network("2002::/16")
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE: Final = IPv6Network("::/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")

_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)
"""The upper half of the interface identifier of an ISATAP address (RFC 5214, 6.1)."""

_METADATA: Final = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "169.254.169.253",  # AWS, its resolver
        "169.254.170.2",  # AWS, container credentials
        "169.254.170.23",  # AWS, pod identity
        "169.254.0.23",  # Tencent
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure, a public address
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS, pod identity
        "fd20:ce::254",  # Google
        "fd00:42::42",  # Scaleway
    )
)


def refusal_of(address: str, *, allow_private: bool = False) -> str | None:
    """Return why `address` must not be connected to, or None if it may be.

    Args:
        address: An IPv4 or IPv6 address in its standard spelling, as resolvers return it; a zone
            id (`fe80::1%eth0`) is understood.
        allow_private: Let everything through but metadata services of clouds, which hand out
            credentials and are never a page.
    """
    text, _, zone = address.partition("%")
    try:
        ip = ip_address(text)
    except ValueError:
        return "not an address that can be judged"
    inner = _embedded(ip) if isinstance(ip, IPv6Address) else ()
    if not _METADATA.isdisjoint((ip, *inner)):
        return "the metadata service of a cloud"
    if allow_private:
        return None
    if zone:
        return "an address of one network link"
    if isinstance(ip, IPv4Address):
        return _refusal_v4(ip)
    return _refusal_v6(ip, inner)


def _refusal_v4(ip: IPv4Address) -> str | None:
    return next((reason for network, reason in _V4 if ip in network), None)


def _refusal_v6(ip: IPv6Address, inner: tuple[IPv4Address, ...]) -> str | None:
    for network, reason in _V6:
        if ip in network:
            return reason
    for embedded in inner:
        reason_inside = _refusal_v4(embedded)
        if reason_inside is not None:
            return f"an IPv6 form of {embedded}, which is {reason_inside}"
    if ip in _MAPPED or ip in _NAT64 or ip in _TEREDO:
        return None
    if ip in _PROTOCOLS or ip not in _GLOBAL_UNICAST:
        return "a reserved address"
    return None


def _embedded(ip: IPv6Address) -> tuple[IPv4Address, ...]:
    """Return every IPv4 address that some gateway could take out of `ip`."""
    number = int(ip)
    low = IPv4Address(number & 0xFFFF_FFFF)
    if any(ip in network for network in (_MAPPED, _TRANSLATED, _COMPATIBLE, _NAT64)):
        return (low,)
    found = []
    if ip in _6TO4:
        found.append(IPv4Address(number >> 80 & 0xFFFF_FFFF))
    elif ip in _TEREDO:
        # The server, and the client with all bits flipped (RFC 4380, 4).
        found.append(IPv4Address(number >> 64 & 0xFFFF_FFFF))
        found.append(IPv4Address(~number & 0xFFFF_FFFF))
    if number >> 32 & 0xFFFF_FFFF in _ISATAP:
        found.append(low)
    return tuple(found)


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+", re.ASCII)


def looks_like_ipv4(host: str) -> bool:
    """Return whether a host name ends in a number, so that it can only be an IPv4 address.

    That is the rule of the URL standard (WHATWG, "ends in a number"): no top-level domain is a
    number, and what such a name means to a resolver differs from system to system.
    """
    labels = host.removesuffix(".").split(".")
    return _NUMBER.fullmatch(labels[-1]) is not None


def parse_ipv4(host: str) -> IPv4Address | None:
    """Return the address that `host` spells in any way that `inet_aton` takes, else None.

    One to four parts, each decimal, octal (`0177`) or hexadecimal (`0x7f`), of which the last
    fills all bytes that are left: `127.1`, `0x7f000001` and `2130706433` are the same address.
    """
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4:
        return None
    numbers = []
    for part in parts:
        number = _number(part)
        if number is None:
            return None
        numbers.append(number)
    *leading, last = numbers
    if any(number > 255 for number in leading) or last >= 256 ** (5 - len(numbers)):
        return None
    value = last
    for position, number in enumerate(leading):
        value += number << 8 * (3 - position)
    return IPv4Address(value)


def _number(part: str) -> int | None:
    if _NUMBER.fullmatch(part) is None or len(part) > 64:
        return None
    if part[:2] in ("0x", "0X"):
        return int(part[2:] or "0", 16)
    try:
        return int(part, 8 if len(part) > 1 and part[0] == "0" else 10)
    except ValueError:  # an octal number with an 8 or a 9
        return None
