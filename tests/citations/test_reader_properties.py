"""What holds for any text whatever."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_web.citations import CONTRACTS, Citation, normalize_citations

from .properties import PIECES, check
from .samples import SOURCES

TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.text(max_size=60),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=30).map("".join),
)


@settings(max_examples=600, deadline=None)
@given(TEXTS, st.sampled_from(sorted(CONTRACTS)))
def test_any_text_is_read_into_records_that_fit_it(text: str, contract: str) -> None:
    records = normalize_citations(text, SOURCES[:3], contract=contract)

    check(text, records)
    assert records == normalize_citations(text, SOURCES[:3], contract=contract)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_records_round_trip_through_json_and_stay_equal(text: str) -> None:
    for record in normalize_citations(text, SOURCES):
        assert record == Citation.model_validate(record.model_dump(mode="json"))
        assert record == Citation.model_validate(record.model_dump())
        assert hash(record) == hash(Citation.model_validate(record.model_dump()))


def steps_of(work: Callable[[], Any]) -> int:
    """How many calls and lines `work` runs: a clock that does not depend on the machine."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "piece",
    [
        "[", "]", "`", "`` ` ", "$", "$a ", "$$ ", "\\", "\\[ ", "|", "| [1] ", "- ", "> ", "\n", "(", "](", "[1](",
        "[1]", "[[1]]", "a | b\n- | -\n", "a [1] | b\n", "[1, ", "<", "<a ", "<!-- ", "<code>", "<think>", "x.[1] ", "e.g. ", "```\n", "`\n\n", "* [1] b\n", "[1-",
        "$$ a\n", "x $$\n$$\n", "\\[ a\n", "- ```\n", "> ```\n", "<pre>\n", "[1]=", "a[1]\n", "x\n\n[1]", "# a ` b\n", "[a][b] ",
        "[a]: b\n", "http://a[1]=b", "![1](",
    ],
)  # fmt: skip
def test_steps_grow_with_the_length_of_a_hostile_text(piece: str) -> None:
    def steps(size: int) -> int:
        text = piece * (size // len(piece))
        return steps_of(lambda: normalize_citations(text, SOURCES))

    small, large = steps(2_000), steps(16_000)

    assert large <= 12 * small + 2_000


def test_a_group_of_any_length_costs_one_look_at_each_member() -> None:
    def steps(members: int) -> int:
        text = f"x[{','.join(['1'] * members)}]"
        return steps_of(lambda: normalize_citations(text, SOURCES))

    assert steps(8_000) <= 12 * steps(1_000)
