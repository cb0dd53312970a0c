import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError
from dsh_web.providers._parallel_query import WireQuery, is_keywords, wire_query

LONG = "how the tides of the bay were measured " * 8  # 312 characters
CUT = (
    "Parallel takes 200 characters as a search query: the first 198 of the query were sent, "
    "{}; give search_queries for better ones"
)


@pytest.mark.parametrize(
    "query",
    [
        "tidal power",
        "Node.js 22 release",
        "python 3.14 free-threading",
        "how do I cancel an asyncio task",
        "C++ std::move",
        "潮汐 发电",
        "error: module not found",
        "one two three four five six seven eight nine ten",
    ],
)
def test_a_short_text_without_marks_of_a_sentence_is_keywords(query):
    assert is_keywords(query)
    assert WireQuery(None, (query,)) == wire_query([query], None, ())


@pytest.mark.parametrize(
    "query",
    [
        "tidal power?",
        "What is tidal power? Explain",
        "潮汐发电是什么\uff1f",
        "潮汐发电。",
        "Tidal power grows. Wave power does not",
        "Explain tidal power.",
        "tides; waves",
        "tides\nwaves",
        "one two three four five six seven eight nine ten eleven",
    ],
)
def test_a_question_or_a_longer_text_is_the_objective_and_a_search_query_too(query):
    assert not is_keywords(query)
    made = wire_query([query], None, ())

    assert (query, (query,), ()) == (made.objective, made.search_queries, made.warnings)


def test_a_text_that_is_too_long_for_a_search_query_is_cut_at_a_word_and_warned_of():
    made = wire_query([LONG], None, ())

    (probe,) = made.search_queries
    assert LONG == made.objective
    assert (198, "measured how") == (len(probe), probe[-12:])
    assert LONG.startswith(probe + " ")
    assert (CUT.format("the whole of it as the objective"),) == made.warnings


def test_a_long_text_without_spaces_is_cut_where_it_must_be():
    made = wire_query(["潮汐" * 150], None, ())

    assert ("潮汐" * 100,) == made.search_queries


def test_white_space_alone_makes_no_text_too_long():
    made = wire_query([f"tidal{' ' * 300}power"], None, ())

    assert (("tidal power",), ()) == (made.search_queries, made.warnings)


def test_a_given_objective_stands_beside_the_query():
    assert WireQuery("To compare.", ("tides",)) == wire_query(["tides"], "To compare.", ())


def test_a_cut_query_beside_a_given_objective_says_that_the_rest_is_lost():
    made = wire_query([LONG], "To compare.", ())

    assert "To compare." == made.objective
    assert (CUT.format("the rest was left out"),) == made.warnings


def test_given_search_queries_stand_in_the_place_of_the_query_which_becomes_the_objective():
    assert WireQuery("tides", ("a b", "c d")) == wire_query(["tides"], None, ["a b", "c d"])


def test_a_query_that_is_among_the_given_ones_is_sent_once():
    assert WireQuery(None, ("tides", "c d")) == wire_query(["tides"], None, ["tides", "c d"])


def test_a_query_that_has_no_place_left_is_not_left_out_silently():
    made = wire_query(["tides"], "To compare.", ["a b"])

    expected = "the query itself was not sent: objective and search_queries stand in its place"
    assert ("To compare.", ("a b",), (expected,)) == (
        made.objective,
        made.search_queries,
        made.warnings,
    )


def test_a_query_that_is_the_given_objective_is_sent_as_that():
    assert () == wire_query(["To compare."], "To compare.", ["a b"]).warnings


def test_several_queries_are_as_many_search_queries():
    assert WireQuery(None, ("tides", "waves")) == wire_query(["tides", "waves"], None, ())


def test_the_questions_among_several_queries_are_the_objective():
    made = wire_query(["tides", "Why waves?"], None, ())

    assert ("Why waves?", ("tides", "Why waves?")) == (made.objective, made.search_queries)


@pytest.mark.parametrize(
    ("objective", "queries", "message"),
    [
        (
            "a" * 5001,
            (),
            "the objective is 5,001 characters long, Parallel takes 5,000: shorten the query, "
            "or give a shorter objective and search_queries",
        ),
        (None, tuple("abcdef"), "6 search_queries are too many: Parallel takes 5"),
        (
            None,
            ("b" * 201,),
            f"the search query '{'b' * 40}'... is 201 characters long: Parallel takes 200",
        ),
    ],
)
def test_what_parallel_would_refuse_or_drop_is_refused_here(objective, queries, message):
    with pytest.raises(InvalidRequestError) as caught:
        wire_query(["q"], objective, queries)

    assert message == caught.value.message


def test_a_query_that_is_too_long_for_an_objective_is_refused():
    with pytest.raises(InvalidRequestError, match="the objective is 5,001 characters long"):
        wire_query(["a" * 5001], None, ())


@given(st.lists(st.text(min_size=1, max_size=400).filter(str.strip), min_size=1, max_size=5))
def test_whatever_is_asked_every_search_query_is_one_that_parallel_takes(queries):
    made = wire_query(queries, None, ())

    assert 1 <= len(made.search_queries) <= len(queries)
    assert all(probe.strip() and len(probe) <= 200 for probe in made.search_queries)
    whole = [q for q in queries if q in made.search_queries or q in (made.objective or "")]
    assert queries == whole
