"""The bytes of every switch of a stream, how streams break, and how the server lets go of them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from dsh_web.server import Fault, LoopbackServer, StreamStyle
from dsh_web.server.__main__ import main
from dsh_web.server.sse import Cutter

from .events import QUESTION, agent, read

BODY = {"preset": "fast", "input": QUESTION, "stream": True}


def rows(raw: bytes) -> list[dict[str, Any]]:
    """Return the payloads without what differs from run to run."""
    names = ("type", "delta", "text")
    return [{key: p[key] for key in names if key in p} for p in read(raw).payloads]


@pytest.mark.parametrize(("eol", "end"), [("lf", b"\n"), ("crlf", b"\r\n"), ("cr", b"\r")])
def test_line_ends(client: httpx.Client, eol: str, end: bytes) -> None:
    seen = agent(client, f"sse-eol={eol}")

    assert seen.raw.endswith(end * 2)
    assert seen.raw.count(end * 2) == len(seen.payloads)
    assert seen.raw.replace(end, b"").count(b"\n") == 0
    assert seen.raw.replace(end, b"").count(b"\r") == 0
    assert seen.types[-1] == "response.completed"


def test_event_lines(client: httpx.Client) -> None:
    seen = agent(client, "sse-event=1")

    assert seen.raw.startswith(b"event: response.created\ndata: {")
    assert seen.names == seen.types


def test_the_trailer(client: httpx.Client) -> None:
    seen = agent(client, "sse-done=1")

    assert seen.raw.endswith(b"}\n\ndata: [DONE]\n\n")
    assert seen.raw.count(b"[DONE]") == 1


@pytest.mark.parametrize(("ping", "count"), [("none", 0), ("first", 1), ("every", None)])
def test_pings(client: httpx.Client, ping: str, count: int | None) -> None:
    seen = agent(client, f"sse-ping={ping}")

    assert len(seen.comments) == (len(seen.payloads) if count is None else count)
    assert all(comment.startswith("ping - 2") for comment in seen.comments)
    assert seen.raw.startswith(b": ping - " if seen.comments else b"data: ")


def test_json_over_several_data_lines(client: httpx.Client) -> None:
    seen = agent(client, "sse-multiline=1")

    assert seen.raw.startswith(b'data: {\ndata:  "type": "response.created",\ndata: ')
    assert rows(seen.raw) == rows(agent(client).raw)


def test_a_byte_order_mark(client: httpx.Client) -> None:
    seen = agent(client, "sse-bom=1")

    assert seen.raw.startswith(b"\xef\xbb\xbfdata: {")
    assert seen.raw.count(b"\xef\xbb\xbf") == 1


@pytest.fixture
def accents(tmp_path: Path, connect: Any) -> Any:
    (tmp_path / "a.txt").write_text("Äther\n\nDer Äther über dem Café ist größer als Ökostrom.\n")
    with LoopbackServer(corpus=tmp_path) as server:
        yield connect(server)


@pytest.mark.parametrize("size", [1, 7])
def test_pieces_cut_characters_and_line_ends(accents: httpx.Client, size: int) -> None:
    body = {**BODY, "input": "Äther Café"}
    headers = {"x-loopback-fault": f"sse-pieces={size},sse-eol=crlf"}
    with accents.stream("POST", "/v1/agent", json=body, headers=headers) as answer:
        pieces = list(answer.iter_raw())

    assert {len(piece) for piece in pieces[:-1]} == {size}
    assert len(pieces[-1]) <= size
    assert any(_is_torn(piece) for piece in pieces)
    assert any(piece.endswith(b"\r") for piece in pieces)
    assert "größer" in read(b"".join(pieces)).text


def _is_torn(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return True
    return False


def test_without_pieces_every_event_is_one_chunk(client: httpx.Client) -> None:
    with client.stream("POST", "/v1/agent", json=BODY) as answer:
        pieces = list(answer.iter_raw())

    assert all(piece.startswith(b"data: ") and piece.endswith(b"\n\n") for piece in pieces)


def test_a_cutter_keeps_what_is_less_than_a_piece() -> None:
    cutter = Cutter(4)

    pieces = [*cutter.push(b"abc"), *cutter.push(b"defghi"), cutter.rest()]

    assert pieces == [b"abcd", b"efgh", b"i"]


def test_a_pause_between_events(client: httpx.Client) -> None:
    started = time.monotonic()
    seen = agent(client, "chunk-delay=0.002")

    assert time.monotonic() - started >= 0.002 * (len(seen.payloads) - 1)


def test_switches_combine(client: httpx.Client) -> None:
    spec = "sse-eol=cr,sse-event=1,sse-done=1,sse-ping=every,sse-multiline=1,sse-bom=1,sse-pieces=5"

    assert rows(agent(client, spec).raw) == rows(agent(client).raw)


@pytest.mark.parametrize("count", [0, 3])
def test_a_stream_can_break_off_after_some_events(server: LoopbackServer, count: int) -> None:
    received = _raw(server, f"/_fault/sse-disconnect-after={count}")

    assert received.count(b"data: ") == count
    assert b"\r\n0\r\n\r\n" not in received


def test_a_broken_stream_is_an_error_to_a_client(client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        agent(client, "sse-disconnect-after=3")


def _raw(server: LoopbackServer, prefix: str) -> bytes:
    """Return what arrives on a bare socket until the server closes it."""
    with _ask(server, prefix) as sock:
        return _drain(sock)


def _drain(sock: socket.socket) -> bytes:
    received = b""
    while piece := sock.recv(65536):
        received += piece
    return received


def _ask(server: LoopbackServer, prefix: str = "", body: dict[str, Any] = BODY) -> socket.socket:
    address = urlsplit(server.url)
    sent = json.dumps(body).encode()
    head = (
        f"POST {prefix}/v1/agent HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.api_key}\r\n"
        f"content-length: {len(sent)}\r\n\r\n"
    )
    sock = socket.socket()
    # A small buffer, so that a client that does not read is soon felt.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    sock.settimeout(5)
    sock.connect((address.hostname, address.port))
    sock.sendall(head.encode() + sent)
    return sock


# The other faults on streams.


def test_a_cut_and_a_reset_meet_streams(server: LoopbackServer) -> None:
    received = _raw(server, "/_fault/cut-after=2000")
    assert b"\r\n0\r\n\r\n" not in received
    assert b"response.created" in received
    assert b"response.completed" not in received
    with pytest.raises(ConnectionResetError):
        _raw(server, "/_fault/reset-after=3000")


def test_a_drip_and_a_delay_meet_streams(client: httpx.Client) -> None:
    started = time.monotonic()
    headers = {"x-loopback-fault": "drip=100:0.001,delay=0.05"}
    with client.stream("POST", "/v1/agent", json=BODY, headers=headers) as answer:
        pieces = list(answer.iter_raw())

    assert time.monotonic() - started >= 0.05 + 0.001 * len(pieces)
    assert max(map(len, pieces)) == 100
    assert read(b"".join(pieces)).types[-1] == "response.completed"


def test_a_stall_meets_streams(server: LoopbackServer) -> None:
    with _ask(server, "/_fault/stall-after=50") as sock:
        sock.settimeout(0.1)
        with pytest.raises(TimeoutError):
            _drain(sock)
        assert server.open_streams == 1

    assert _soon(lambda: server.open_streams == 0)


def test_a_status_comes_instead_of_a_stream(client: httpx.Client) -> None:
    answer = client.post("/v1/agent", json=BODY, headers={"x-loopback-fault": "status=529"})

    assert answer.status_code == 529
    assert answer.headers["content-type"] == "application/json"


def test_a_mistake_is_json_before_any_event(client: httpx.Client) -> None:
    answer = client.post("/v1/agent", json={**BODY, "input": ""})

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "input"


# Clients that leave.


def _soon(is_so: Any, seconds: float = 0.2) -> bool:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.002)
    return bool(is_so())


@pytest.mark.parametrize("spec", ["chunk-delay=5", "chunk-delay=0.01", "drip=10:1"])
def test_a_hang_up_is_noticed_at_once_and_the_run_stops(
    server: LoopbackServer, connect: Any, spec: str
) -> None:
    assert server.wait_until_closed(2)
    with connect(server) as client:
        headers = {"x-loopback-fault": spec}
        with client.stream("POST", "/v1/agent", json=BODY, headers=headers) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            response_id = "resp_" + answer.headers["x-request-id"]
            assert (server.open_connections, server.open_streams) == (1, 1)

        assert _soon(lambda: server.open_connections == 0)
        assert _soon(lambda: server.open_streams == 0)
    with connect(server) as client:
        assert client.get(f"/v1/agent/{response_id}").json()["status"] == "cancelled"


def test_a_client_that_does_not_read_and_then_leaves(tmp_path: Path) -> None:
    words = " ".join(f"granite{number}" for number in range(200_000))
    (tmp_path / "long.txt").write_text(f"Granite\n\n{words}\n")
    tool = {"type": "web_search", "max_tokens": 1_000_000, "max_tokens_per_page": 1_000_000}
    body = {**BODY, "input": "granite", "tools": [tool]}
    with LoopbackServer(corpus=tmp_path) as server, _ask(server, body=body) as sock:
        assert _soon(lambda: server.open_streams == 1, 5)
        time.sleep(0.3)
        assert server.open_streams == 1
        # Half-closed: the peer still takes nothing in, but has said that it is done.
        sock.shutdown(socket.SHUT_WR)

        assert _soon(lambda: server.open_connections == 0)
        assert _soon(lambda: server.open_streams == 0)


def test_a_client_may_leave_with_the_last_event(server: LoopbackServer) -> None:
    received = b""
    with _ask(server) as sock:
        while b'"type":"response.completed"' not in received:
            received += sock.recv(65536)
    id_ = received.partition(b"x-request-id: ")[2].partition(b"\r\n")[0].decode()

    key = {"authorization": f"Bearer {server.api_key}"}
    answer = httpx.get(f"{server.url}/v1/agent/resp_{id_}", headers=key)
    assert answer.json()["status"] == "completed"


@pytest.mark.parametrize("spec", ["chunk-delay=10", "chunk-delay=0", "stall-after=10"])
def test_stopping_breaks_streams_within_a_second(corpus: Path, spec: str) -> None:
    server = LoopbackServer(corpus=corpus, faults=[Fault.parse(spec)]).start()
    results: list[str] = []

    def follow() -> None:
        key = {"authorization": f"Bearer {server.api_key}"}
        try:
            while True:
                httpx.post(f"{server.url}/v1/agent", json=BODY, headers=key, timeout=20)
        except (httpx.HTTPError, RuntimeError) as error:
            results.append(type(error).__name__)

    threads = [threading.Thread(target=follow) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert _soon(lambda: len(server.requests) >= 4, 5)
    started = time.monotonic()
    server.stop()

    assert time.monotonic() - started < 1
    for thread in threads:
        thread.join(5)
    assert len(results) == 4
    assert server.open_streams == 0


async def test_many_streams_at_once(corpus: Path) -> None:
    async with LoopbackServer(corpus=corpus) as server:
        key = {"authorization": f"Bearer {server.api_key}"}
        async with httpx.AsyncClient(base_url=server.url, headers=key, timeout=20) as client:
            answers = await asyncio.gather(
                *(client.post("/v1/agent", json=BODY) for _ in range(20))
            )

    assert {read(answer.content).types[-1] for answer in answers} == {"response.completed"}


# Ways to ask for a style.


def test_a_server_has_a_style_and_a_request_changes_it(corpus: Path, connect: Any) -> None:
    style = StreamStyle(eol="crlf", done=True)
    with LoopbackServer(corpus=corpus, stream=style) as server:
        client = connect(server)
        own, changed = agent(client), agent(client, "sse-done=0")
        server.add_fault(Fault(stream={"event": True}))  # type: ignore[arg-type]
        queued = agent(client)

    assert own.raw.endswith(b"data: [DONE]\r\n\r\n")
    assert changed.raw.endswith(b"}\r\n\r\n")
    assert queued.raw.startswith(b"event: response.created\r\n")


def test_a_base_url_can_carry_a_style(server: LoopbackServer, connect: Any) -> None:
    base_url = f"{server.url}/_fault/sse-eol=cr/_fault/sse-done=1"

    assert agent(connect(server, base_url=base_url)).raw.endswith(b"data: [DONE]\r\r")


def test_texts_set_every_field() -> None:
    spec = (
        "sse-eol=crlf,sse-event=1,sse-done=yes,sse-terminal=failed,sse-ping=every,"
        "sse-multiline=true,sse-bom=0,sse-pieces=7,sse-disconnect-after=4,chunk-delay=0.02"
    )

    assert StreamStyle(**dict(Fault.parse(spec).stream)) == StreamStyle(
        eol="crlf",
        event=True,
        done=True,
        terminal="failed",
        ping="every",
        multiline=True,
        bom=False,
        pieces=7,
        disconnect_after=4,
        chunk_delay=0.02,
    )


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("sse-eol=lfcr", "eol"),
        ("sse-event=2", "not 1 or 0"),
        ("sse-terminal=dead", "terminal"),
        ("sse-ping=5", "ping"),
        ("sse-pieces=0", "pieces"),
        ("sse-pieces=x", "not a whole number"),
        ("chunk-delay=-1", "seconds >= 0"),
        ("chunk-delay=x", "not a number of seconds"),
        ("sse-teapot=1", "unknown fault"),
    ],
)
def test_bad_styles_are_refused(client: httpx.Client, spec: str, reason: str) -> None:
    answer = client.post("/v1/agent", json=BODY, headers={"x-loopback-fault": spec})

    assert answer.status_code == 400
    assert reason in answer.json()["error"]["message"]


def test_a_style_of_unknown_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        Fault(stream=(("colour", "red"),))


def test_the_command_line_sets_a_style(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []

    def note(**options: Any) -> Any:
        seen.append(options)
        raise OSError("enough")

    monkeypatch.setattr("dsh_web.server.loopback.LoopbackServer", note)
    assert main(["--sse-eol", "crlf", "--chunk-delay", "0.5", "--resume-seconds", "9"]) == 2

    assert seen[0]["stream"] == StreamStyle(eol="crlf", chunk_delay=0.5)
    assert seen[0]["resume_seconds"] == 9
    with pytest.raises(SystemExit):
        main(["--sse-eol", "x"])
    assert "--sse-eol" in capsys.readouterr().err
