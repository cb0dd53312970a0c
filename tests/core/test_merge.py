import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import InvalidRequestError, Usage, WebImage, WebSearchResult, WebSearchSource
from dsh_web.merge import cap_sources, check_queries, merge_results


def listing(*names: str, **fields: object) -> WebSearchResult:
    sources = [WebSearchSource(url=f"https://{name}.example/") for name in names]
    return WebSearchResult(**{"provider": "p", "sources": sources, **fields})


def merged(*results: WebSearchResult, max_results: int | None = None) -> WebSearchResult:
    queries = [f"q{number}" for number, _ in enumerate(results, start=1)]
    return merge_results(queries, results, max_results)


def names(result: WebSearchResult) -> str:
    return "".join(source.url[8] for source in result.sources)


# -- queries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("queries", [[], ()])
def test_no_query_is_refused(queries):
    with pytest.raises(InvalidRequestError) as caught:
        check_queries(queries, 4)

    assert "queries must contain at least one query" == caught.value.message


@pytest.mark.parametrize(
    ("most", "message"),
    [
        (1, "queries must contain at most 1 query"),
        (2, "queries must contain at most 2 queries"),
        (4, "queries must contain at most 4 queries"),
    ],
)
def test_too_many_queries_are_refused(most, message):
    with pytest.raises(InvalidRequestError) as caught:
        check_queries([str(number) for number in range(most + 1)], most)

    assert message == caught.value.message


@pytest.mark.parametrize("bad", ["", "  ", "\n", None, 5, b"q", ["q"]])
def test_one_query_that_is_no_text_is_refused(bad):
    with pytest.raises(InvalidRequestError) as caught:
        check_queries(["fine", bad], 4)

    assert "each query must be a non-empty string" == caught.value.message


def test_exact_repeats_run_once_at_their_first_position():
    assert ("b", "a") == check_queries(["b", "a", "b"], 4)


def test_repeats_do_not_count_against_the_bound():
    assert ("a",) == check_queries(["a"] * 9, 1)


def test_a_query_that_differs_in_white_space_is_another():
    assert ("a", "a ", "A") == check_queries(["a", "a ", "A"], 4)


def test_one_text_is_one_query():
    assert ("cats",) == check_queries("cats", 4)


# -- the bound ---------------------------------------------------------------------------------


@given(count=st.integers(0, 9), bound=st.integers(1, 9))
def test_a_cap_keeps_the_first_and_says_whether_it_cut(count, bound):
    result = cap_sources(listing(*"abcdefghi"[:count]), bound)

    assert ("abcdefghi"[: min(count, bound)], count > bound) == (names(result), result.truncated)


def test_no_bound_cuts_nothing():
    result = listing(*"abc")

    assert result is cap_sources(result, None)


# -- merging -----------------------------------------------------------------------------------


def test_ranks_are_taken_in_turn():
    assert "adbecf" == names(merged(listing(*"abc"), listing(*"def")))


def test_a_shorter_list_drops_out():
    assert "adbc" == names(merged(listing(*"abc"), listing("d")))


def test_a_repeated_url_is_kept_at_its_first_place():
    assert "abc" == names(merged(listing("a", "b"), listing("a", "c")))


def test_the_first_of_two_equal_urls_wins_with_its_own_fields():
    first = WebSearchSource(url="https://a.example/", title="First")
    second = WebSearchSource(url="https://a.example/", title="Second")
    result = merged(listing(sources=[first]), listing(sources=[second]))

    assert ["First"] == [source.title for source in result.sources]


@pytest.mark.parametrize(
    "other", ["https://a.example", "https://a.example/#x", "https://A.example/"]
)
def test_urls_that_are_merely_alike_are_two_sources(other):
    alike = listing(sources=[WebSearchSource(url=other)])

    assert 2 == len(merged(listing("a"), alike).sources)


def test_the_merged_list_is_cut_to_the_bound():
    result = merged(listing(*"abc"), listing(*"def"), max_results=3)

    assert ("adb", True) == (names(result), result.truncated)


def test_the_merged_list_at_its_bound_is_not_truncated():
    result = merged(listing("a"), listing("b"), max_results=2)

    assert ("ab", False) == (names(result), result.truncated)


def test_one_truncated_part_makes_the_whole_truncated():
    assert merged(listing("a"), listing("b", truncated=True)).truncated


def test_one_result_is_only_capped():
    single = listing("a", content="Text.[1]", request_id="r-1")

    assert single == merged(single)


def test_one_result_over_the_bound_is_cut():
    assert ("a", True) == (
        names(result := merged(listing("a", "b"), max_results=1)),
        result.truncated,
    )


def test_each_answer_stands_under_its_query():
    result = merge_results(
        ["why do bees dance", "tidal\npower"],
        [listing(content="To talk.[1]"), listing(content="Rising.[1]")],
        None,
    )

    expected = "## why do bees dance\n\nTo talk.[1]\n\n## tidal power\n\nRising.[1]"
    assert expected == result.content


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_query_without_an_answer_has_no_heading(nothing):
    result = merged(listing(content=nothing), listing(content="Only this."))

    assert "## q2\n\nOnly this." == result.content


def test_no_answer_at_all_is_none():
    assert merged(listing("a"), listing("b")).content is None


def test_the_numbers_of_one_answer_do_not_leak_into_the_merged_list():
    numbered = WebSearchSource(url="https://a.example/", ids=(1,))
    result = merged(listing(sources=[numbered]), listing("b"))

    assert [(), ()] == [source.ids for source in result.sources]


def test_usage_is_summed():
    result = merged(
        listing(usage=Usage(input_tokens=1, cost_usd=0.25)),
        listing(usage=Usage(input_tokens=2, cost_usd=0.5)),
    )

    assert Usage(input_tokens=3, cost_usd=0.75) == result.usage


def test_a_number_that_one_call_did_not_report_stays_unknown():
    result = merged(listing(usage=Usage(searches=1)), listing(usage=Usage(searches=None)))

    assert result.usage.searches is None


def test_usage_that_one_call_did_not_report_is_unknown():
    assert merged(listing(usage=Usage(searches=1)), listing()).usage is None


@pytest.mark.parametrize("name", ["model", "request_id", "finish_reason"])
def test_a_fact_is_kept_only_where_all_agree(name):
    same = merged(listing(**{name: "x"}), listing(**{name: "x"}))
    different = merged(listing(**{name: "x"}), listing(**{name: "y"}))

    assert ("x", None) == (getattr(same, name), getattr(different, name))


def test_warnings_questions_and_pictures_are_gathered_once_each():
    image = WebImage(url="https://i.example/1.png")
    part = listing(warnings=["w"], related_questions=["Why?"], images=[image])
    result = merged(part, part)

    assert (("w",), ("Why?",), (image,)) == (
        result.warnings,
        result.related_questions,
        result.images,
    )


def test_raw_bodies_are_kept_per_query():
    assert [{"a": 1}, None] == merged(listing(raw={"a": 1}), listing()).raw


def test_no_raw_body_is_none():
    assert merged(listing(), listing()).raw is None


@given(
    lists=st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=2, max_size=4),
    bound=st.none() | st.integers(1, 6),
)
def test_a_merge_loses_nothing_but_repeats_and_what_is_over_the_bound(lists, bound):
    result = merged(*(listing(*part) for part in lists), max_results=bound)
    every = {name for part in lists for name in part}

    expected = len(every) if bound is None else min(len(every), bound)
    assert (expected, expected) == (len(names(result)), len(set(names(result)) & every))
