"""The `dsh-web` commands of the documentation are understood, and do what they are shown for."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsh_web.cli import main
from dsh_web.server import LoopbackServer
from tests.docs.reading import PAGES, blocks_of, name_of

DOCUMENTED_SERVER = "http://127.0.0.1:8787"


def commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "sh" and block.reason is None:
                for line in block.text.splitlines():
                    if line.startswith("dsh-web "):
                        yield name_of(page), line


COMMANDS = sorted(set(commands()))


@pytest.fixture
def saved_answers(readers_environment: Path) -> None:
    answers = readers_environment / "answers"
    answers.mkdir()
    source = {"url": "https://tea.example/leaf"}
    answer = {"provider": "wiki", "content": "Tea is a leaf[1].", "sources": [source]}
    (answers / "tea.json").write_text(json.dumps(answer))
    (readers_environment / "answer.json").write_text(json.dumps(answer))


@pytest.mark.usefixtures("saved_answers")
@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_succeeds(
    page: str, line: str, search_server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    line = line.replace(DOCUMENTED_SERVER, search_server.url)
    words = shlex.split(line, comments=True)[1:]
    if words[0] == "serve":
        # It would run until it is stopped; what it understands is all that can be asked.
        from dsh_web.cli import _parser

        assert _parser().parse_args(words).run is not None
        return

    status = main(words)

    printed = capsys.readouterr()
    assert (status, printed.out != "") == (0, True), printed.err


def test_there_are_commands_to_check() -> None:
    assert {"search", "fetch", "citations", "serve", "doctor"} <= {
        line.split()[1] for _, line in COMMANDS
    }
