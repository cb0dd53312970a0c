"""What holds for every endpoint: keys, headers, error shapes, and the pages for people."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from dsh_web.server import LoopbackServer


@pytest.mark.parametrize("path", ["/search", "/v1/agent", "/chat/completions"])
@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", "Basic bG9vcDpiYWNr"]
)
def test_a_missing_or_wrong_key_is_a_401(
    server: LoopbackServer, connect: Any, path: str, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}

    answer = connect(server, headers=headers).post(path, json={"query": "sea"})

    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "invalid_api_key"
    assert answer.json()["error"]["code"] == 401


def test_without_a_configured_key_any_bearer_will_do(corpus: Any, connect: Any) -> None:
    with LoopbackServer(corpus=corpus, api_key=None) as server:
        some = connect(server, headers={"authorization": "bearer anything"})
        none = connect(server, headers={})

        assert some.post("/search", json={"query": "sea"}).status_code == 200
        assert none.post("/search", json={"query": "sea"}).status_code == 401


def test_answers_carry_an_id_and_the_rate_limit(client: httpx.Client) -> None:
    answers = [client.get("/v1/models") for _ in range(2)]

    remaining = [int(answer.headers["x-ratelimit-remaining"]) for answer in answers]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 2
    assert answers[0].headers["x-ratelimit-limit"] == "50"
    assert remaining == [49, 48]
    assert 0 < int(answers[0].headers["x-ratelimit-reset"]) - time.time() <= 61


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/search", 405), ("POST", "/v1/models", 405)],
)
def test_unknown_addresses_and_methods_have_the_error_shape(
    client: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)

    assert answer.status_code == status
    assert answer.json()["error"]["code"] == status


@pytest.mark.parametrize("path", ["/search", "/v1/agent"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"query": NaN}', b"\xff\xfe", b"[" * 100_000, b"9" * 5000]
)
def test_bad_json_is_a_400(client: httpx.Client, path: str, content: bytes) -> None:
    answer = client.post(path, content=content)

    assert answer.status_code in {400, 422}
    if not content.isdigit():
        assert answer.json()["error"]["type"] == "invalid_request"


def test_json_that_is_no_object_is_refused(client: httpx.Client) -> None:
    assert client.post("/search", json=[]).status_code == 422
    assert client.post("/v1/agent", json=[]).status_code == 400


def test_requests_are_recorded(server: LoopbackServer, client: httpx.Client) -> None:
    client.post("/search?a=1", json={"query": "sea"}, headers={"X-Title": "me"})
    client.post("/search", content=b"not json")

    first, second = server.requests
    assert (first.method, first.path, first.query) == ("POST", "/search", "a=1")
    assert first.json == {"query": "sea"}
    assert first.headers["x-title"] == "me"
    assert (second.body, second.json) == (b"not json", None)
    assert first.received_at <= second.received_at


def test_reset_forgets_requests_and_counters(server: LoopbackServer, client: httpx.Client) -> None:
    client.get("/v1/models")

    server.reset()

    assert server.requests == []
    assert server.connections_accepted == 0


def test_the_home_page_needs_no_key(server: LoopbackServer, connect: Any) -> None:
    stranger = connect(server, headers={})

    about = stranger.get("/").json()
    page = stranger.get("/", headers={"accept": "text/html"})

    assert about["documents"] == server.corpus_size == 5
    assert "POST /search" in about["routes"]
    assert page.headers["content-type"].startswith("text/html")
    assert stranger.get("/_health").json() == {"status": "ok"}


def test_documents_have_pages(server: LoopbackServer, connect: Any) -> None:
    stranger = connect(server, headers={})

    page = stranger.get("/pages/1")

    assert page.status_code == 200
    assert '<link rel="canonical" href="https://bees.example.edu/dance">' in page.text
    assert "<p>Honey bees dance" in page.text
    assert stranger.get("/pages/999").status_code == 404
    assert stranger.get("/pages/99999999999999999999999").status_code == 404


def test_pages_link_to_each_other(server: LoopbackServer, connect: Any) -> None:
    stranger = connect(server, headers={})

    home = stranger.get("/", headers={"accept": "text/html"}).text
    first = stranger.get("/pages/1").text
    last = stranger.get(f"/pages/{server.corpus_size}").text

    assert '<a href="/pages/1">' in home
    assert "<td>https://bees.example.edu/dance</td>" in home
    assert '<a rel="next" href="2">' in first
    assert 'rel="prev"' not in first
    assert 'rel="next"' not in last
    assert "<tr><th>Address</th><td>https://bees.example.edu/dance</td></tr>" in first
