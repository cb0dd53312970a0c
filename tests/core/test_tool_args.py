import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError
from dsh_web.tool_args import (
    read_queries,
    read_url,
    web_fetch_arguments,
    web_fetch_description,
    web_search_arguments,
    web_search_description,
)


def read(value: object, most: int = 4) -> tuple[str, ...]:
    return read_queries({"queries": value}, most)


def fault_of(value: object, most: int = 4) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        read(value, most)
    return caught.value.message


TWICE = json.dumps(json.dumps(["a", "b"]))


@pytest.mark.parametrize(
    ("value", "queries"),
    [
        (["a", "b"], ("a", "b")),
        (("a", "b"), ("a", "b")),
        ("a", ("a",)),
        ('["a", "b"]', ("a", "b")),
        (' ["a"]\n', ("a",)),
        (TWICE, ("a", "b")),
        ({"query": "a"}, ("a",)),
        ({"queries": ["a", "b"]}, ("a", "b")),
        ({"input": "a"}, ("a",)),
        ({"search_query": "a"}, ("a",)),
        ('{"query": "a"}', ("a",)),
        ('{"queries": ["a", "b"]}', ("a", "b")),
        ('{"search_query": "a"}', ("a",)),
        (json.dumps('{"query": "a"}'), ("a",)),
    ],
    ids=str,
)
def test_every_form_that_models_write_is_understood(value, queries):
    assert queries == read(value)


@pytest.mark.parametrize(
    "text",
    [
        '"an exact phrase"',
        "5",
        "null",
        "true",
        "[not json",
        '{"query": "a", "limit": 3}',
        '{"q": "a"}',
        "[1, 2]",
        '["a", 1]',
        '{"name": ["a"]}',
        "[link](https://a.example/)",
        json.dumps(json.dumps(json.dumps(["a"]))),
    ],
)
def test_any_other_text_stays_the_query(text):
    assert (text,) == read(text)


@pytest.mark.parametrize("name", ["query", "queries", "input", "search_query"])
def test_another_usual_name_may_stand_in_for_the_argument(name):
    assert ("a",) == read_queries({name: "a"}, 4)


def test_the_real_name_wins_over_the_others():
    assert ("a",) == read_queries({"input": "b", "queries": ["a"]}, 4)


def test_a_null_argument_gives_way_to_another_name():
    assert ("a",) == read_queries({"queries": None, "query": "a"}, 4)


def test_a_falsy_argument_is_not_mistaken_for_an_absent_one():
    assert "each query must be a non-empty string" == fault_of("")


@pytest.mark.parametrize("value", [None, [], "[]", {"queries": []}])
def test_no_query_is_the_first_fault(value):
    assert "queries must contain at least one query" == fault_of(value)


def test_no_argument_at_all_is_the_same_fault():
    with pytest.raises(InvalidRequestError, match="at least one query"):
        read_queries({}, 4)


@pytest.mark.parametrize(
    "value", [["a", ""], ["  "], " ", [5], 5, [None], [["a"]], {"q": "a"}, True]
)
def test_a_query_that_is_no_text_is_the_second_fault(value):
    assert "each query must be a non-empty string" == fault_of(value)


@pytest.mark.parametrize(
    ("most", "message"),
    [(1, "queries must contain at most 1 query"), (3, "queries must contain at most 3 queries")],
)
def test_too_many_queries_are_the_third_fault(most, message):
    assert message == fault_of([str(number) for number in range(most + 1)], most)


def test_exact_repeats_run_once():
    assert ("a", "b") == read(["a", "b", "a"])


def test_repeats_do_not_count_against_the_bound():
    assert ("a",) == read('["a", "a", "a"]', 1)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=5,
)
encoded = anything.map(json.dumps) | anything.map(json.dumps).map(json.dumps)


@given(value=anything | encoded)
def test_any_argument_is_queries_or_an_argument_fault(value):
    try:
        queries = read(value)
    except InvalidRequestError:
        queries = ("refused",)

    assert all(query.strip() for query in queries)


