# ruff: noqa: RUF001
"""Addresses that must never be connected to, in every spelling that some parser accepts."""

from __future__ import annotations

from ipaddress import IPv4Address

TARGETS = {
    "loopback": "127.0.0.1",
    "private": "10.0.0.1",
    "metadata": "169.254.169.254",
    "home": "192.168.1.1",
    "carrier": "100.64.0.1",
    "unspecified": "0.0.0.0",
}


def spellings(address: str) -> dict[str, str]:
    """Return hosts, as they stand in a URL, that mean this IPv4 address to somebody."""
    a, b, c, d = (int(part) for part in address.split("."))
    number = int(IPv4Address(address))
    high, low = number >> 16, number & 0xFFFF
    flipped = number ^ 0xFFFF_FFFF
    wide = str.maketrans("0123456789.", "０１２３４５６７８９．")
    circled = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")
    return {
        "plain": address,
        "decimal": str(number),
        "hex": hex(number),
        "upper hex": f"0X{number:X}",
        "padded hex": f"0x{number:032x}",
        "octal": f"0{number:o}",
        "padded octal": f"{number:020o}",
        "hex parts": f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
        "octal parts": f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        "padded parts": f"{a:04o}.{b:04o}.{c:04o}.{d:04o}",
        "mixed parts": f"0x{a:x}.0{b:o}.{low}",
        "two parts": f"{a}.{number & 0xFFFFFF}",
        "three parts": f"{a}.{b}.{low}",
        "trailing dot": f"{address}.",
        "full width": address.translate(wide),
        "full-width stop": address.replace(".", "．"),
        "ideographic stop": address.replace(".", "。"),
        "half-width stop": address.replace(".", "｡"),
        "circled digits": address.translate(circled),
        "percent encoded": "".join(f"%{ord(character):02x}" for character in address),
        "percent-encoded dots": address.replace(".", "%2E"),
        "percent-encoded wide": "".join(f"%{x:02X}" for x in address.translate(wide).encode()),
        "soft hyphen": f"{address[:1]}\u00ad{address[1:]}",
        "mapped": f"[::ffff:{address}]",
        "mapped in hex": f"[::ffff:{high:x}:{low:x}]",
        "mapped in full": f"[0000:0000:0000:0000:0000:FFFF:{high:04X}:{low:04X}]",
        "compatible": f"[::{high:x}:{low:x}]",
        "translated": f"[::ffff:0:{high:x}:{low:x}]",
        "nat64": f"[64:ff9b::{high:x}:{low:x}]",
        "nat64 dotted": f"[64:ff9b::{address}]",
        "local nat64": f"[64:ff9b:1::{high:x}:{low:x}]",
        "6to4": f"[2002:{high:x}:{low:x}::1]",
        "teredo server": f"[2001:0:{high:x}:{low:x}::a27b:27dd]",
        "teredo client": f"[2001:0:5db8:d822::{flipped >> 16:x}:{flipped & 0xFFFF:x}]",
        "isatap": f"[2a00:1450:4001:81b:0:5efe:{high:x}:{low:x}]",
        "isatap, universal": f"[2a00:1450:4001:81b:200:5efe:{high:x}:{low:x}]",
    }


SPELLED = {
    f"{name}, {spelling}": f"http://{host}/"
    for name, address in TARGETS.items()
    for spelling, host in spellings(address).items()
}

