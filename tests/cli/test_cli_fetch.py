"""`dsh-web fetch`: a page at the terminal, and why one is refused."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from dsh_web import WebFetchResult, WebPage
from dsh_web.cli import main
from dsh_web.server import LoopbackServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackServer]:
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "tides.md").write_text(
        "# Tidal power\n\nTurbines turn with the tide.\n\nThey rest at \x1b[31mslack water.\n"
    )
    with LoopbackServer(corpus=corpus) as running:
        yield running


@pytest.fixture
def page(server: LoopbackServer) -> str:
    return f"{server.url}/pages/1"


def test_a_page_is_shown_as_markdown(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", page, "--allow-private"]) == 0

    shown = capsys.readouterr()
    assert "# Tidal power" in shown.out.splitlines()
    assert "Turbines turn with the tide.\n\nThey rest at" in shown.out
    assert "<" not in shown.out
    assert shown.err == ""


def test_nothing_that_a_page_says_can_control_the_terminal(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ([], ["--html"]):
        assert main(["fetch", page, "--allow-private", *option]) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_the_source_can_be_shown(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", page, "--allow-private", "--html"]) == 0

    assert "<h1>Tidal power</h1>" in capsys.readouterr().out


def test_json_reads_back(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", page, "--allow-private", "--json"]) == 0
    read = WebPage.model_validate_json(capsys.readouterr().out)
    assert (read.url, read.status_code, read.kind, read.title) == (
        page,
        200,
        "html",
        "Tidal power",
    )

    assert main(["fetch", page, "--allow-private", "--json", "--html"]) == 0
    fetched = WebFetchResult.model_validate_json(capsys.readouterr().out)
    assert "<h1>Tidal power</h1>" in fetched.body.content


def test_a_cap_cuts_the_markdown_and_says_so(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", page, "--allow-private", "--max-chars", "20", "--main"]) == 0

    shown = capsys.readouterr()
    assert len(shown.out.strip()) <= 20
    assert shown.err == "note: the page was cut to a limit\n"


def test_an_error_status_is_shown_with_a_note(
    server: LoopbackServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", f"{server.url}/pages/missing", "--allow-private"]) == 0

    shown = capsys.readouterr()
    assert shown.err == "note: the server answered HTTP 404\n"
    assert shown.out.strip()


# -- refusals --------------------------------------------------------------------------------------


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every name the address 10.0.0.1, and fail on any connection."""

    def resolve(host: str, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        address = host if host[0] in "0123456789[" else "10.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    def connect(*args: Any) -> None:
        raise AssertionError(f"a connection was attempted: {args}")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1", "127.0.0.1"),
        ("http://2130706433", "127.0.0.1"),
        ("http://[::ffff:7f00:1]", "127.0.0.1"),
        ("http://intranet.example", "10.0.0.1"),
    ],
)
def test_an_address_that_is_not_public_is_refused_with_the_reason(
    no_network: None, capsys: pytest.CaptureFixture[str], url: str, why: str
) -> None:
    assert main(["fetch", url]) == 1

    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("WEB_BLOCKED_URL: ")
    assert why in line


def test_a_failure_as_json_holds_the_code(
    no_network: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "http://127.0.0.1", "--json"]) == 1

    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "WEB_BLOCKED_URL"
    assert error["provider"] == "http"


@pytest.mark.parametrize("url", ["", "not a url", "file:///etc/hostname", "//ok.example/x"])
def test_what_is_no_address_is_refused(
    no_network: None, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    assert main(["fetch", url]) == 1

    assert capsys.readouterr().err.startswith("WEB_INVALID_URL: ")


def test_even_private_hosts_exclude_metadata_services(
    no_network: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "http://169.254.169.254/", "--allow-private"]) == 1

    assert capsys.readouterr().err.startswith("WEB_BLOCKED_URL: ")


def test_an_unknown_provider_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "https://a.example/", "--provider", "nobody"]) == 1

    shown = capsys.readouterr().err
    assert shown.startswith("WEB_PROVIDER_CONFIGURED_MISSING: ")
    assert "nobody" in shown


@pytest.mark.parametrize(
    "options",
    [
        ["--html", "--main"],
        ["--html", "--max-chars", "5"],
        ["--allow-private", "--provider", "other"],
    ],
)
def test_options_that_contradict_each_other_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert main(["fetch", "https://a.example/", *options]) == 2

    assert "error: " in capsys.readouterr().err
