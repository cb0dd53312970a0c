"""`dsh-web citations check`: saved answers as one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dsh_web.cli import main
from tests.core.perplexity import agent_body, found, page, said, sonar_body

PAGES = found(page(1), page(2))
ANSWERS = {
    "fast.json": agent_body(PAGES, said("Bees dance.[1]")),
    "low.json": agent_body(PAGES, said("Bees dance [web:1] and hum [web:2].")),
    "sonar.json": sonar_body("Bees dance[1].", citations=["https://site1.example/"]),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in ANSWERS.items():
        (tmp_path / name).write_text(json.dumps(body))
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    status = main(["citations", "check", *map(str, arguments)])
    return status, capsys.readouterr().out


def row(output: str, name: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.startswith(name)]
    return line.removeprefix(name).split()


def test_answers_of_three_kinds_make_one_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output = check(capsys, folder)

    assert 0 == status
    assert ["1", "1", "0", "0", "2", "1", "1", "1"] == row(output, "fast.json ")
    assert ["2", "2", "0", "0", "2", "2", "0"] == row(output, "low.json ")[:7]
    assert ["1", "1", "0", "0", "1", "1", "0", "0"] == row(output, "sonar.json ")
    assert ["4", "4", "0", "0", "5", "4", "1"] == row(output, "3 answers")[:7]


def test_a_marker_without_a_source_is_named_and_fails_only_if_strict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.md").write_text("Bees dance[7].\n\nSources:\n1. https://a.example\n")

    relaxed, output = check(capsys, folder)
    strict, _ = check(capsys, folder, "--strict")

    assert (0, 1) == (relaxed, strict)
    assert "broken.md: [7] points to no source (at character 10)" in output


def test_json_holds_every_audit_and_the_total(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.json").write_text("{")

    status, output = check(capsys, folder, "--json")
    report: dict[str, Any] = json.loads(output)

    assert 1 == status
    assert 3 == len(report["answers"]) == report["total"]["answers"]
    assert ["bad.json"] == [Path(entry["name"]).name for entry in report["unreadable"]]


def test_each_line_of_json_lines_is_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps(body) for body in ANSWERS.values()]
    (tmp_path / "all.jsonl").write_text("\n".join([*lines, "", "nonsense"]))

    status, output = check(capsys, tmp_path / "all.jsonl")

    assert 1 == status
    assert ["unreadable"] == row(output, "all.jsonl:5 ")
    assert "3 answers" in output


def test_a_missing_file_is_a_row_with_its_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output = check(capsys, folder / "fast.json", "nowhere.json")

    assert 1 == status
    assert "nowhere.json: cannot be read: there is no such file" in output


def test_an_empty_folder_is_said_to_hold_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 1 == main(["citations", "check", str(tmp_path)])
    assert "no file to check" in capsys.readouterr().err


def test_hostile_text_cannot_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = page(1, title="Words", snippet="other things")
    body = agent_body(found(evil), said("Clear \x1b[2J\x1b]52;c;aGk=\x07screen\nnow[1] x[9]."))
    (tmp_path / "evil.json").write_text(json.dumps(body))

    _, output = check(capsys, tmp_path)

    assert "\x1b" not in output
    assert "\x07" not in output


def test_a_contract_can_be_chosen_and_an_unknown_one_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, output = check(capsys, folder / "fast.json", "--contract", "markers/1", "--json")
    status, complaint = check(capsys, folder / "fast.json", "--contract", "no/1")

    assert {"numeric": 1} == json.loads(output)["answers"][0]["source_types"]
    assert 1 == status
    assert "'no/1' is not a citation contract" in complaint


def test_an_unknown_command_is_a_fault_of_the_command_line() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["citations", "burn"])

    assert 2 == caught.value.code
