# ruff: noqa: RUF001
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import BlockedUrlError, InvalidRequestError, InvalidUrlError
from dsh_web._io.route import route_to
from dsh_web.domains import normalize_domains
from dsh_web.fetch_urls import (
    matches_domain,
    read_page_url,
    redirect_target,
    shown_page,
)

READ = {
    "http://ok.example": "http://ok.example/",
    "  https://ok.example/a \n": "https://ok.example/a",
    "HTTPS://OK.Example/A": "https://ok.example/A",
    "http://ok.example:80/": "http://ok.example/",
    "https://ok.example:443/": "https://ok.example/",
    "https://ok.example:80/": "https://ok.example:80/",
    "http://ok.example:/": "http://ok.example/",
    "http://ok.example:08080/": "http://ok.example:8080/",
    "http://ok.example./": "http://ok.example/",
    "http://ok.example/a?": "http://ok.example/a",
    "http://ok.example?q=1": "http://ok.example/?q=1",
    "http://ok.example#part": "http://ok.example/",
    "http://ok.example/a#b?c": "http://ok.example/a",
    "http://ok.example/a?b#c": "http://ok.example/a?b",
    "http://ok.example/?u=http://x@y/": "http://ok.example/?u=http://x@y/",
    "http://ok.example/@user": "http://ok.example/@user",
    "http://ok.example/ä?ö=ü": "http://ok.example/%C3%A4?%C3%B6=%C3%BC",
    "http://ok.example/%7Euser/100%": "http://ok.example/%7Euser/100%25",
    'http://ok.example/<"{}`^>': "http://ok.example/%3C%22%7B%7D%60%5E%3E",
    "http://ok.example/[1]|2": "http://ok.example/[1]|2",
    "http://bücher.example/": "http://xn--bcher-kva.example/",
    "http://BÜCHER.example/": "http://xn--bcher-kva.example/",
    "http://faß.example/": "http://xn--fa-hia.example/",
    "http://ｏｋ.example/": "http://ok.example/",
    "http://ok。example/": "http://ok.example/",
    "http://%6Fk.example/": "http://ok.example/",
    "http://b%C3%BCcher.example/": "http://xn--bcher-kva.example/",
    "http://my_host.example/": "http://my_host.example/",
    "http://8.8.8.8/": "http://8.8.8.8/",
    "http://134744072/": "http://8.8.8.8/",
    "http://0x8.010.2056/": "http://8.8.8.8/",
    "http://８．８．８．８/": "http://8.8.8.8/",
    "http://[2606:2800::1]/": "http://[2606:2800::1]/",
    "http://[2606:2800:0:0:0:0:0:1]:8080/": "http://[2606:2800::1]:8080/",
}
INVALID = [
    "", "x", "ok.example", "//ok.example/", "/a", "http://", "http:///a", "http:/ok.example",
    "http:ok.example", "http://:80/", "http://?a", "http://#a", "ftp://ok.example/",
    "file:///etc/passwd", "javascript:alert(1)", "data:text/html,hi", "view-source:http://a/",
    "http://ok.example:0/", "http://ok.example:65536/", "http://ok.example:-1/",
    "http://ok.example:1e3/", "http://ok.example:８０/", "http://ok.example:80:80/",
    "http://ok.example:99999999999999999999/", "http://ok example/", "http://ok.example/a b",
    "http://ok.example/\x00", "http://ok.example/\r\nx: y", "http://ok\t.example/",
    "http:\\\\ok.example\\", "http://ok.example/\\",
    "http://ok.example/\x7f", "http://ok.example/\u2028", "http://ok.example/\ud800",
    "http://a..b/", "http://.a/", "http://-a.example/", "http://a-.example/", "http://a,b/",
    "http://a!b/", "http://a*b/", "http://a%20b/", "http://a%00/", "http://a%2fb/",
    "http://a%3ab/", "http://a%40b/", "http://a%ff/", "http://a%/", "http://a℀b/",
    "http://[::1/", "http://::1/", "http://[]/", "http://[::g]/", "http://[v1.a]/",
    "http://a[::1]/", "http://[::1]a/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://1..1/",
    "http://08.1.1.1/", "http://a.1/", f"http://{'a' * 64}.example/",
    f"http://{'a.' * 127}example/", "http://xn--\u200d/",
]  # fmt: skip
BLOCKED = [
    "http://ok.example\\@evil.example/", "http://user@ok.example/", "http://user:secret@ok.example/", "http://@ok.example/",
    "http://:secret@ok.example/", "http://a:b@c:d@ok.example/", "http://user:se cret@ok.example/",
    "http://user:secret@/", "http://[fe80::1%25eth0]/",
]  # fmt: skip


@pytest.mark.parametrize(("text", "url"), READ.items())
def test_an_address_is_read_into_its_normal_form(text, url):
    assert url == read_page_url(text).url


@pytest.mark.parametrize("text", INVALID)
def test_what_can_be_read_in_two_ways_or_none_is_invalid(text):
    with pytest.raises(InvalidUrlError) as caught:
        read_page_url(text)

    assert "WEB_INVALID_URL" == caught.value.code
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("text", BLOCKED)
def test_credentials_and_zones_are_blocked_and_credentials_not_repeated(text):
    with pytest.raises(BlockedUrlError) as caught:
        read_page_url(text)

    assert "WEB_BLOCKED_URL" == caught.value.code
    assert "cret" not in caught.value.message


