"""Every fault, as a client sees it, and every way to ask for one."""

from __future__ import annotations

import dataclasses
import gzip
import json
import socket
import time
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from dsh_web.server import Fault, LoopbackServer

# One unit of waiting; long enough to be seen, short enough to be cheap.
MS = 0.001
QUERY = {"query": "tidal turbines"}


def search(client: httpx.Client, fault: str = "", **options: Any) -> httpx.Response:
    headers = {"x-loopback-fault": fault} if fault else {}
    return client.post("/search", json=QUERY, headers=headers, **options)


def raw_answer(server: LoopbackServer, path: str, seconds: float) -> bytes:
    """Return what arrives within some seconds on a bare socket."""
    address = urlsplit(server.url)
    body = json.dumps(QUERY).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.api_key}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    received = b""
    with socket.create_connection((address.hostname, address.port), timeout=seconds) as sock:
        sock.sendall(head.encode() + body)
        try:
            while piece := sock.recv(65536):
                received += piece
        except TimeoutError:
            return received + b"<silence>"
    return received + b"<end>"


def test_a_status_brings_a_matching_error(client: httpx.Client) -> None:
    answer = search(client, "status=429,retry-after=2,x-should-retry=true")

    assert answer.status_code == 429
    assert answer.json()["error"]["type"] == "request_rate_limit_exceeded"
    assert answer.json()["error"]["code"] == 429
    assert answer.headers["retry-after"] == "2"
    assert answer.headers["x-should-retry"] == "true"
    assert "x-request-id" in answer.headers


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_body_sends_none(client: httpx.Client, status: int) -> None:
    answer = search(client, f"status={status}")

    assert (answer.status_code, answer.content) == (status, b"")


def test_a_status_below_400_keeps_the_normal_body(client: httpx.Client) -> None:
    answer = search(client, "status=203")

    assert answer.status_code == 203
    assert answer.json()["results"]


def test_any_body_and_content_type_can_be_sent(
    server: LoopbackServer, client: httpx.Client
) -> None:
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    page = Fault(status=401, body="<html>401</html>", headers={"Retry-After": date})  # type: ignore[arg-type]
    server.add_fault(page)
    server.add_fault(Fault(body=b'{"cut', content_type="text/csv"))

    first, second = search(client), search(client)

    assert (first.status_code, first.text) == (401, "<html>401</html>")
    assert first.headers["content-type"] == "text/html"
    assert first.headers["retry-after"] == date
    assert (second.status_code, second.content) == (200, b'{"cut')
    assert second.headers["content-type"] == "text/csv"


def test_the_content_type_alone_can_be_wrong(client: httpx.Client) -> None:
    answer = search(client, "content-type=text/html")

    assert answer.headers["content-type"] == "text/html"
    assert answer.json()["results"]


def test_a_delay_comes_before_the_first_byte(client: httpx.Client) -> None:
    started = time.monotonic()
    assert search(client, "delay=0.1").status_code == 200
    assert time.monotonic() - started >= 100 * MS

    with pytest.raises(httpx.ReadTimeout):
        search(client, "delay=5", timeout=50 * MS)


