import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError, WebSearchRequest


def sites(*values: object) -> tuple[str, ...]:
    return WebSearchRequest(query="q", include_domains=values).include_domains


@pytest.mark.parametrize(
    ("pasted", "site"),
    [
        ("example.com", "example.com"),
        ("Example.COM", "example.com"),
        ("  example.com\n", "example.com"),
        ("https://example.com", "example.com"),
        ("HTTPS://www.Example.com/", "example.com"),
        ("www.example.com", "example.com"),
        ("example.com:8443", "example.com"),
        ("http://example.com:80/docs/", "example.com/docs"),
        ("example.com/Docs/API", "example.com/Docs/API"),
        ("example.com/docs?x=1#y", "example.com/docs"),
        ("example.com.", "example.com"),
        (".gov", ".gov"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("localhost", "localhost"),
        ("sub-domain.example.co.uk", "sub-domain.example.co.uk"),
    ],
)
def test_a_pasted_site_gets_one_spelling(pasted, site):
    assert (site,) == sites(pasted)


def test_repeats_are_dropped_after_spelling():
    assert ("a.example", "b.example") == sites("a.example", "https://www.a.example/", "b.example")


def test_one_site_needs_no_list():
    assert ("a.example",) == WebSearchRequest(
        query="q", exclude_domains="a.example"
    ).exclude_domains


def test_a_denied_site_in_the_allow_list_is_sent_to_the_other_filter():
    with pytest.raises(InvalidRequestError) as caught:
        sites("-a.example")

    assert "'-a.example': put sites to leave out into exclude_domains" == caught.value.message


def test_an_asterisk_is_refused_with_the_reason():
    with pytest.raises(InvalidRequestError) as caught:
        sites("*.a.example")

    assert (
        "'*.a.example': leave the asterisk out, a domain includes its subdomains"
        == caught.value.message
    )


@pytest.mark.parametrize("value", ["", "  ", "two words", "a..example", "http://", 5, None, "a,b"])
def test_what_is_no_site_is_named(value):
    with pytest.raises(InvalidRequestError) as caught:
        sites(value)

    assert (
        f"{value!r} is not a domain: give a site such as 'example.com', '.gov' "
        "or 'example.com/docs'"
    ) == caught.value.message


labels = st.from_regex(r"[a-zA-Z0-9äß]{1,8}", fullmatch=True).filter(lambda s: s.lower() != "www")


@given(
    scheme=st.sampled_from(["", "http://", "HTTPS://"]),
    www=st.sampled_from(["", "www."]),
    host=st.lists(labels, min_size=2, max_size=3).map(".".join),
    path=st.from_regex(r"(/[a-z]{0,3}){0,3}", fullmatch=True),
)
def test_spelling_a_site_twice_changes_nothing(scheme, www, host, path):
    once = sites(scheme + www + host + path)

    assert once == sites(*once)


@given(value=st.text())
def test_any_text_is_a_site_or_an_invalid_request(value):
    try:
        found = sites(value)
    except InvalidRequestError:
        found = ("refused",)

    assert 1 == len(found)


@pytest.mark.parametrize("site", ["www.gov.uk", "www.com", "www.co.jp"])
def test_www_stays_where_leaving_it_out_would_widen_the_filter(site):
    assert (site,) == sites(f"https://{site}/")