def test_deeply_nested_text_is_the_query_itself():
    text = "[" * 100_000

    assert (text,) == read(text)


@given(queries=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4, unique=True))
def test_a_list_reads_the_same_plain_encoded_and_twice_encoded(queries):
    once = json.dumps(queries)

    assert (tuple(queries),) * 3 == (read(queries), read(once), read(json.dumps(once)))


def test_the_schema_that_a_model_sees_is_exactly_this():
    expected = """{
  "additionalProperties": false,
  "properties": {
    "queries": {
      "description": "Search queries, each a complete question or a few key words.",
      "items": {
        "type": "string"
      },
      "maxItems": 4,
      "minItems": 1,
      "title": "Queries",
      "type": "array"
    }
  },
  "required": [
    "queries"
  ],
  "title": "WebSearchArguments",
  "type": "object"
}"""
    schema = web_search_arguments(4).model_json_schema()

    assert expected == json.dumps(schema, indent=2, sort_keys=True)


def test_the_schema_is_the_same_object_every_time():
    assert web_search_arguments(4) is web_search_arguments(4)


def test_the_schema_tells_the_bound():
    schema = web_search_arguments(2).model_json_schema()

    assert 2 == schema["properties"]["queries"]["maxItems"]


@pytest.mark.parametrize(
    "arguments", [{}, {"queries": 5}, {"query": "a"}, {"queries": ["a"], "x": 1}]
)
def test_no_slip_of_a_model_fails_at_the_schema(arguments):
    read_back = web_search_arguments(4).model_validate(arguments).model_dump(exclude_unset=True)

    assert arguments == read_back


@pytest.mark.parametrize(("most", "words"), [(1, "Give one query;"), (4, "Give up to 4 queries;")])
def test_the_description_tells_the_bound(most, words):
    assert words in web_search_description(most)


# -- the address of a page -------------------------------------------------------------------------

PAGE = "https://a.example/x?y=1"


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": PAGE},
        {"url": f"  {PAGE}\n"},
        {"url": json.dumps(PAGE)},
        {"url": json.dumps(json.dumps(PAGE))},
        {"url": json.dumps({"url": PAGE})},
        {"url": json.dumps(json.dumps({"url": PAGE}))},
        {"url": {"url": PAGE}},
        {"url": [PAGE]},
        {"url": json.dumps([PAGE])},
        {"url": {"urls": [PAGE]}},
        {"urls": [PAGE]},
        {"uri": PAGE},
        {"link": PAGE},
        {"input": PAGE},
        {"url": None, "input": PAGE},
        {"url": PAGE, "input": "something else"},
    ],
)
def test_an_address_is_read_as_it_is_meant(arguments):
    assert read_url(arguments) == PAGE


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"url": None},
        {"url": ""},
        {"url": " \n"},
        {"url": 5},
        {"url": True},
        {"url": []},
        {"url": [PAGE, PAGE]},
        {"url": [""]},
        {"url": {"colour": PAGE}},
        {"url": {"url": {"colour": PAGE}}},
        {"url": '""'},
        {"url": "[]"},
        {"query": PAGE},
    ],
)
def test_what_is_no_address_is_a_fault(arguments):
    with pytest.raises(InvalidRequestError) as caught:
        read_url(arguments)

    assert str(caught.value) == "url must be a non-empty string"
    assert caught.value.code == "WEB_INVALID_REQUEST"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("url"), inner),
    max_leaves=6,
)


@given(JSON, st.booleans())
def test_an_argument_of_any_shape_is_an_address_or_a_fault(value, is_text):
    try:
        url = read_url({"url": json.dumps(value) if is_text else value})
    except InvalidRequestError:
        return
    assert url
    assert url == url.strip()


def test_a_model_is_shown_that_it_must_give_one_address():
    schema = web_fetch_arguments().model_json_schema()

    assert schema["required"] == ["url"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["url"]["type"] == "string"
    assert "default" not in schema["properties"]["url"]
    assert len(web_fetch_description()) < 1024