OTHERS = {
    f"other {position}": url
    for position, url in enumerate(
        (
            "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::1]:8080/",
            "http://[::1%25lo]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/",
            "http://[fe80::1]/", "http://[febf::1]/", "http://[fec0::1]/", "http://[fc00::1]/",
            "http://[fd00::1]/", "http://[fdff::1]/", "http://[fd00:ec2::254]/",
            "http://[fd00:ec2:0::254]/latest/", "http://[fd20:ce::254]/", "http://[ff02::1]/",
            "http://[ff0e::1]/", "http://[100::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/",
            "http://[2001:2::1]/", "http://[2001:10::1]/", "http://[2001:20::1]/",
            "http://[4000::1]/", "http://[5f00::1]/", "http://[64:ff9b:1:fffe::8.8.8.8]/",
            "http://[::8.8.8.8]/",
            "http://127.1/", "http://127.0.1/", "http://127.255.255.255/", "http://0/",
            "http://0x0/", "http://0x/", "http://00/", "http://0.0.0.0:80/", "http://127.127/",
            "http://169.254.0.1/", "http://169.254.170.2/v2/credentials", "http://172.16.0.1/",
            "http://172.31.255.255/", "http://192.168.255.255/", "http://10.255.255.255/",
            "http://100.100.100.200/latest/meta-data/", "http://168.63.129.16/machine/",
            "http://192.0.0.192/opc/", "http://192.0.2.1/", "http://198.51.100.1/",
            "http://203.0.113.1/", "http://198.18.0.1/", "http://198.19.255.255/",
            "http://192.88.99.1/", "http://224.0.0.1/", "http://239.255.255.250/",
            "http://240.0.0.1/", "http://255.255.255.255/",
            "https://127.0.0.1/", "HTTP://127.0.0.1/", "http:\\\\127.0.0.1/", "http:/127.0.0.1/",
            "http:127.0.0.1/", "http:///127.0.0.1/", "http://127.0.0.1:22/", "http://127.0.0.1#a",
            "http://127.0.0.1?x=1", " http://127.0.0.1/ ", "http://127.0.0.1\t/",
            "http://127.0.0.1\\@ok.example/", "http://ok.example@127.0.0.1/",
            "http://ok.example:80@127.0.0.1/", "http://ok.example%40127.0.0.1/",
            "http://127.0.0.1%00.ok.example/", "http://127.0.0.1%23.ok.example/",
            "http://127.0.0.1%2f.ok.example/", "http://ok.example\\.127.0.0.1/",
            "http://[::ffff:127.0.0.1/", "http://[127.0.0.1]/", "http://[localhost]/",
            "http://256.0.0.1/", "http://127.0.0.0x1/", "http://4294967296/", "http://1.2.3.4.5/",
            "http://127.0.0.08/", "http://127.0.0.1.:0/", "http://127.0.0.1:99999/",
        )
    )
}  # fmt: skip
"""Some are no addresses at all; what counts is that nothing is connected to."""

ANSWERS: dict[str, list[str]] = {
    "loopback": ["127.0.0.1"],
    "all of 127/8": ["127.8.8.8"],
    "private": ["10.1.2.3"],
    "metadata": ["169.254.169.254"],
    "azure": ["168.63.129.16"],
    "alibaba": ["100.100.100.200"],
    "loopback v6": ["::1"],
    "unspecified v6": ["::"],
    "mapped": ["::ffff:10.0.0.1"],
    "unique local": ["fd12:3456::1"],
    "link-local with zone": ["fe80::1%2"],
    "aws v6": ["fd00:ec2::254"],
    "nat64": ["64:ff9b::a00:1"],
    "6to4": ["2002:a00:1::"],
    "good, then bad": ["93.184.216.34", "127.0.0.1"],
    "bad, then good": ["127.0.0.1", "93.184.216.34"],
    "good v4, bad v6": ["93.184.216.34", "::1"],
    "good v6, bad v4": ["2606:2800:220:1::1", "192.168.0.1"],
    "one among many": ["93.184.216.34"] * 20 + ["10.0.0.1"] + ["93.184.216.35"] * 20,
    "no address": ["intranet"],
    "odd spelling": ["0x7f.1"],
}
"""What a name that looks harmless may resolve to."""

IN_REDIRECTS = {
    **{name: url for name, url in SPELLED.items() if name.startswith(("loopback", "metadata"))},
    **{name: url for name, url in OTHERS.items() if url == url.strip()},
}
