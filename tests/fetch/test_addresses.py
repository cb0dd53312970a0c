import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web.addresses import looks_like_ipv4, parse_ipv4, refusal_of

REFUSED = {
    "0.0.0.0": "an unspecified address",
    "0.255.255.255": "an unspecified address",
    "10.0.0.0": "a private address",
    "10.255.255.255": "a private address",
    "100.64.0.0": "a carrier-grade NAT address",
    "100.127.255.255": "a carrier-grade NAT address",
    "127.0.0.1": "a loopback address",
    "127.255.255.255": "a loopback address",
    "169.254.0.1": "a link-local address",
    "169.254.169.254": "the metadata service of a cloud",
    "172.16.0.0": "a private address",
    "172.31.255.255": "a private address",
    "192.0.0.8": "a reserved address",
    "192.0.0.192": "the metadata service of a cloud",
    "192.0.2.1": "an address for documentation",
    "192.88.99.1": "a reserved address",
    "192.168.0.0": "a private address",
    "192.168.255.255": "a private address",
    "198.18.0.0": "an address for benchmarks",
    "198.19.255.255": "an address for benchmarks",
    "198.51.100.1": "an address for documentation",
    "203.0.113.1": "an address for documentation",
    "224.0.0.1": "a multicast address",
    "239.255.255.255": "a multicast address",
    "240.0.0.1": "a reserved address",
    "255.255.255.255": "a reserved address",
    "168.63.129.16": "the metadata service of a cloud",
    "::": "the unspecified address",
    "::1": "the loopback address",
    "::7f00:1": "an IPv6 form of 127.0.0.1, which is a loopback address",
    "::808:808": "a reserved address",
    "::ffff:7f00:1": "an IPv6 form of 127.0.0.1, which is a loopback address",
    "::ffff:0:7f00:1": "an IPv6 form of 127.0.0.1, which is a loopback address",
    "::ffff:0:808:808": "a reserved address",
    "64:ff9b::a00:1": "an IPv6 form of 10.0.0.1, which is a private address",
    "64:ff9b:1::808:808": "a translation address of a local network",
    "64:ff9c::808:808": "a reserved address",
    "100::1": "a discard-only address",
    "2001:0:7f00:1::f7f7:f7f7": "an IPv6 form of 127.0.0.1, which is a loopback address",
    "2001:0:808:808::80ff:fffe": "an IPv6 form of 127.0.0.1, which is a loopback address",
    "2001:1::1": "a reserved address",
    "2001:2::1": "an address for benchmarks",
    "2001:1ff:ffff::1": "a reserved address",
    "2001:db8::1": "an address for documentation",
    "2002:a00:1::1": "an IPv6 form of 10.0.0.1, which is a private address",
    "2a00:1450::5efe:a00:1": "an IPv6 form of 10.0.0.1, which is a private address",
    "2a00:1450::200:5efe:a00:1": "an IPv6 form of 10.0.0.1, which is a private address",
    "3fff:fff::1": "an address for documentation",
    "4000::1": "a reserved address",
    "5f00::1": "a reserved address",
    "fc00::1": "a unique local address",
    "fdff::1": "a unique local address",
    "fd00:ec2::254": "the metadata service of a cloud",
    "fe80::1": "a link-local address",
    "fe80::1%eth0": "an address of one network link",
    "2a00:1450::1%1": "an address of one network link",
    "fec0::1": "a site-local address",
    "ff02::1": "a multicast address",
    "::ffff:a9fe:a9fe": "the metadata service of a cloud",
    "64:ff9b::a9fe:a9fe": "the metadata service of a cloud",
    "example.com": "not an address that can be judged",
    "0x7f.1": "not an address that can be judged",
    "": "not an address that can be judged",
}
PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255",
    "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
    "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.167.255.255",
    "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
    "2606:2800:220:1:248:1893:25c8:1946", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888",
    "2001:200::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
]  # fmt: skip


@pytest.mark.parametrize(("address", "reason"), REFUSED.items())
def test_an_address_that_is_not_public_is_refused_with_its_reason(address, reason):
    assert reason == refusal_of(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_let_through(address):
    assert refusal_of(address) is None


@given(st.ip_addresses(v=4))
def test_nothing_passes_that_the_standard_library_calls_anything_but_global(ip):
    if refusal_of(str(ip)) is None:
        assert ip.is_global
        assert not (ip.is_private)
        assert not (ip.is_loopback)
        assert not (ip.is_link_local)
        assert not (ip.is_multicast)


@given(st.ip_addresses(v=6))
def test_nor_does_any_such_ipv6_address(ip):
    if refusal_of(str(ip)) is None:
        nets = ("2000::/3", "::ffff:0:0/96", "64:ff9b::/96")
        assert any(ip in ipaddress.ip_network(net) for net in nets)
        assert not (ip.is_loopback)
        assert not (ip.is_link_local)
        assert not (ip.is_multicast)
        assert not (ip.is_site_local)


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}"]))
def test_what_stands_inside_decides(ip, form):
    assert (refusal_of(str(ip)) is None) == (refusal_of(form.format(ip)) is None)


@given(st.ip_addresses(v=4))
def test_every_form_that_holds_a_bad_address_is_refused(ip):
    if refusal_of(str(ip)) is None:
        return
    high, low = divmod(int(ip), 0x1_0000)
    for form in (
        f"2002:{high:x}:{low:x}::1",
        f"::{high:x}:{low:x}",
        f"::ffff:0:{high:x}:{low:x}",
        f"2001:0:{high:x}:{low:x}::f7f7:f7f7",
        f"2001:0:808:808::{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}",
        f"2606:2800::5efe:{high:x}:{low:x}",
    ):
        assert refusal_of(form) is not None


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%2", "fd00::1"])
def test_private_addresses_can_be_let_through(address):
    assert refusal_of(address, allow_private=True) is None


@given(st.ip_addresses(v=4), st.sampled_from(["dotted", "number", "hex", "octal", "short"]))
def test_all_spellings_of_one_address_are_read_as_it(ip, spelling):
    number = int(ip)
    text = {
        "dotted": str(ip),
        "number": str(number),
        "hex": hex(number),
        "octal": f"0{number:o}",
        "short": f"{number >> 24}.{number & 0xFFFFFF}",
    }[spelling]

    assert looks_like_ipv4(text)
    assert ip == parse_ipv4(text)


part = st.one_of(
    st.integers(0, 2**33).map(str),
    st.integers(0, 2**33).map(hex),
    st.integers(0, 2**33).map(lambda number: f"0{number:o}"),
    st.sampled_from(["", "08", "0x", "0xg", "256", "255", "00", "1e1"]),
)


@given(st.lists(part, min_size=1, max_size=5).map(".".join))
def test_numbers_are_read_as_the_system_reads_them(text):
    try:
        expected = ipaddress.IPv4Address(socket.inet_aton(text))
    except OSError:
        expected = None
    # The URL standard takes a bare 0x for zero and one dot at the end; resolvers need not.
    if expected is not None:
        assert expected == parse_ipv4(text)
    elif not text.endswith(".") and "0x." not in f"{text}.":
        assert parse_ipv4(text) is None


@pytest.mark.parametrize(
    "host", ["example.com", "1.example", "0xcafe.example", "a1", "xn--p1ai", ""]
)
def test_a_name_is_no_number(host):
    assert not looks_like_ipv4(host)


def test_a_number_with_thousands_of_digits_is_no_address():
    assert parse_ipv4("1" * 5000) is None
