"""Whatever a server sends ends in a typed error, soon and in little memory."""

from __future__ import annotations

import gzip
import itertools
import json
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest

from dsh_web import WebSearchResult

from .raw_server import (
    RawServer,
    Script,
    answering,
    answering_once,
    dripping,
    http_answer,
    resetting,
    sending,
)
from .support import BODY, OK, Call, ended_at, failure, provider_failure, runtime_on

MEGABYTE = 1_000_000
QUICKLY = 5.0
FLAT = 40 * MEGABYTE
"""Twice the cap of 10 MB on a body, and as much again for copies on the way."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
ZIPPED = HEAD + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def endless(first: bytes, piece: bytes) -> Script:
    return sending(lambda: itertools.chain([first], itertools.repeat(piece)))


def fifty_megabytes(first: bytes, wrap: Callable[[bytes], bytes] = bytes) -> Script:
    piece = wrap(b" " * 65_536)
    return sending(lambda: itertools.chain([first], itertools.repeat(piece, 50 * 16)))


def gzip_of_zeros(megabytes: int) -> bytes:
    return gzip.compress(bytes(megabytes * MEGABYTE), 9)


def many_gzip_members() -> Iterator[bytes]:
    member = gzip.compress(bytes(100_000), 9)
    return itertools.chain([ZIPPED], itertools.repeat(chunk(member), 500))


EMPTY_MEMBERS = gzip.compress(b"") * 3000
"""Decodes to nothing, so that a cap on decoded bytes alone never ends it."""

BAD_ANSWERS: dict[str, Script] = {
    "50 MB with content-length": fifty_megabytes(HEAD + b"content-length: 52428800\r\n\r\n"),
    "50 MB without content-length": fifty_megabytes(HEAD + b"\r\n"),
    "50 MB chunked": fifty_megabytes(CHUNKED, chunk),
    "50 MB in one chunk": fifty_megabytes(CHUNKED + b"3200000\r\n"),
    "50 kB of gzip that unfold to 50 MB": answering_once(
        http_answer(gzip_of_zeros(50), content_encoding="gzip")
    ),
    "deflate that unfolds to 50 MB": answering_once(
        http_answer(zlib.compress(bytes(50 * MEGABYTE), 9), content_encoding="deflate")
    ),
    "gzip members that unfold to 50 MB": sending(many_gzip_members),
    "gzip members without content and without end": endless(ZIPPED, chunk(EMPTY_MEMBERS)),
    "truncated gzip": answering_once(
        http_answer(gzip.compress(BODY)[:-12], content_encoding="gzip")
    ),
    "one byte of gzip": answering_once(http_answer(b"\x1f", content_encoding="gzip")),
    "corrupt gzip": answering_once(
        http_answer(gzip.compress(BODY)[:12] + b"garbage" * 9, content_encoding="gzip")
    ),
    "plain text that says it is gzip": answering_once(http_answer(BODY, content_encoding="gzip")),
    "an unknown content-encoding": answering_once(http_answer(BODY, content_encoding="br")),
    "two content-encodings": answering_once(http_answer(BODY, content_encoding="gzip, br")),
    "fewer bytes than content-length": answering_once(http_answer(BODY, length=len(BODY) + 5)),
    "less than content-length says": answering_once(http_answer(BODY, length=len(BODY) - 5)),
    "a content-length that is no number": answering_once(
        HEAD + b"content-length: many\r\n\r\n" + BODY
    ),
    "two content-lengths": answering_once(
        HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\n" + BODY
    ),
    "a huge content-length": answering_once(
        HEAD + b"content-length: " + b"9" * 40 + b"\r\n\r\n" + BODY
    ),
    "a chunk size that is no number": answering_once(CHUNKED + b"zz\r\n" + BODY),
    "a negative chunk size": answering_once(CHUNKED + b"-5\r\n" + BODY),
    "a huge chunk size": answering_once(CHUNKED + b"f" * 40 + b"\r\n" + BODY),
    "a chunk without its end": answering_once(CHUNKED + b"5\r\nabcdefgh\r\n0\r\n\r\n"),
    "a body that ends inside a chunk": answering_once(CHUNKED + chunk(BODY)[:-10]),
    "chunks without a last one": answering_once(CHUNKED + chunk(BODY)),
    "an endless chunk size line": endless(CHUNKED + b"5;", b"x" * 65_536),
    "chunk extensions without end": endless(CHUNKED, b"1;" + b"x" * 16_000 + b"\r\na\r\n"),
    "tiny chunks without end": endless(CHUNKED, b"1\r\na\r\n" * 10_000),
    "trailers without end": endless(CHUNKED + b"0\r\n", b"x: y\r\n" * 10_000),
    "headers without end": endless(HEAD, b"x: y\r\n" * 1_000),
    "one huge header": endless(HEAD + b"x: ", b"y" * 65_536),
    "interim responses without end": endless(b"", b"HTTP/1.1 102 Wait\r\n\r\n" * 1_000),
    "an upgrade nobody asked for": answering_once(
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello"
    ),
    "no content": answering_once(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "an empty body": answering_once(http_answer()),
    "a reset instead of an answer": resetting(),
    "a reset inside the headers": resetting(HEAD),
    "a reset inside the body": resetting(HEAD + b"content-length: 1000\r\n\r\n{"),
    "an end instead of an answer": answering_once(),
    "an end inside the headers": answering_once(HEAD),
    "another protocol": answering_once(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "random bytes": answering_once(bytes(range(256)) * 20),
    "HTTP/2": answering_once(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "a status that is no number": answering_once(b"HTTP/1.1 abc OK\r\n\r\n"),
    "a header without a name": answering_once(HEAD + b": x\r\ncontent-length: 0\r\n\r\n"),
    "a folded header with a zero byte": answering_once(HEAD + b"x: a\r\n \0b\r\n\r\n"),
    "text that is not JSON": answering_once(http_answer(b"hello")),
    "JSON in a strange encoding": answering_once(http_answer(b"\xff\xfe{\x00}\x00")),
    "JSON that nests too deep": answering_once(http_answer(b"[" * 200_000)),
}


@pytest.mark.parametrize("fault", BAD_ANSWERS)
def test_a_bad_answer_is_a_provider_error_soon_and_the_runtime_goes_on(
    call: Call, serve: Callable[..., RawServer], fault: str
) -> None:
    server = serve(BAD_ANSWERS[fault], answering(OK))
    runtime = runtime_on(server, max_retries=2, timeout=60)
    started = time.monotonic()

    error = provider_failure(lambda: call(runtime))

    assert ended_at(error) - started < QUICKLY
    assert len(server.requests) == 1, "a request that may have been processed was sent again"
    server.wait_for("closing")
    assert call(runtime).sources
    server.wait_for_hang_up()
    assert server.connections == 2


HEAVY = [name for name in BAD_ANSWERS if "50 MB" in name]


@pytest.mark.parametrize("fault", HEAVY)
def test_a_huge_answer_takes_little_memory(
    call: Call, serve: Callable[..., RawServer], fault: str
) -> None:
    server = serve(BAD_ANSWERS[fault])
    runtime = runtime_on(server)
    tracemalloc.start()
    try:
        provider_failure(lambda: call(runtime))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < FLAT


def drop(data: bytes) -> Iterator[bytes]:
    return (bytes([byte]) for byte in data)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


HALF = len(BODY) // 2
GOOD_ANSWERS: dict[str, Script] = {
    "gzip": answering_once(http_answer(gzip.compress(BODY), content_encoding="gzip")),
    "gzip in upper case": answering_once(http_answer(gzip.compress(BODY), content_encoding="GZIP")),
    "gzip in several members": answering_once(
        http_answer(
            gzip.compress(BODY[:HALF]) + gzip.compress(BODY[HALF:]), content_encoding="gzip"
        )
    ),
    "gzip with zeros at its end": answering_once(
        http_answer(gzip.compress(BODY) + bytes(50), content_encoding="gzip")
    ),
    "gzip byte by byte": sending(
        lambda: itertools.chain(
            [ZIPPED], map(chunk, drop(gzip.compress(BODY) + bytes(5))), [b"0\r\n\r\n"]
        )
    ),
    "deflate": answering_once(http_answer(zlib.compress(BODY), content_encoding="deflate")),
    "raw deflate": answering_once(http_answer(raw_deflate(BODY), content_encoding="deflate")),
    "raw deflate byte by byte": sending(
        lambda: itertools.chain(
            [ZIPPED.replace(b"gzip", b"deflate")],
            map(chunk, drop(raw_deflate(BODY))),
            [b"0\r\n\r\n"],
        )
    ),
    "identity": answering_once(http_answer(BODY, content_encoding="identity")),
    "chunks with extensions and trailers": answering_once(
        CHUNKED, b"3;a=b\r\n" + BODY[:3] + b"\r\n", chunk(BODY[3:]), b"0\r\nx: y\r\n\r\n"
    ),
    "HTTP/1.0 that ends with the connection": answering_once(b"HTTP/1.0 200 OK\r\n\r\n" + BODY),
    "HTTP/1.1 that ends with the connection": answering_once(HEAD + b"\r\n" + BODY),
    "interim responses before the answer": answering_once(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + OK
    ),
    "headers in odd case, repeated and empty": answering_once(
        b"HTTP/1.1 200 \r\nCONTENT-Length:%d\r\nx:\r\nX: \xe9\r\n" % len(BODY),
        b"set-cookie: a\r\nset-cookie: b\r\n\r\n" + BODY,
    ),
    "more bytes than content-length": answering_once(OK + b"HTTP/1.1 200 OK\r\n\r\nsmuggled"),
}


@pytest.mark.parametrize("kind", GOOD_ANSWERS)
def test_an_unusual_but_correct_answer_is_read(
    call: Call, serve: Callable[..., RawServer], kind: str
) -> None:
    server = serve(GOOD_ANSWERS[kind], answering(OK))
    runtime = runtime_on(server)

    result = call(runtime)

    assert [source.url for source in result.sources] == ["https://a.example/"]
    server.wait_for("closing")
    assert call(runtime) == result
    assert server.connections == 2, "a connection in doubt was used again"


def test_a_body_in_many_small_chunks_is_read(call: Call, serve: Callable[..., RawServer]) -> None:
    text = json.dumps({"results": [{"url": "https://a.example/", "snippet": "x" * 300_000}]})
    pieces = [text.encode()[n : n + 50] for n in range(0, len(text), 50)]
    wire = b"".join(map(chunk, pieces))
    server = serve(answering_once(CHUNKED + wire + b"0\r\n\r\n"))

    result = call(runtime_on(server))

    assert isinstance(result, WebSearchResult)
    assert len(result.sources[0].snippet or "") == 300_000


def test_a_server_that_drips_interim_responses_is_ended_by_the_deadline(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    server = serve(dripping(b"", b"HTTP/1.1 102 Wait\r\n\r\n", 0.02), answering(OK))
    runtime = runtime_on(server)

    error = failure(lambda: call(runtime, timeout=0.3))

    assert error.code == "WEB_TIMEOUT"
    server.wait_for_hang_up()
    assert call(runtime).sources
