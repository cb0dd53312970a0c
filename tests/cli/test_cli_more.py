"""The command line: dry runs, several queries, streams, and outputs that cannot take it all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from dsh_web import SearchDone, StreamEvent, TextDelta
from dsh_web.cli import main
from dsh_web.cli.show import plain
from dsh_web.server import Fault, LoopbackServer, StreamStyle

ROOT = Path(__file__).resolve().parents[2]
KEY = "cli-key-0123456789"
ANSWER = "Turbines turn with the"
EVENT: TypeAdapter[StreamEvent] = TypeAdapter(StreamEvent)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackServer]:
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "tides.md").write_text(
        "# Tidal power\n\nTurbines turn with the tide. They rest at slack water.\n"
    )
    (corpus / "wind.md").write_text(
        "# Wind power → Überblick 風\n\nTurbines turn with the wind. They rest in a calm → 風.\n",
        encoding="utf-8",
    )
    with LoopbackServer(corpus=corpus, api_key=KEY) as running:
        yield running


@pytest.fixture
def configured(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    server.reset()
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", server.url)
    # Wide enough that nothing is wrapped in the middle of what the tests look for.
    monkeypatch.setenv("COLUMNS", "200")
    return server


class Run:
    """What one command in a process of its own has printed."""

    def __init__(self, *arguments: str, pipe_to: str | None = None, **variables: str) -> None:
        command = [sys.executable, "-W", "error", "-m", "dsh_web.cli", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        run: dict[str, Any] = {"stderr": subprocess.PIPE, "env": environment}
        with subprocess.Popen(command, stdout=subprocess.PIPE, **run) as process:
            assert process.stdout is not None
            if pipe_to == "head":
                self.out = process.stdout.readline()
                process.stdout.close()
                process.stdout = None
                self.err = process.communicate(timeout=60)[1].decode()
            elif pipe_to == "nobody":
                process.stdout.close()
                process.stdout = None
                self.out = b""
                self.err = process.communicate(timeout=60)[1].decode()
            else:
                self.out, err = process.communicate(timeout=60)
                self.err = err.decode()
        self.status = process.returncode


Captured = pytest.CaptureFixture[str]

# -- dry run -------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_request_and_sends_nothing(
    configured: LoopbackServer, capsys: Captured
) -> None:
    arguments = ["--country", "nz", "--languages", "en", "--max-results", "3"]

    assert main(["search", "when", "do", "turbines", "turn", "--dry-run", *arguments]) == 0

    shown = capsys.readouterr().out
    assert f"POST {configured.url}/v1/agent" in shown
    assert "authorization: Bearer [masked]" in shown
    assert '"input": "when do turbines turn"' in shown
    assert "country: approximate" in shown
    assert "languages: refused" in shown
    assert "about $0.0015" in shown
    assert KEY not in shown
    assert [] == configured.requests


def test_a_dry_run_can_be_read_by_a_program(configured: LoopbackServer, capsys: Captured) -> None:
    arguments = ["--provider", "perplexity-search", "--mode", "people", "--max-tokens", "900"]

    assert main(["search", "turbines", "--dry-run", "--json", *arguments]) == 0

    output = capsys.readouterr().out
    shown = json.loads(output)
    expected = {
        "query": "turbines",
        "max_results": 8,
        "search_type": "people",
        "max_tokens": 900,
    }
    assert (expected, 0.005) == (shown["body"], shown["estimated_cost_usd"])
    assert {"mode": "exact", "max_tokens": "exact"} == shown["filters"]
    assert KEY not in output
    assert [] == configured.requests


def test_a_dry_run_of_a_bad_request_fails_like_the_search(
    configured: LoopbackServer, capsys: Captured
) -> None:
    arguments = ["--recency", "day", "--published-after", "2026-01-02"]

    assert main(["search", "turbines", "--dry-run", *arguments]) == 1

    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("WEB_INVALID_REQUEST: recency cannot be combined")


# -- several queries -----------------------------------------------------------------------------


def test_other_queries_are_merged_into_one_result(
    configured: LoopbackServer, capsys: Captured
) -> None:
    assert main(["search", "tidal", "power", "--also", "wind power", "--json"]) == 0

    result = json.loads(capsys.readouterr().out)
    assert "## tidal power" in result["content"]
    assert "## wind power" in result["content"]
    assert ["tidal power", "wind power"] == sorted(r.json["input"] for r in configured.requests)


def test_other_queries_share_one_request_where_the_api_allows_it(
    configured: LoopbackServer, capsys: Captured
) -> None:
    others = [argument for query in "bcde" for argument in ("--also", query)]

    assert main(["search", "a", *others, "--provider", "perplexity-search", "--json"]) == 0

    assert [list("abcde")] == [request.json["query"] for request in configured.requests]
    assert json.loads(capsys.readouterr().out)["provider"] == "perplexity-search"


def test_a_blank_other_query_is_refused(configured: LoopbackServer, capsys: Captured) -> None:
    assert main(["search", "tides", "--also", " "]) == 1

    assert "each query must be a non-empty string" in capsys.readouterr().err
    assert [] == configured.requests


@pytest.mark.parametrize("option", ["--stream", "--dry-run"])
def test_other_queries_are_never_dropped_without_a_word(
    configured: LoopbackServer, capsys: Captured, option: str
) -> None:
    assert main(["search", "tides", "--also", "wind", option]) == 2

    assert f"--also cannot be combined with {option}" in capsys.readouterr().err
    assert [] == configured.requests


# -- filters -------------------------------------------------------------------------------------


def test_every_filter_has_an_option(capsys: Captured) -> None:
    from dsh_web.filters import FILTERS

    with pytest.raises(SystemExit):
        main(["search", "--help"])

    shown = capsys.readouterr().out
    assert [] == [name for name in FILTERS if f"--{name.replace('_', '-')} " not in shown]


def test_an_unsupported_filter_can_be_a_warning(
    configured: LoopbackServer, capsys: Captured
) -> None:
    arguments = ["search", "turbines", "--languages", "en"]

    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith("WEB_UNSUPPORTED_FILTER: ")
    assert main([*arguments, "--on-unsupported", "warn"]) == 0
    assert "does not support the filter languages" in capsys.readouterr().out


# -- streams -------------------------------------------------------------------------------------


def test_a_stream_shows_the_answer_and_then_its_sources(
    configured: LoopbackServer, capsys: Captured
) -> None:
    assert main(["search", "--stream", "when", "do", "turbines", "turn"]) == 0

    shown = capsys.readouterr().out
    assert shown.index(ANSWER) < shown.index("https://corpus.example/tides")
    assert configured.requests[-1].json["stream"] is True


def test_a_stream_shows_what_is_going_on_beside_the_answer(
    configured: LoopbackServer, capsys: Captured
) -> None:
    assert main(["search", "--stream", "turbines"]) == 0

    output = capsys.readouterr()
    assert "[search" in output.err
    assert "[search" not in output.out


def test_a_stream_for_programs_has_one_event_per_line(
    configured: LoopbackServer, capsys: Captured
) -> None:
    assert main(["search", "--stream", "--json", "turbines"]) == 0

    events = [EVENT.validate_json(line) for line in capsys.readouterr().out.splitlines()]
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert isinstance(events[-1], SearchDone)
    assert events[-1].result.content == text
    assert events[-1].result.raw is None


def test_a_provider_that_cannot_stream_shows_its_result(
    configured: LoopbackServer, capsys: Captured
) -> None:
    assert main(["search", "--stream", "turbines", "--provider", "perplexity-search"]) == 0

    assert "https://corpus.example/tides" in capsys.readouterr().out


CUTS = [Fault(cut_after=3000), Fault(stream={"terminal": "error"})]


@pytest.mark.parametrize("fault", CUTS, ids=["cut", "error"])
def test_a_stream_that_fails_shows_the_text_so_far_and_then_the_error(
    configured: LoopbackServer, capsys: Captured, fault: Fault
) -> None:
    configured.add_fault(_cut_in_the_text(configured, capsys) if fault.cut_after else fault)

    assert main(["search", "--stream", "turbines"]) == 1

    output = capsys.readouterr()
    assert output.out.startswith("Turbines")
    assert output.out.endswith("\n")
    assert output.err.splitlines()[-1].startswith("WEB_PROVIDER_ERROR: ")


@pytest.mark.parametrize("fault", CUTS, ids=["cut", "error"])
def test_a_stream_for_programs_that_fails_ends_in_a_line_with_the_error(
    configured: LoopbackServer, capsys: Captured, fault: Fault
) -> None:
    configured.add_fault(_cut_in_the_text(configured, capsys) if fault.cut_after else fault)

    assert main(["search", "--stream", "--json", "turbines"]) == 1

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "text" in [line.get("kind") for line in lines]
    assert lines[-1]["error"]["code"] == "WEB_PROVIDER_ERROR"


def _cut_in_the_text(server: LoopbackServer, capsys: Captured) -> Fault:
    """Return a fault that cuts the stream shortly after its first text."""
    import httpx

    main(["search", "--stream", "--json", "turbines"])
    capsys.readouterr()
    sent = server.requests[-1]
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    body = httpx.post(server.url + sent.path, content=sent.body, headers=headers).content
    return Fault(cut_after=body.index(b"output_text.delta") + 400)


def test_a_stream_that_fails_before_any_text_prints_nothing(
    configured: LoopbackServer, capsys: Captured
) -> None:
    configured.add_fault(Fault(status=400))

    assert main(["search", "--stream", "turbines"]) == 1

    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("WEB_PROVIDER_ERROR: ")


# -- outputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [(), ("--json",), ("--stream",), ("--stream", "--json"), ("--dry-run",)], ids=str
)
@pytest.mark.parametrize("reader", ["head", "nobody"])
@pytest.mark.usefixtures("configured")
def test_a_reader_that_has_seen_enough_is_no_failure(options: tuple[str, ...], reader: str) -> None:
    run = Run("search", "turbines", *options, pipe_to=reader)

    complaints = [line for line in run.err.splitlines() if not line.startswith("[")]
    assert complaints == []
    assert run.status == 0


@pytest.mark.usefixtures("configured")
def test_a_stream_that_nobody_reads_on_is_given_up(server: LoopbackServer) -> None:
    server.add_fault(Fault(stream={"chunk_delay": 0.05}))
    run = Run("search", "turbines", "--stream", "--json", pipe_to="head")

    assert (0, "") == (run.status, run.err)
    assert json.loads(run.out)["kind"]


@pytest.mark.parametrize("options", [(), ("--stream",), ("--dry-run",)], ids=str)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.usefixtures("configured")
def test_characters_that_the_output_cannot_hold_do_not_end_the_search(
    options: tuple[str, ...], encoding: str
) -> None:
    run = Run("search", "wind", "風", *options, PYTHONIOENCODING=encoding)

    assert (0, True) == (run.status, "Traceback" not in run.err)
    assert b"wind" in run.out
    assert b"?" in run.out


@pytest.mark.parametrize("options", [(), ("--stream",), ("--dry-run",)], ids=str)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.usefixtures("configured")
def test_json_loses_no_character_in_any_encoding(options: tuple[str, ...], encoding: str) -> None:
    run = Run("search", "wind", "風", "--json", *options, PYTHONIOENCODING=encoding)

    assert run.status == 0
    text = run.out.decode(encoding)
    lines = text.splitlines() if "--stream" in options else [text]
    assert "風" in json.dumps([json.loads(line) for line in lines], ensure_ascii=False)


@pytest.mark.parametrize(
    "text", ["10\u00a0km", "10\u202f000", "東京\u3000都", "नम\u200cस्ते", "👩\u200d🚀", "a\u2003b"]
)
def test_spaces_and_joiners_of_other_scripts_are_kept(text: str) -> None:
    assert text == plain(text)


@pytest.mark.parametrize("character", ["\x1b", "\x9b", "\r", "\x00", "\u202e", "\u2066", "\u2028"])
def test_characters_that_could_play_tricks_are_taken_out(character: str) -> None:
    assert plain(f"a{character}b") == "ab"


def test_the_style_of_the_stream_makes_no_difference(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "tides.md").write_text("# Tides\n\nTurbines turn with the tide.\n")
    style = StreamStyle(eol="crlf", event=True, done=True, ping="every", pieces=7)
    with (
        LoopbackServer(corpus=tmp_path, api_key=KEY, stream=style) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PERPLEXITY_API_KEY", KEY)
        patch.setenv("PERPLEXITY_BASE_URL", server.url)
        assert main(["search", "--stream", "turbines"]) == 0

    assert "Turbines turn with the tide." in capsys.readouterr().out
