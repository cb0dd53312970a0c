"""The notebooks run from top to bottom without a key, and are stored without outputs."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from .conftest import FOLDER, NAMES

each_notebook = pytest.mark.parametrize("name", NAMES)


def stored(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def test_there_is_a_notebook_for_each_question() -> None:
    assert [name[:2] for name in NAMES] == ["01", "02", "03", "04", "05", "06"]


@pytest.mark.timeout(420)
@each_notebook
def test_a_reader_without_a_key_meets_no_red_cell(name: str, executed: Path) -> None:
    notebook = nbformat.read(executed / f"{name}.ipynb", as_version=4)

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error"] == []
    assert [o.text for o in outputs if o.get("name") == "stderr" and "it/s" not in o.text] == []
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    # What it shows is more than text: each has a table, a picture or a laid out answer.
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds & {"text/html", "image/png"}
    said = "".join(output.get("text", "") for output in outputs)
    assert name.startswith("06") or "a local server stands in" in said


@each_notebook
def test_it_is_stored_without_outputs_and_in_one_spelling(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)

    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert cell.metadata == {}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert text == nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"


@each_notebook
def test_it_says_what_it_answers_and_its_links_lead_somewhere(name: str) -> None:
    prose = "\n".join(cell.source for cell in stored(name).cells if cell.cell_type == "markdown")

    assert "**Question:**" in prose
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("name", NAMES[2:4])
def test_a_scripted_model_is_called_one(name: str) -> None:
    cells = stored(name).cells

    assert "scripted one" in cells[0].source
    assert any("a scripted one plays its part" in cell.source for cell in cells[1:])
