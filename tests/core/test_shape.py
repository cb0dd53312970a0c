import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web.providers._shape import Reader, is_web_url, parse_json


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, "x", null, true]}', {"a": [1, "x", None, True]}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b' \r\n{"a": 1}\n', {"a": 1}),
        (b'"caf\xe9"', "caf\ufffd"),
        (b'"\xff\xfe"', "\ufffd\ufffd"),
        (b'"\\ud800"', "\ufffd"),
        (b'"\\udc00x"', "\ufffdx"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'{"\\ud800": 1}', {"\ufffd": 1}),
        (b'[["\\ud800"]]', [["\ufffd"]]),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b"[" * 100 + b"]" * 100, json.loads("[" * 100 + "]" * 100)),
    ],
    ids=range(13),
)
def test_json_is_read_leniently(body, value):
    assert value == parse_json(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"{]",
        b"{'a': 1}",
        b"undefined",
        b"<html>",
        b'{"a": 1} trailing',
        b'{"a": 1}{"b": 2}',
        b"[1,]",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"1" * 5000,
        '{"a": 1}'.encode("utf-16"),
    ],
    ids=range(15),
)
def test_what_is_not_json_is_a_value_error(body):
    with pytest.raises(ValueError, match=r"line \d+ column \d+"):
        parse_json(body)


@given(body=st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_value_or_a_value_error(body):
    try:
        value = parse_json(body)
    except ValueError as error:
        value = str(error)

    assert isinstance(value, dict | list | str | int | float | bool | None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(value=json_values)
def test_json_reads_back_as_it_was(value):
    assert value == parse_json(json.dumps(value, ensure_ascii=True).encode())


@given(value=json_values, cut=st.integers(0, 200))
def test_a_cut_body_is_a_value_or_a_value_error(value, cut):
    try:
        read = parse_json(json.dumps([value], ensure_ascii=False).encode()[:cut])
    except ValueError:
        read = [value]

    assert [value] == read


@given(text=st.text(st.characters(categories=["Cs", "Lu"])))
def test_no_lone_surrogate_comes_through(text):
    read = parse_json(json.dumps([text]).encode())[0]

    assert read == read.encode("utf-8").decode("utf-8")


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example",
        "https://a.example/x?y#z",
        "https://127.0.0.1:8080",
        "https://[::1]/",
        "https://user@a.example/",
        "HTTPS://A.example",
        "https://日本.example/",
    ],
)
def test_an_absolute_http_address_is_a_web_url(url):
    assert is_web_url(url)


@pytest.mark.parametrize(
    "url",
    ["", "a.example", "//a.example", "/x", "ftp://a.example", "javascript:x", "data:text/html,x",
     "https://", "https:///x", "http:a.example", "https://[", "https://[broken/", None, 5, b"http://a"],
)  # fmt: skip
def test_anything_else_is_none(url):
    assert not is_web_url(url)


@given(value=st.text() | st.text().map("https://{}".format))
def test_any_text_is_a_web_url_or_not(value):
    assert is_web_url(value) in (True, False)


# -- typed reading -----------------------------------------------------------------------------

WRONG_FOR = {
    "text": [5, True, [], {}],
    "number": ["5", [], {}],
    "integer": ["5", [], {}],
    "record": ["x", 5, []],
    "items": ["x", 5, {}],
}
EMPTY = {"text": None, "number": None, "integer": None, "record": {}, "items": []}
wrong_types = [(getter, value) for getter, values in WRONG_FOR.items() for value in values]


@pytest.mark.parametrize(("getter", "value"), wrong_types)
def test_a_wrong_type_is_dropped_and_noted(getter, value):
    reader = Reader()
    read = getattr(reader, getter)({"x": value}, "x")

    assert EMPTY[getter] == read
    assert reader.wrong.startswith("x is not ")


@pytest.mark.parametrize("getter", list(EMPTY))
@pytest.mark.parametrize("record", [{}, {"x": None}])
def test_an_absent_field_is_not_noted(getter, record):
    reader = Reader()
    read = getattr(reader, getter)(record, "x")

    assert (EMPTY[getter], None) == (read, reader.wrong)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, True])
@pytest.mark.parametrize("getter", ["number", "integer"])
def test_what_is_no_finite_number_is_absent(getter, value):
    assert getattr(Reader(), getter)({"x": value}, "x") is None


@pytest.mark.parametrize(
    ("value", "whole"), [(5, 5), (5.0, 5), (-1, -1), (1.5, None), (1e30, int(1e30))]
)
def test_a_whole_number_may_be_written_as_a_float(value, whole):
    assert whole == Reader().integer({"x": value}, "x")


def test_only_the_first_fault_is_kept():
    reader = Reader()
    reader.text({"a": 1}, "a")
    reader.items({"b": 1}, "b")

    assert "a is not text" == reader.wrong


def test_members_of_a_wrong_type_are_dropped_and_noted():
    reader = Reader()
    members = list(reader.records({"x": [{"a": 1}, 5, None]}, "x"))

    assert ([{"a": 1}], "x holds a member that is not an object") == (members, reader.wrong)


def test_texts_are_the_members_that_say_something():
    assert ("a", "b") == Reader().texts({"x": ["a", "", " ", None, 5, "b"]}, "x")