def test_a_drip_sends_the_whole_body_slowly(client: httpx.Client) -> None:
    started = time.monotonic()
    headers = {"x-loopback-fault": "drip=40:0.005"}
    with client.stream("POST", "/search", json=QUERY, headers=headers) as answer:
        pieces = list(answer.iter_raw())

    body = b"".join(pieces)
    assert json.loads(body)["results"]
    assert len(pieces) > len(body) // 80
    assert time.monotonic() - started >= 5 * MS * (len(body) // 40)


def test_a_stall_keeps_the_connection_open_in_silence(
    server: LoopbackServer, client: httpx.Client
) -> None:
    received = raw_answer(server, "/_fault/stall-after=10/search", 100 * MS)

    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-length" in head
    assert body.endswith(b"<silence>")
    assert len(body) == 10 + len(b"<silence>")
    assert server.wait_until_closed(2)


def test_a_cut_is_a_truncated_body(server: LoopbackServer, client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="received 10 bytes"):
        search(client, "cut-after=10")
    with pytest.raises(httpx.RemoteProtocolError, match="received 0 bytes"):
        search(client, "cut-after=0")


def test_a_cut_beyond_the_end_still_closes(server: LoopbackServer) -> None:
    received = raw_answer(server, "/_fault/cut-after=1m/search", 2)

    body = received.partition(b"\r\n\r\n")[2].removesuffix(b"<end>")
    assert json.loads(body)["results"]


@pytest.mark.parametrize("size", [0, 30])
def test_a_reset_is_a_reset(server: LoopbackServer, size: int) -> None:
    with pytest.raises(ConnectionResetError):
        raw_answer(server, f"/_fault/reset-after={size}/search", 2)


@pytest.mark.parametrize(
    ("spec", "status"),
    [("redirect=https://else.example/x", 307), ("redirect=/search,status=302", 302)],
)
def test_a_redirect_names_its_target(client: httpx.Client, spec: str, status: int) -> None:
    answer = search(client, spec)

    assert answer.status_code == status
    assert answer.headers["location"] == spec.split(",")[0].removeprefix("redirect=")


def test_a_huge_body_is_valid_json_of_that_size(client: httpx.Client) -> None:
    answer = search(client, "huge=3m")

    assert len(answer.content) == 3 * 1024 * 1024
    assert answer.json()["results"][0]["title"] == "Huge"


def test_a_huge_body_can_be_left_early(server: LoopbackServer, connect: Any) -> None:
    with connect(server) as client:
        headers = {"x-loopback-fault": "huge=4g"}
        with client.stream("POST", "/search", json=QUERY, headers=headers) as answer:
            assert next(answer.iter_raw(1000)).startswith(b'{"id"')

    assert server.wait_until_closed(2)


def test_a_gzip_bomb_is_small_on_the_wire(client: httpx.Client) -> None:
    headers = {"x-loopback-fault": "gzip-bomb=5m"}
    with client.stream("POST", "/search", json=QUERY, headers=headers) as answer:
        packed = b"".join(answer.iter_raw())

    assert answer.headers["content-encoding"] == "gzip"
    assert len(packed) < 20_000
    assert len(gzip.decompress(packed)) == 5 * 1024 * 1024


def test_a_base_url_can_carry_a_fault(server: LoopbackServer, connect: Any) -> None:
    client = connect(server, base_url=f"{server.url}/_fault/status=503,retry-after-ms=5")

    answer = search(client)

    assert answer.status_code == 503
    assert answer.headers["retry-after-ms"] == "5"
    assert server.requests[-1].path == "/search"


@pytest.mark.parametrize(
    "segment",
    [
        "redirect=https%3A%2F%2Felse.example%2Fx",
        "redirect%3Dhttps%3A%2F%2Felse.example%2Fx",
        quote("redirect=https://else.example/x", safe=""),
    ],
)
def test_a_spec_in_a_path_may_be_url_encoded(server: LoopbackServer, segment: str) -> None:
    received = raw_answer(server, f"/_fault/{segment}/search", 100 * MS)

    assert b"location: https://else.example/x\r\n" in received


def test_a_header_wins_over_the_base_url(server: LoopbackServer, connect: Any) -> None:
    client = connect(server, base_url=f"{server.url}/_fault/status=503,label=a")

    assert search(client, "status=500").status_code == 500


def test_times_spends_a_fault(server: LoopbackServer, connect: Any) -> None:
    client = connect(server, base_url=f"{server.url}/_fault/status=503,times=2")

    assert [search(client).status_code for _ in range(3)] == [503, 503, 200]
    server.reset()
    assert search(client).status_code == 503


def test_queued_faults_meet_the_next_requests_in_order(
    server: LoopbackServer, client: httpx.Client
) -> None:
    server.add_fault(Fault(status=500), times=2)
    server.add_fault(Fault(status=429))

    assert [search(client).status_code for _ in range(4)] == [500, 500, 429, 200]


def test_reset_forgets_queued_faults(server: LoopbackServer, client: httpx.Client) -> None:
    server.add_fault(Fault(status=500), times=9)

    server.reset()

    assert search(client).status_code == 200


def test_standing_faults_meet_every_request(corpus: Any, connect: Any) -> None:
    faults = [Fault(headers=(("x-a", "1"),)), Fault(status=502, times=1)]
    with LoopbackServer(corpus=corpus, faults=faults) as server:
        client = connect(server)
        answers = [search(client) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [502, 200]
    assert [answer.headers["x-a"] for answer in answers] == ["1", "1"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("status=99", "status"),
        ("status=abc", "not a whole number"),
        ("teapot=1", "unknown fault 'teapot'"),
        ("status", "not name=value"),
        ("delay=soon", "not a number of seconds"),
        ("delay=-1", "seconds >= 0"),
        ("delay=nan", "seconds >= 0"),
        ("drip=5", "BYTES:SECONDS"),
        ("drip=0:1", "bytes >= 1"),
        ("cut-after=1,reset-after=1", "cannot be combined"),
        ("huge=1,body=x", "cannot be combined"),
        ("redirect=/,status=200", "a redirect needs"),
        ("header.content-length=3", "cannot be sent"),
        ("retry-after=1%0d%0aset-cookie: x", "cannot be sent"),
        (",", "empty fault"),
    ],
)
def test_a_bad_spec_is_a_400_that_says_why(client: httpx.Client, spec: str, reason: str) -> None:
    answer = search(client, spec)

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_fault"
    assert reason in answer.json()["error"]["message"]


def test_specs_read_every_field() -> None:
    spec = (
        "status=201,body=a%2Cb,content-type=text/plain,delay=0.5,drip=1k:0.1,stall-after=2,"
        "times=3,label=x,retry-after=Wed%2C 21 Oct,header.x-y=z"
    )

    assert Fault.parse(spec) == Fault(
        status=201,
        body="a,b",
        content_type="text/plain",
        delay=0.5,
        drip=(1024, 0.1),
        stall_after=2,
        times=3,
        label="x",
        headers=(("retry-after", "Wed, 21 Oct"), ("x-y", "z")),
    )


def test_faults_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Fault().status = 5  # type: ignore[misc]
