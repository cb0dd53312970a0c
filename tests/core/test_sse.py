import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsh_web.sse import ServerSentEvent, SseReader


def read(*chunks: bytes) -> list[ServerSentEvent]:
    """Return the events of a body that arrives in these pieces."""
    reader = SseReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + list(reader.finish())


def data_of(*chunks: bytes) -> list[str]:
    return [event.data for event in read(*chunks)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_every_line_end_of_the_standard_ends_a_line(end):
    lines = [b"data: one", b"", b"data: two", b"data: three", b""]

    assert ["one", "two\nthree"] == data_of(*(line + end for line in lines))


def test_line_ends_can_be_mixed_within_one_stream():
    body = b"data: a\r\n\ndata: b\r\rdata: c\n\r\ndata: d\r\ndata: e\r\r\n"

    assert ["a", "b", "c", "d\ne"] == data_of(body)


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x00"])
def test_other_separators_are_part_of_the_data(character):
    assert [f"a{character}b"] == data_of(f"data: a{character}b\n\n".encode())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"data:tight", "tight"),
        (b"data: one space", "one space"),
        (b"data:  two spaces", " two spaces"),
        (b"data:\ttab", "\ttab"),
        (b"data: a: b", "a: b"),
        (b"data:", ""),
        (b"data", ""),
    ],
)
def test_one_space_after_the_colon_belongs_to_the_format(line, expected):
    assert [expected] == data_of(line + b"\n\n")


@pytest.mark.parametrize(
    "line",
    [b": comment", b":", b"id: 5", b"retry: 10", b"other: x", b"nonsense", b" data: x", b"DATA: x"],
)
def test_comments_and_other_fields_say_nothing(line):
    assert ["good"] == data_of(line + b"\ndata: good\n" + line + b"\n\n" + line + b"\n\n")


def test_a_ping_before_the_first_event_is_silent():
    body = b": ping - 2030-01-01 10:00:00.000000\r\n\r\ndata: first\r\n\r\n"

    assert ["first"] == data_of(body)


def test_an_event_name_holds_for_its_own_event():
    body = b"event: error\ndata: a\n\ndata: b\n\nevent: x\nevent: y\ndata: c\n\n"

    assert [("a", "error"), ("b", ""), ("c", "y")] == [(e.data, e.event) for e in read(body)]


def test_a_name_without_data_is_no_event():
    assert [("a", "")] == [(e.data, e.event) for e in read(b"event: error\n\ndata: a\n\n")]


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""], ids=["BOM", "none"])
def test_one_leading_byte_order_mark_is_skipped(mark):
    body = mark + b"data: a\n\ndata: \xef\xbb\xbfb\n\n"

    assert ["a", "\ufeffb"] == data_of(body)
    assert ["a", "\ufeffb"] == data_of(*(bytes([byte]) for byte in body))


def test_bytes_that_are_not_utf8_become_replacement_characters():
    assert ["a\ufffdb", "\ufffd"] == data_of(b"data: a\xffb\n\ndata: \xe2\x82")


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
def test_an_event_that_the_end_of_the_stream_closes_is_kept(end):
    assert ["a", "b"] == data_of(b"data: a\n\ndata: b" + end)


def test_nothing_gives_nothing():
    assert [] == read()
    assert [] == read(b"", b"\n\n", b"\r\n")


BODY = (
    "\ufeffdata: größe 🗼\r\n\r\n: c\r\revent: e\ndata:x\rdata: y\u2028z\r\n\rdata: last".encode()
)


def test_every_single_cut_gives_the_same_events():
    whole = read(BODY)

    assert 3 == len(whole)
    for cut in range(len(BODY) + 1):
        assert whole == read(BODY[:cut], BODY[cut:]), cut


@given(
    st.lists(
        st.sampled_from(
            [
                *(b"data: a", b"data:", b"event: e", b":c", b"\r", b"\n", b"\r\n"),
                *(b"\xef\xbb\xbf", b"\xf0\x9f", b"\x97\xbc", b"\xff", b"data", b" "),
            ]
        )
    ).map(b"".join),
    st.lists(st.integers(0, 60)),
)
@example(b"data: a\r", [7, 8])
def test_any_cutting_gives_the_same_events(body, offsets):
    ends = sorted({0, len(body), *(offset for offset in offsets if offset < len(body))})
    pieces = [body[start:end] for start, end in itertools.pairwise(ends)]

    assert read(body) == read(*pieces)
    assert read(body) == read(*(bytes([byte]) for byte in body))


def test_an_event_that_is_complete_is_handed_out_at_once():
    reader = SseReader()

    assert [] == list(reader.feed(b"data: a\r\n"))
    assert ["a"] == [event.data for event in reader.feed(b"\r")]
    assert [] == list(reader.feed(b"\n"))


@pytest.mark.parametrize(
    "body",
    [b"data: " + b"x" * 200, b"data: xx\n" * 40, b"event: " + b"x" * 200, b": " + b"x" * 200],
    ids=["line", "lines", "name", "comment"],
)
def test_an_event_larger_than_the_cap_is_refused_however_it_arrives(body):
    def feed(*pieces):
        reader = SseReader(max_event_chars=100)
        return [list(reader.feed(piece)) for piece in pieces]

    for pieces in ([body], [bytes([byte]) for byte in body]):
        with pytest.raises(ValueError, match="longer than 100 characters"):
            feed(*pieces)


def test_events_before_one_that_is_too_large_are_good():
    events = SseReader(max_event_chars=100).feed(b"data: good\n\ndata: " + b"x" * 200)

    assert "good" == next(events).data
    with pytest.raises(ValueError, match="longer than"):
        next(events)


def test_the_cap_is_on_one_event_not_on_a_piece_that_holds_many():
    body = (b"data: " + b"x" * 50 + b"\n\n") * 20

    assert 20 == len(list(SseReader(max_event_chars=100).feed(body)))


def test_a_long_line_in_tiny_pieces_takes_linear_time():
    def seconds(length: int) -> float:
        reader = SseReader()
        started = time.process_time()
        for _ in range(length):
            list(reader.feed(b"x"))
        return time.process_time() - started

    # Eight times as long: linear is 8, quadratic is 64.
    small = min(seconds(10_000) for _ in range(3))

    assert min(seconds(80_000) for _ in range(2)) < 30 * small
