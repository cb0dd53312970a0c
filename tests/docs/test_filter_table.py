"""The page on filters shows what the code declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dsh_web.cli import main
from dsh_web.filters import FILTERS
from dsh_web.providers import BUILT_IN

PAGE = (Path(__file__).resolve().parents[2] / "docs/filters.md").read_text()
START, END = "<!-- filters: printed by `dsh-web filters` -->", "<!-- /filters -->"


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["filters"]) == 0
    return capsys.readouterr().out


def cells_of(table: str) -> list[list[str]]:
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.strip().splitlines()]
    return [[cell.strip() for cell in row] for row in rows]


def test_the_page_holds_the_table_that_the_command_prints(printed: str) -> None:
    on_page = PAGE.split(START)[1].split(END)[0]

    assert printed.strip() == on_page.strip()


def test_the_table_has_a_column_for_every_built_in_provider(printed: str) -> None:
    expected = ["filter", *(f"`{built_in.id}`" for built_in in BUILT_IN)]

    assert expected == cells_of(printed)[0]


def test_the_table_has_a_row_for_every_filter_and_every_mode(printed: str) -> None:
    modes = [f"`mode={mode}`" for mode in ("web", "academic", "sec", "people", "finance")]
    others = [f"`{name}`" for name in FILTERS if name != "mode"]

    rows = [row[0] for row in cells_of(printed)[2:]]
    assert sorted(others + modes) == sorted(rows)


def test_no_cell_is_empty_and_each_says_exact_approximate_or_refused(printed: str) -> None:
    cells = [cell for row in cells_of(printed)[2:] for cell in row[1:]]

    wrong = [c for c in cells if c not in ("exact", "refused") and c[:13] != "approximate: "]
    assert [] == wrong
    assert all(len(row) == 1 + len(BUILT_IN) for row in cells_of(printed))
