import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from dsh_web import (
    HtmlBody,
    PdfBody,
    TextBody,
    Usage,
    WebFetchResult,
    WebImage,
    WebSearchResult,
    WebSearchSource,
)

URL = "https://a.example/page"
BLANKS = ["", " ", "\n\t", "\u3000"]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("name", ["title", "snippet", "published_at", "updated_at"])
def test_a_blank_field_of_a_source_is_absent(name, blank):
    assert getattr(WebSearchSource(url=URL, **{name: blank}), name) is None


def test_a_field_that_is_not_blank_is_kept_as_it_is():
    assert " 2 hours ago " == WebSearchSource(url=URL, published_at=" 2 hours ago ").published_at


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"url": URL, "title": "Title"}, "Title"),
        ({"url": URL}, "a.example"),
        ({"url": URL, "title": "  "}, "a.example"),
        ({"url": "https://A.Example:8080/x"}, "a.example"),
        ({"url": "no address"}, "no address"),
        ({"url": "http://[broken"}, "http://[broken"),
        ({"url": ""}, ""),
    ],
)
def test_a_label_is_the_title_then_the_host_then_the_url(fields, label):
    assert label == WebSearchSource(**fields).label


@given(url=st.text(), title=st.none() | st.text())
def test_a_label_never_raises(url, title):
    assert isinstance(WebSearchSource(url=url, title=title).label, str)


@given(url=st.text())
def test_a_hostile_address_with_a_scheme_still_has_a_label(url):
    assert isinstance(WebSearchSource(url=f"https://{url}").label, str)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"snippet": "Passage.", "title": "Title"}, "Passage."),
        ({"snippet": "Passage.", "origin": "link"}, "Passage."),
        ({"origin": "link"}, "a.example"),
        ({"origin": "link", "title": "Title"}, "Title"),
        ({}, "a.example"),
        ({"title": "Title"}, ""),
        ({"origin": "result"}, ""),
        ({"origin": "page", "title": "Title"}, ""),
    ],
)
def test_the_text_of_a_source_is_its_snippet_or_for_a_bare_address_its_label(fields, text):
    assert text == WebSearchSource(url=URL, **fields).text


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), float("-inf")])
def test_a_cost_that_is_no_amount_is_unknown(cost):
    assert Usage(cost_usd=cost).cost_usd is None


@pytest.mark.parametrize(
    "value",
    [
        WebSearchSource(url=URL),
        WebImage(url=URL),
        Usage(),
        WebSearchResult(provider="p"),
        TextBody(content="x"),
        WebFetchResult(url=URL, status_code=200, body=TextBody(content="x")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_part_of_a_result_is_immutable(value):
    name = next(iter(type(value).model_fields))

    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, None)


def test_a_result_has_its_sources_in_a_tuple():
    assert (WebSearchSource(url=URL),) == WebSearchResult(
        provider="p", sources=[WebSearchSource(url=URL)]
    ).sources


def test_an_absent_answer_is_none():
    assert WebSearchResult(provider="p").content is None


def test_a_result_of_a_later_version_can_be_read():
    stored = WebSearchResult(provider="p").model_dump(mode="json") | {"mood": "fine"}

    assert WebSearchResult(provider="p") == WebSearchResult.model_validate(stored)


texts = st.text(st.characters(exclude_categories=["Cs"]))
sources = st.builds(
    WebSearchSource,
    url=texts,
    title=st.none() | texts,
    snippet=st.none() | texts,
    published_at=st.none() | texts,
    updated_at=st.none() | texts,
    ids=st.lists(st.integers(-5, 10**6), max_size=3),
    origin=st.sampled_from([None, "result", "page", "link"]),
)
numbers = st.none() | st.integers(0, 10**9)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
results = st.builds(
    WebSearchResult,
    content=st.none() | texts,
    sources=st.lists(sources, max_size=3),
    truncated=st.booleans(),
    provider=texts,
    model=st.none() | texts,
    usage=st.none()
    | st.builds(
        Usage,
        input_tokens=numbers,
        searches=numbers,
        cost_usd=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    ),
    related_questions=st.lists(texts, max_size=2),
    images=st.lists(st.builds(WebImage, url=texts, width=numbers), max_size=2),
    warnings=st.lists(texts, max_size=2),
    raw=json_values,
)
bodies = (
    st.builds(HtmlBody, content=texts)
    | st.builds(TextBody, content=texts)
    | st.builds(PdfBody, content=texts, page_count=st.integers(0, 999))
)
fetched = st.builds(WebFetchResult, url=texts, status_code=st.integers(100, 599), body=bodies)


@given(result=results | fetched)
def test_a_result_round_trips_through_json(result):
    assert result == type(result).model_validate(result.model_dump(mode="json"))


@given(result=results | fetched)
def test_a_result_round_trips_through_json_text(result):
    assert result == type(result).model_validate_json(result.model_dump_json())


@given(result=results | fetched)
def test_a_result_round_trips_through_pickle(result):
    assert result == pickle.loads(pickle.dumps(result))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (HtmlBody(content="<p>"), "html"),
        (TextBody(content="x"), "text"),
        (PdfBody(content="x", page_count=2), "pdf"),
    ],
)
def test_a_body_is_told_apart_by_its_kind(body, kind):
    stored = WebFetchResult(url=URL, status_code=200, body=body).model_dump(mode="json")

    assert kind == stored["body"]["kind"]


def test_an_unknown_kind_of_body_is_refused():
    adapter = TypeAdapter(WebFetchResult)

    with pytest.raises(ValidationError, match="union_tag_invalid"):
        adapter.validate_python(
            {"url": URL, "status_code": 200, "body": {"kind": "video", "content": ""}}
        )


def test_a_page_that_was_not_found_is_a_result():
    result = WebFetchResult(url=URL, status_code=404, body=HtmlBody(content="<h1>Gone</h1>"))

    assert 404 == result.status_code
