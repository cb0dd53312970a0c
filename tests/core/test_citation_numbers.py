from dsh_web import Citation
from dsh_web.citations import numbers_by_url


def cited(index: int | None, url: str | None, **fields: object) -> Citation:
    return Citation(
        provider="p",
        source_type="web",
        source_index=index,
        url=url,
        marker_span=(0, 0),
        claim_span=(0, 0),
        raw_marker="",
        resolved=url is not None,
        **fields,
    )


def test_pages_and_their_numbers_come_in_order_of_first_use():
    citations = [
        cited(4, "https://b.example/"),
        cited(1, "https://a.example/"),
        cited(2, "https://b.example/"),
        cited(4, "https://b.example/"),
    ]

    expected = {"https://b.example/": (4, 2), "https://a.example/": (1,)}
    assert list(expected.items()) == list(numbers_by_url(citations).items())


def test_what_leads_nowhere_or_has_no_number_is_left_out():
    assert {} == numbers_by_url([cited(7, None), cited(None, "https://a.example/")])
