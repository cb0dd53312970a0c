"""`dsh-web citations check`: saved answers as one table."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dsh_web import WebSearchResult, WebSearchSource
from dsh_web.citations import with_citations
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
    assert ["ok", "1", "1", "0", "0", "2", "1", "1", "1"] == row(output, "fast.json ")
    assert ["ok", "2", "2", "0", "0", "2", "2", "0", "1"] == row(output, "low.json ")
    assert ["ok", "1", "1", "0", "0", "1", "1", "0", "0"] == row(output, "sonar.json ")
    assert ["4", "4", "0", "0", "5", "4", "1", "2"] == row(output, "3 answers")
    assert "All answers together cite 2 different pages." in output
    assert "Links by kind of source: 4 web." in output


def test_a_marker_without_a_source_is_named_and_fails_only_if_strict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.md").write_text("Bees dance[7].\n\nSources:\n1. https://a.example\n")

    relaxed, output = check(capsys, folder)
    strict, _ = check(capsys, folder, "--strict")

    assert (0, 1) == (relaxed, strict)
    assert ["broken", "1", "1", "1"] == row(output, "broken.md ")[:4]
    assert 'broken.md: [7] points to no source (line 1, "Bees dance")' in output


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


def test_a_line_end_of_another_kind_does_not_cut_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = sonar_body("Bees\u2028dance[1].", citations=["https://site1.example/"])
    (tmp_path / "all.jsonl").write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")

    status, output = check(capsys, tmp_path)

    assert (0, ["ok", "1"]) == (status, row(output, "all.jsonl:1 ")[:2])


def test_answers_in_a_list_or_in_lines_are_told_apart_whatever_the_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = [*ANSWERS.values()]
    (tmp_path / "list.json").write_text(json.dumps(bodies))
    (tmp_path / "lines.txt").write_text("\n".join(map(json.dumps, bodies)))

    status, output = check(capsys, tmp_path)

    assert 0 == status
    assert "6 answers" in output
    assert ["ok", "2"] == row(output, "list.json:2 ")[:2] == row(output, "lines.txt:2 ")[:2]


def test_the_events_of_one_stream_are_one_answer_with_or_without_their_frames(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chunks = [
        {
            "id": "chat-1",
            "object": "chat.completion.chunk",
            "model": "sonar",
            "citations": ["https://site1.example/"],
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}],
        }
        for text, reason in (("Bees ", None), ("dance[1].", "stop"))
    ]
    lines = [json.dumps(chunk) for chunk in chunks]
    (tmp_path / "bare.jsonl").write_text("\n".join(lines))
    (tmp_path / "framed.sse").write_text("".join(f"data: {line}\n\n" for line in lines))

    status, output = check(capsys, tmp_path)

    assert 0 == status
    assert ["ok", "1"] == row(output, "bare.jsonl ")[:2] == row(output, "framed.sse ")[:2]


def test_our_own_results_and_artifacts_of_tools_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = with_citations(
        WebSearchResult(
            provider="toy",
            content="Bees dance[1].",
            sources=(WebSearchSource(url="https://a.example"),),
        )
    ).model_dump(mode="json")
    (tmp_path / "result.json").write_text(json.dumps(result))
    artifact = {"schema": 1, "kind": "web_search", "queries": ["bees"], "result": result}
    (tmp_path / "tool.json").write_text(json.dumps(artifact), encoding="utf-16")

    status, output = check(capsys, tmp_path)

    assert 0 == status
    assert ["ok", "1"] == row(output, "result.json ")[:2] == row(output, "tool.json ")[:2]


def test_a_text_without_a_list_of_sources_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare.txt").write_text("Bees dance[1].")

    status, output = check(capsys, tmp_path, "--strict")

    assert 1 == status
    assert ["no", "sources", "1", "1", "1"] == row(output, "bare.txt ")[:5]
    assert "bare.txt: there is no list of sources" in output


def test_a_file_named_twice_is_read_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, output = check(capsys, folder, folder / "fast.json", "--json")

    assert 3 == len(json.loads(output)["answers"])


def test_a_path_that_no_file_can_have_is_a_row_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output = check(capsys, folder, "n" * 5000)

    assert 1 == status
    assert "cannot be read: File name too long" in output


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


EVIL = "Clear \x1b[2J\x1b]52;c;aGk=\x07\x9b31mscreen \u202enow"


@pytest.mark.parametrize("as_json", [False, True])
def test_hostile_text_cannot_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    evil = page(1, f"https://a.example/{EVIL}", title=EVIL, snippet="other things")
    body = agent_body(found(evil, evil), said(f"{EVIL}[1] {EVIL}[9]."))
    (tmp_path / f"{EVIL.replace('/', '')}.json").write_text(json.dumps(body))

    _, output = check(capsys, tmp_path, *["--json"] * as_json)

    assert "[9]" in output
    assert not set(output) & set("\x1b\x07\x9b\u202e")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_table_with_everything_in_it(folder: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    with subprocess.Popen(
        [sys.executable, "-m", "dsh_web.cli", "citations", "check", str(folder)],
        stdout=theirs,
        env=env,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:
            pass  # the other end is closed: Linux says so in this way
    os.close(ours)

    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines()
    text = "\n".join(line.strip() for line in lines)
    assert 0 == process.returncode
    assert ["ok", "2", "2", "0", "0", "2", "2", "0", "1"] == row(text, "low.json ")
    assert "3 answers" in text


def test_a_contract_can_be_chosen_and_an_unknown_one_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, output = check(capsys, folder / "fast.json", "--contract", "markers/1", "--json")
    with pytest.raises(SystemExit) as caught:
        check(capsys, folder / "fast.json", "--contract", "no/1")

    assert {"numeric": 1} == json.loads(output)["answers"][0]["source_types"]
    assert 2 == caught.value.code
    assert "'no/1'" in capsys.readouterr().err


def test_an_unknown_command_is_a_fault_of_the_command_line() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["citations", "burn"])

    assert 2 == caught.value.code


def test_a_list_with_a_bad_member_still_tells_of_the_good_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text(json.dumps([ANSWERS["fast.json"], 5, ANSWERS["low.json"]]))

    status, output = check(capsys, tmp_path / "x.json", "--json")
    report = json.loads(output)

    assert 1 == status
    assert 2 == report["total"]["answers"]
    assert ["x.json:2"] == [Path(entry["name"]).name for entry in report["unreadable"]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "x.json")

    status, output = check(capsys, tmp_path / "x.json")

    assert 1 == status
    assert "it is a named pipe" in output
