"""Starting, stopping, counting connections, and running in the foreground."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from dsh_web.server import Fault, LoopbackServer
from dsh_web.server.__main__ import main

QUERY = {"query": "tidal turbines"}


def test_two_servers_run_at_once(corpus: Path, connect: Any, tmp_path: Path) -> None:
    (tmp_path / "only.txt").write_text("Granite is a hard rock.\n")
    with LoopbackServer(corpus=corpus) as one, LoopbackServer(corpus=tmp_path) as two:
        sea = connect(one).post("/search", json={"query": "granite turbines"}).json()
        rock = connect(two).post("/search", json={"query": "granite turbines"}).json()

    assert one is not two
    assert len(sea["results"]) == 3
    assert [row["url"] for row in rock["results"]] == ["https://corpus.example/only.txt"]


def test_stopping_does_not_wait_for_hanging_requests(corpus: Path, connect: Any) -> None:
    failures: list[Exception] = []
    server = LoopbackServer(corpus=corpus, faults=[Fault(stall_after=0)]).start()
    client = connect(server, timeout=30)

    def hang() -> None:
        try:
            client.post("/search", json=QUERY)
        except httpx.HTTPError as error:
            failures.append(error)

    threads = [threading.Thread(target=hang) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(server.requests) < 3:
        time.sleep(0.005)
    started = time.monotonic()
    server.stop()

    assert time.monotonic() - started < 1
    for thread in threads:
        thread.join(2)
    assert len(failures) == 3
    assert server.open_connections == 0


def test_latency_holds_every_answer_back(corpus: Path, connect: Any) -> None:
    with LoopbackServer(corpus=corpus, latency=0.05) as server:
        started = time.monotonic()
        assert connect(server).post("/search", json=QUERY).status_code == 200

    assert time.monotonic() - started >= 0.05


def test_connections_are_counted(server: LoopbackServer, connect: Any) -> None:
    assert server.wait_until_closed(2)
    server.reset()
    client = connect(server)

    for _ in range(3):
        client.post("/search", json=QUERY)
    connect(server).post("/search", json=QUERY)

    assert server.connections_accepted == 2
    assert server.open_connections == 2
    assert server.wait_until_closed(0.02) is False


def test_closing_the_client_is_seen(server: LoopbackServer, connect: Any) -> None:
    with connect(server) as client:
        client.post("/search", json=QUERY)

    assert server.wait_until_closed(2) is True
    assert server.open_connections == 0


def test_a_client_that_gives_up_frees_its_connection(server: LoopbackServer, connect: Any) -> None:
    with connect(server, timeout=0.05) as client, pytest.raises(httpx.ReadTimeout):
        client.post("/search", json=QUERY, headers={"x-loopback-fault": "delay=60"})

    assert server.wait_until_closed(2) is True


def test_it_is_an_async_context_manager(corpus: Path) -> None:
    async def ask() -> int:
        async with LoopbackServer(corpus=corpus) as server:
            key = {"authorization": f"Bearer {server.api_key}"}
            async with httpx.AsyncClient(base_url=server.url, headers=key) as client:
                return (await client.post("/search", json=QUERY)).status_code

    assert asyncio.run(ask()) == 200


def test_it_can_be_started_again(corpus: Path, connect: Any) -> None:
    server = LoopbackServer(corpus=corpus)
    for _ in range(2):
        with server:
            assert connect(server).post("/search", json=QUERY).status_code == 200
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url
    server.stop()


def test_starting_twice_is_an_error(server: LoopbackServer) -> None:
    with pytest.raises(RuntimeError, match="running already"):
        server.start()


def test_a_taken_port_is_an_error(server: LoopbackServer, corpus: Path) -> None:
    port = int(server.url.rpartition(":")[2])

    with pytest.raises(OSError, match=r"[Aa]ddress"):
        LoopbackServer(corpus=corpus, port=port).start()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"sonar": "alive"}, ValueError),
        ({"latency": -1}, ValueError),
        ({"api_key": ""}, ValueError),
        ({"corpus": "/nowhere/at/all"}, NotADirectoryError),
    ],
)
def test_wrong_settings_are_refused_at_once(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(options))):
        LoopbackServer(**options)


def test_the_foreground_server_says_where_it_is(corpus: Path) -> None:
    command = [sys.executable, "-m", "dsh_web.server", "--port", "0", "--corpus", str(corpus)]
    options = ["--api-key", "k", "--fault", "status=418", "--sonar", "legacy"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            url = next(word for word in first.split() if word.startswith("http"))
            answer = httpx.post(f"{url}/search", json=QUERY, headers={"authorization": "Bearer k"})
            usage = [process.stdout.readline() for _ in range(3)]
            process.send_signal(signal.SIGINT)
            status = process.wait(5)
        finally:
            process.kill()

    assert answer.status_code == 418
    assert "PERPLEXITY_BASE_URL" in usage[0]
    assert status == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_the_foreground_server_stays_on_loopback(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--host", host]) == 2
    assert "--allow-remote" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--fault", "teapot=1"], ["--sonar", "x"], ["--port", "y"]])
def test_the_foreground_server_explains_wrong_options(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert arguments[0] in capsys.readouterr().err


def test_the_server_imports_nothing_else_of_the_package() -> None:
    source = Path(__file__).parents[2] / "dsh_web" / "server"
    for path in source.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "import" in line and line.lstrip().startswith(("from dsh_web", "import dsh_web")):
                assert "dsh_web.server" in line, (path, line)


def test_a_missing_extra_is_explained() -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from dsh_web.server import Fault\n"
        "try:\n    from dsh_web.server import LoopbackServer\n"
        "except ImportError as error: print(error)\n"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert 'pip install "dsh-web[server]"' in told.stdout


def test_the_fixture_gives_a_clean_server(tmp_path: Path, python_docs_cache: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["dsh_web.server.pytest_plugin"]')
    (tmp_path / "test_it.py").write_text(
        "import httpx, pytest\n"
        "@pytest.mark.parametrize('turn', [1, 2])\n"
        "def test_clean(dsh_web_server, turn):\n"
        "    assert dsh_web_server.requests == []\n"
        "    assert httpx.get(dsh_web_server.url + '/_health').status_code == 200\n"
    )
    # Other plugins that happen to be installed only cost time here.
    settings = {"XDG_CACHE_HOME": str(python_docs_cache), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]

    told = subprocess.run(
        [*command, f"--rootdir={tmp_path}"],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed" in told.stdout, told.stdout + told.stderr