def test_an_invalid_url_is_an_invalid_request():
    assert issubclass(InvalidUrlError, InvalidRequestError)


def test_the_length_is_counted_in_characters_of_the_url_itself():
    url = "http://ok.example/" + "a" * 30

    assert read_page_url(f"  {url}  ", max_length=48).url == url
    with pytest.raises(InvalidUrlError, match="48 characters, of which 47 are allowed"):
        read_page_url(url, max_length=47)


url_like = st.one_of(
    st.text(max_size=60),
    st.text(max_size=40).map(lambda text: f"http://{text}"),
    st.text(alphabet="abc019.:/@[]%\\?# xX-_é０．", max_size=30).map("http://{}".format),
)


@given(url_like)
def test_what_is_checked_is_what_is_connected_to(text):
    try:
        page = read_page_url(text)
    except (InvalidUrlError, BlockedUrlError):
        return

    assert page == read_page_url(page.url, max_length=10_000)
    route = route_to(page.url)
    assert (page.scheme, page.host, page.port) == route.origin
    assert route.url.target == page.target.encode()
    assert page.url.isascii()


@given(st.text(max_size=80))
def test_shown_addresses_hold_no_query_and_stay_short(text):
    shown = shown_page(f"https://ok.example/{text}?key=hunter2#hunter2")

    assert "hunter2" not in shown
    assert shown.isprintable() or "\\" in shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@ok.example/a?b", "'http://ok.example/a'"),
        ("//user:secret@ok.example/", "'//ok.example/'"),
        ("user:secret@ok.example", "'user:ok.example'"),
        ("http://ok.example/@user", "'http://ok.example/@user'"),
        ("http://ok.example/\x1b[31m", "'http://ok.example/\\x1b[31m'"),
    ],
)
def test_shown_addresses_hold_no_credentials(url, shown):
    assert shown == shown_page(url)


# -- redirects -------------------------------------------------------------------------------------

HERE = read_page_url("http://ok.example/docs/here?q=1")


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/a", "http://ok.example/a"),
        ("a", "http://ok.example/docs/a"),
        ("../a", "http://ok.example/a"),
        ("?b", "http://ok.example/docs/here?b"),
        ("", "http://ok.example/docs/here?q=1"),
        ("#x", "http://ok.example/docs/here?q=1"),
        ("//else.example/a", "http://else.example/a"),
        ("https://ok.example/a", "https://ok.example/a"),
        (" /a b ", "http://ok.example/a%20b"),
        ("/\u00c3\u00a4", "http://ok.example/%C3%A4"),
        ("/\u00e4", "http://ok.example/%C3%A4"),
    ],
)
def test_a_redirect_is_resolved_against_its_page(location, url):
    assert url == redirect_target(HERE, location, max_length=2048).url


@pytest.mark.parametrize(
    "location",
    [
        "http:/a", "http:a", "http:///a", "///a", "//", "http://", "\\\\a", "/\\a", "/a\tb",
        "javascript:1", "ftp://ok.example/", "http://[::1", "//[", "http://user@ok.example/",
    ],
)  # fmt: skip
def test_a_redirect_that_is_unclear_is_refused(location):
    with pytest.raises((InvalidUrlError, BlockedUrlError)):
        redirect_target(HERE, location, max_length=2048)


# -- domains ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "domain", "belongs"),
    [
        ("http://ok.example/", "ok.example", True),
        ("http://www.ok.example/", "ok.example", True),
        ("http://a.b.ok.example/", "ok.example", True),
        ("http://notok.example/", "ok.example", False),
        ("http://ok.example.evil.example/", "ok.example", False),
        ("http://OK.example./", "ok.example", True),
        ("http://dept.gov/", ".gov", True),
        ("http://gov.example/", ".gov", False),
        ("http://bücher.example/", "bücher.example", True),
        ("http://faß.example/", "faß.example", True),
        ("http://faß.example/", "fass.example", False),
        ("http://xn--fa-hia.example/", "FAß.example", True),
        ("http://ok.example/docs", "ok.example/docs", True),
        ("http://ok.example/docs/a?b", "ok.example/docs", True),
        ("http://ok.example/docs2", "ok.example/docs", False),
        ("http://ok.example/other", "ok.example/docs", False),
        ("http://ok.example/%64ocs", "ok.example/docs", True),
        ("http://ok.example/a/../docs", "ok.example/docs", True),
        ("http://ok.example/a/%2e%2e/docs", "ok.example/docs", True),
        ("http://ok.example/docs/../secret", "ok.example/docs", False),
        ("http://ok.example//docs", "ok.example/docs", True),
        ("http://ok.example/Docs", "ok.example/docs", True),
        ("http://8.8.8.8/", "8.8.8.8", True),
        ("http://134744072/", "8.8.8.8", True),
    ],
)
def test_a_page_belongs_to_a_domain_however_it_is_spelled(url, domain, belongs):
    assert belongs == bool(matches_domain(read_page_url(url), normalize_domains([domain])))
