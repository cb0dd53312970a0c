"""The command line against the loopback server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsh_web.cli import main
from dsh_web.cli.show import plain
from dsh_web.server import LoopbackServer

KEY = "cli-key-0123456789"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackServer]:
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "tides.md").write_text(
        "# Tidal power\n\nTurbines turn with the tide. They rest at slack water.\n"
    )
    (corpus / "wind.md").write_text(
        "# Wind power\n\nTurbines turn with the wind. They rest in a calm.\n"
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


def test_search_shows_the_answer_and_its_sources(
    configured: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "when", "do", "turbines", "turn"]) == 0

    shown = capsys.readouterr().out
    assert "Turbines turn with the" in shown
    assert "[1]" in shown
    assert "https://corpus.example/tides" in shown
    assert "provider perplexity" in shown


def test_search_prints_json_that_reads_back(
    configured: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    from dsh_web import WebSearchResult

    assert main(["search", "turbines", "--json", "--provider", "perplexity-search"]) == 0

    result = WebSearchResult.model_validate_json(capsys.readouterr().out)
    assert result.provider == "perplexity-search"
    assert len(result.sources) == 2
    assert result.raw is None


def test_search_passes_its_filters_on(
    configured: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--provider", "perplexity-search", "--recency", "year", "--languages", "en"]

    assert main(["search", "turbines", "--max-results", "1", *arguments]) == 0

    sent = configured.requests[-1].json
    assert (
        sent["search_recency_filter"],
        sent["search_language_filter"],
        sent["max_results"],
    ) == ("year", ["en"], 1)


def test_a_failed_search_says_why_and_exits_with_one(
    configured: LoopbackServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERPLEXITY_API_KEY", "wrong-key-0123456789")

    assert main(["search", "turbines"]) == 1

    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("WEB_PROVIDER_ERROR: ")
    assert "wrong-key-0123456789" not in output.err


def test_a_failed_search_is_json_too_when_asked_for(
    configured: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "turbines", "--country", "Atlantis", "--json"]) == 1

    assert json.loads(capsys.readouterr().out)["error"]["code"] == "WEB_INVALID_REQUEST"


def test_a_search_without_any_provider_says_what_to_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["search", "anything"]) == 1

    assert "PERPLEXITY_API_KEY" in capsys.readouterr().err


@pytest.mark.usefixtures("configured")
def test_doctor_names_the_provider_that_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0

    shown = capsys.readouterr().out
    assert "a search would use: perplexity" in shown
    assert KEY not in shown


def test_doctor_asks_nothing_of_the_network(
    configured: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor"])

    assert configured.requests == []
    assert capsys.readouterr().out


def test_doctor_explains_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 1

    shown = capsys.readouterr().out
    assert "not configured: set PERPLEXITY_API_KEY" in shown
    assert "WEB_PROVIDER_UNAVAILABLE" in shown


def test_doctor_explains_a_provider_that_is_pinned_but_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--provider", "nobody", "--json"]) == 1

    findings = json.loads(capsys.readouterr().out)
    assert "WEB_PROVIDER_CONFIGURED_MISSING" in findings["problem"]
    assert findings["search_would_use"] is None


@pytest.mark.parametrize("vendor", ["PERPLEXITY", "PARALLEL"])
def test_doctor_hides_credentials_in_the_base_url(
    vendor: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{vendor}_API_KEY", KEY)
    monkeypatch.setenv(f"{vendor}_BASE_URL", "https://user:hunter2@gateway.example")

    main(["doctor"])

    shown = capsys.readouterr().out
    assert f"{vendor}_BASE_URL is https://gateway.example" in shown
    assert "hunter2" not in shown


def test_control_characters_from_the_web_never_reach_the_terminal() -> None:
    assert plain("\x1b" + "red \x1b]52;c;x\x07 alert") == "red ]52;c;x alert"


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["fly"])

    assert caught.value.code == 2
    assert "fly" in capsys.readouterr().err


def test_serve_refuses_an_address_that_others_can_reach(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "0.0.0.0"]) == 2

    assert "--allow-remote" in capsys.readouterr().err


def test_a_corpus_folder_that_is_not_there_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", "0", "--corpus", str(tmp_path / "missing")]) == 2

    assert "missing" in capsys.readouterr().err
