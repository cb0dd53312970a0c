"""`dsh-web citations render`: one saved answer with its citations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsh_web.cli import main
from tests.core.perplexity import sonar_body

URL = "https://site1.example/"


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.json"
    path.write_text(
        json.dumps(sonar_body("Bees dance[2]. They hum[9].", citations=["https://b.example/", URL]))
    )
    return path


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("markdown", f"]({URL}"),
        ("footnotes", "Bees dance[^2]"),
        ("html", f'<a href="{URL}"'),
        ("plain", "Bees dance[2]. They hum[9?]."),
    ],
)
def test_an_answer_is_shown_in_every_style(
    answer: Path, capsys: pytest.CaptureFixture[str], style: str, expected: str
) -> None:
    assert 0 == main(["citations", "render", str(answer), "--style", style])
    assert expected in capsys.readouterr().out


def test_sources_can_be_numbered_anew(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["citations", "render", str(answer), "--style", "plain", "--renumber"])
    assert "Bees dance[1]." in capsys.readouterr().out


def test_a_file_that_cannot_be_read_or_holds_many_answers_is_refused_with_the_reason(
    answer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = answer.with_suffix(".jsonl")
    many.write_text(f"{answer.read_text()}\n{answer.read_text()}\n")
    broken = answer.with_name("broken.json")
    broken.write_text("{")

    statuses = [main(["citations", "render", str(path)]) for path in (many, broken)]

    complaints = capsys.readouterr().err
    assert [1, 1] == statuses
    assert "holds 2 answers: give a file with one" in complaints
    assert "cannot be read: it is not JSON" in complaints


def test_an_unknown_style_is_a_fault_of_the_command_line(answer: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["citations", "render", str(answer), "--style", "latex"])

    assert 2 == caught.value.code
