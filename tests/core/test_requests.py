import pickle
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dsh_web import InvalidRequestError, WebFetchRequest, WebRuntime, WebSearchRequest

DAY = date(2026, 10, 31)


def fault_of(**fields: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        WebSearchRequest(**{"query": "q", **fields})
    return caught.value


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\u3000", "\u00a0"])
def test_a_blank_query_is_refused(query):
    assert "query must be a non-empty string" == fault_of(query=query).message


@pytest.mark.parametrize("query", [" padded ", "line\nline", "日本 🎉", "lone \ud800 surrogate"])
def test_a_query_is_kept_as_it_is(query):
    assert query == WebSearchRequest(query=query).query


@pytest.mark.parametrize("query", [None, 5, ["q"]])
def test_a_query_that_is_not_text_is_an_invalid_request(query):
    assert fault_of(query=query).message.startswith("query: ")


@pytest.mark.parametrize("bound", [0, -1, 1.5, "5", True])
def test_a_bound_that_is_no_positive_whole_number_is_refused(bound):
    assert fault_of(max_results=bound).message.startswith("max_results: ")


@pytest.mark.parametrize("name", ["max_tokens", "max_tokens_per_page"])
def test_a_token_budget_must_be_positive(name):
    assert fault_of(**{name: 0}).message.startswith(f"{name}: ")


@pytest.mark.parametrize(
    "fields",
    [
        {"recency": "decade"},
        {"context_size": "huge"},
        {"mode": "dark"},
        {"on_unsupported": "ignore"},
        {"include_raw": "perhaps"},
        {"no_such_filter": 1},
        {"languages": 5},
        {"include_domains": {"a.example": 1}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_every_fault_of_a_field_is_one_typed_error(fields):
    assert "WEB_INVALID_REQUEST" == fault_of(**fields).code


def test_pydantics_own_error_never_surfaces():
    assert not isinstance(fault_of(recency="decade"), ValidationError)


def test_a_fault_names_its_field():
    assert fault_of(recency="decade").message.startswith("recency: ")


def test_a_request_from_a_dict_has_the_same_faults():
    with pytest.raises(InvalidRequestError, match="non-empty"):
        WebSearchRequest.model_validate({"query": " "})


@pytest.mark.parametrize(
    "value", [DAY, datetime(2026, 10, 31, 23, 59), "2026-10-31", " 2026-10-31 "]
)
def test_a_day_is_a_date_a_datetime_or_iso_text(value):
    assert DAY == WebSearchRequest(query="q", published_after=value).published_after


@pytest.mark.parametrize("value", ["10/31/2026", "yesterday", "", "2026-13-01"])
def test_other_spellings_of_a_day_are_refused_with_an_example(value):
    assert (
        f"{value!r} is not a date: give a datetime.date or text such as '2026-10-31'"
        == fault_of(updated_before=value).message
    )


@pytest.mark.parametrize("value", [0, 86400, 1.0, True, (2026, 10, 31)])
def test_a_number_is_never_guessed_to_be_a_day(value):
    assert "WEB_INVALID_REQUEST" == fault_of(published_after=value).code


@pytest.mark.parametrize("what", ["published", "updated"])
def test_days_in_the_wrong_order_are_refused(what):
    error = fault_of(**{f"{what}_after": "2026-10-31", f"{what}_before": "2026-10-01"})

    assert (
        f"{what}_after (2026-10-31) is later than {what}_before (2026-10-01): swap them"
        == error.message
    )


def test_a_range_of_one_day_is_fine():
    request = WebSearchRequest(query="q", published_after=DAY, published_before=DAY)

    assert (DAY, DAY) == (request.published_after, request.published_before)


@pytest.mark.parametrize(("given_code", "kept"), [("nz", "NZ"), (" NZ ", "NZ"), (None, None)])
def test_a_country_is_upper_case(given_code, kept):
    assert kept == WebSearchRequest(query="q", country=given_code).country


@pytest.mark.parametrize("country", ["", "NZL", "N1", "Ñz", 64, "n z"])
def test_a_country_must_have_two_letters(country):
    assert f"{country!r} is not a two-letter country code" == fault_of(country=country).message


def test_languages_are_lower_case():
    assert ("en", "fr") == WebSearchRequest(query="q", languages=["EN", " fr "]).languages


def test_one_language_needs_no_list():
    assert ("en",) == WebSearchRequest(query="q", languages="en").languages


def test_a_language_must_have_two_letters():
    assert "'eng' is not a two-letter language code" == fault_of(languages=["eng"]).message


def test_no_filters_by_none():
    request = WebSearchRequest(query="q", languages=None, include_domains=None, recency=None)

    assert ((), (), None) == (request.languages, request.include_domains, request.recency)


def test_a_request_cannot_change():
    with pytest.raises(ValidationError, match="frozen"):
        WebSearchRequest(query="q").query = "other"


def test_equal_requests_have_one_hash():
    assert 1 == len({WebSearchRequest(query="q", languages=["en"]) for _ in range(2)})


requests = st.builds(
    WebSearchRequest,
    query=st.text(min_size=1).filter(str.strip),
    max_results=st.none() | st.integers(1, 10**6),
    recency=st.none() | st.sampled_from(["hour", "day", "week", "month", "year"]),
    published_after=st.none() | st.dates(max_value=date(2020, 1, 1)),
    published_before=st.none() | st.dates(min_value=date(2020, 1, 1)),
    include_domains=st.lists(
        st.sampled_from(["a.example", ".gov", "b.example/docs", "münchen.de"])
    ),
    country=st.none() | st.sampled_from(["NZ", "de"]),
    languages=st.lists(st.sampled_from(["en", "FR"])),
    mode=st.none() | st.sampled_from(["web", "academic", "sec", "people", "finance"]),
    include_raw=st.booleans(),
)


@given(request=requests)
def test_a_request_round_trips_through_json(request):
    assert request == WebSearchRequest.model_validate(request.model_dump(mode="json"))


@given(request=requests)
def test_a_request_round_trips_through_pickle(request):
    assert request == pickle.loads(pickle.dumps(request))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(fields=st.dictionaries(st.sampled_from(sorted(WebSearchRequest.model_fields)), anything))
def test_no_value_of_any_field_raises_anything_but_an_invalid_request(fields):
    try:
        query = WebSearchRequest(**fields).query
    except InvalidRequestError:
        query = "refused"

    assert query.strip()


@pytest.mark.parametrize("url", ["", "  ", "\n"])
def test_a_blank_url_is_refused(url):
    with pytest.raises(InvalidRequestError, match=r"^url must be a non-empty string$"):
        WebFetchRequest(url=url)


def test_a_url_that_is_not_text_is_an_invalid_request():
    with pytest.raises(InvalidRequestError, match=r"^url: "):
        WebFetchRequest(url=5)


def test_a_fetch_request_round_trips_through_json():
    request = WebFetchRequest(url="https://a.example/ä")

    assert request == WebFetchRequest.model_validate(request.model_dump(mode="json"))


def test_a_blank_query_is_refused_before_a_provider_is_chosen():
    with pytest.raises(InvalidRequestError, match="non-empty"):
        WebRuntime().search("  ")


def test_an_unknown_field_of_a_call_is_named():
    with pytest.raises(InvalidRequestError, match=r"^max_result: "):
        WebRuntime().search("q", max_result=3)


@pytest.mark.parametrize("timeout", [-1, -0.1, float("nan")])
def test_a_timeout_below_zero_is_an_invalid_request(timeout):
    with pytest.raises(InvalidRequestError, match=r"timeout must be 0 or more seconds"):
        WebRuntime(timeout=timeout)


@pytest.mark.parametrize("timeout", ["5", True, [5]])
def test_a_timeout_that_is_no_number_is_a_programming_error(timeout):
    with pytest.raises(TypeError, match=r"timeout must be a number of seconds or None"):
        WebRuntime(timeout=timeout)


@pytest.mark.parametrize("timeout", [None, float("inf")])
def test_no_timeout_is_none(timeout):
    assert WebRuntime(timeout=timeout).timeout is None


def test_a_request_from_text_that_is_no_json_is_an_invalid_request():
    with pytest.raises(InvalidRequestError):
        WebSearchRequest.model_validate_json("{")


def test_a_request_reads_back_from_its_own_json():
    request = WebSearchRequest(query="q", languages=["en"], published_after="2026-01-02")

    assert request == WebSearchRequest.model_validate_json(request.model_dump_json())


@pytest.mark.parametrize("objective", ["", " \n"])
def test_a_blank_objective_is_refused(objective):
    assert "objective must be a non-empty string, or None" == fault_of(objective=objective).message


@pytest.mark.parametrize("queries", [[""], ["a", " "], [3], [None]])
def test_a_search_query_that_is_blank_or_no_text_is_refused(queries):
    expected = "each of search_queries must be a non-empty string"
    assert expected == fault_of(search_queries=queries).message


@pytest.mark.parametrize(
    ("given", "kept"),
    [("tides", ("tides",)), (["a", "b", "a"], ("a", "b")), (None, ()), (("a b",), ("a b",))],
)
def test_search_queries_are_texts_each_once_and_a_lone_text_is_one(given, kept):
    assert kept == WebSearchRequest(query="q", search_queries=given).search_queries
