"""Answering from recorded bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer

BODIES = {
    "vendor/search/alpha.json": b'{"id": "a", "results": []}\n',
    "vendor/search/beta.json": b'{ "id":"b" }',
    "vendor/agent/first.json": b'{"object":"response"}',
    "vendor/sonar-pro/old.json": b'{"object":"chat.completion"}',
    "vendor/errors/401-html.txt": b"  <html>no</html>",
    "vendor/errors/plain.txt": b"no",
    "vendor/errors/noted.json": b'{"error": "slow down"}',
    "vendor/agent/frames.sse": b"data: {}\n\n",
    "vendor/other/ignored.json": b"{}",
}


@pytest.fixture(scope="module")
def replay_server(
    tmp_path_factory: pytest.TempPathFactory, corpus: Path
) -> Iterator[LoopbackServer]:
    folder = tmp_path_factory.mktemp("recorded")
    for name, body in BODIES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    notes = {"file": "vendor/errors/noted.json", "notes": "recorded in May; HTTP 429"}
    (folder / "index.jsonl").write_text(json.dumps(notes) + "\n\n")
    with LoopbackServer(replay=folder, corpus=corpus) as server:
        yield server


@pytest.fixture
def client(replay_server: LoopbackServer, connect: Any) -> httpx.Client:
    replay_server.reset()
    client: httpx.Client = connect(replay_server)
    return client


def test_bodies_take_turns(client: httpx.Client) -> None:
    answers = [client.post("/search", json={"query": "x"}).content for _ in range(3)]

    alpha, beta = BODIES["vendor/search/alpha.json"], BODIES["vendor/search/beta.json"]
    assert answers == [alpha, beta, alpha]


@pytest.mark.parametrize("query", ["beta", "beta.json"])
def test_the_query_may_name_the_body(client: httpx.Client, query: str) -> None:
    answer = client.post("/search", json={"query": query})

    assert answer.content == BODIES["vendor/search/beta.json"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("path", "body", "file"),
    [
        ("/v1/agent", {"input": "first"}, "vendor/agent/first.json"),
        ("/responses", {"input": "anything"}, "vendor/agent/first.json"),
        ("/chat/completions", {"messages": [{"content": "old"}]}, "vendor/sonar-pro/old.json"),
    ],
)
def test_every_api_has_its_own_bodies(
    client: httpx.Client, path: str, body: dict[str, Any], file: str
) -> None:
    assert client.post(path, json=body).content == BODIES[file]


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("errors/401-html", 401, "text/html"),
        ("errors/401-html.txt", 401, "text/html"),
        ("errors/plain", 500, "text/plain"),
        ("errors/noted", 429, "application/json"),
        ("sonar-pro/old", 200, "application/json"),
    ],
)
def test_a_header_picks_any_body(client: httpx.Client, name: str, status: int, kind: str) -> None:
    answer = client.post("/search", json={"query": "x"}, headers={"x-loopback-replay": name})

    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert answer.content in BODIES.values()


def test_an_unknown_name_lists_what_there_is(client: httpx.Client) -> None:
    answer = client.post("/search", json={}, headers={"x-loopback-replay": "search/gamma"})

    message = answer.json()["error"]["message"]
    assert answer.status_code == 404
    assert "search/alpha, search/beta, sonar-pro/old" in message
    assert "ignored" not in message
    assert "frames" not in message


def test_a_key_is_needed_all_the_same(replay_server: LoopbackServer, connect: Any) -> None:
    assert connect(replay_server, headers={}).post("/search", json={}).status_code == 401
