"""A server that sends the key back, in whatever place: nothing that people print may show it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator

import pytest

from dsh_web import (
    ParallelChatProvider,
    ParallelSearchProvider,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    WebError,
    WebRuntime,
)

from .raw_server import RawServer, answering, answering_once
from .support import Call

KEY = "invented-key/with-slash-0123456789"
PROVIDERS = (
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    ParallelSearchProvider,
    ParallelChatProvider,
)
ECHO = f"Bearer {KEY}".encode()


def answer(head: bytes, body: bytes = b"") -> bytes:
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


HOSTILE = {
    "bad header line": b"HTTP/1.1 200 OK\r\nx-echo " + ECHO + b"\r\n\r\n",
    "bad status line": b"HTTP/9 " + ECHO + b"\r\n\r\n",
    "bad chunk size": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + ECHO + b"\r\n",
    "unknown encoding": answer(b"HTTP/1.1 200 OK\r\ncontent-encoding: " + ECHO + b"\r\n", b"{}"),
    "no json": answer(b"HTTP/1.1 200 OK\r\n", b'{"id": "' + ECHO),
    "not an object": answer(b"HTTP/1.1 200 OK\r\n", b'["' + ECHO + b'"]'),
    "error message": answer(
        b"HTTP/1.1 401 No\r\nx-request-id: " + ECHO + b"\r\n",
        b'{"error": {"message": "bad ' + ECHO + b'", "type": "t", "code": 401}}',
    ),
    "plain text error": answer(b"HTTP/1.1 500 No\r\nx-other: " + ECHO + b"\r\n", ECHO),
    "cut body": b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n" + b'{"a": "' + ECHO,
    "redirect": answer(b"HTTP/1.1 307 Go\r\nlocation: http://a.example/" + ECHO + b"\r\n"),
}


def runtime_for(kind: type, server: RawServer) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(
        kind(api_key=KEY, base_url=f"http://127.0.0.1:{server.port}", max_retries=0)
    )
    return runtime


def everything_printed(error: BaseException) -> Iterator[str]:
    """Yield what tracers, loggers and rich tracebacks make of an error and of its whole chain."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield f"{current} {current!r} {vars(current)!r}"
        pending += [current.__cause__, current.__context__]
        for frame, _ in traceback.walk_tb(current.__traceback__):
            if "dsh_web" in frame.f_code.co_filename or "site-packages" in frame.f_code.co_filename:
                for name, value in frame.f_locals.items():
                    yield f"{frame.f_code.co_qualname}.{name} = {value!r}"
    yield "".join(traceback.format_exception(error))


@pytest.mark.parametrize("kind", PROVIDERS, ids=lambda kind: kind.id)
@pytest.mark.parametrize("place", HOSTILE)
def test_an_echoed_key_is_printed_nowhere(
    call: Call, serve: Callable[..., RawServer], kind: type, place: str
) -> None:
    server = serve(answering_once(HOSTILE[place]))

    with pytest.raises(WebError) as caught:
        call(runtime_for(kind, server))

    assert [line for line in everything_printed(caught.value) if KEY in line] == []


@pytest.mark.parametrize("kind", [PerplexityAgentProvider, PerplexitySonarProvider])
@pytest.mark.parametrize("frame", [b'data: {"a": "%s' % ECHO, b"event: error\ndata: %s" % ECHO])
def test_an_echoed_key_in_a_stream_is_printed_nowhere(
    serve: Callable[..., RawServer], kind: type, frame: bytes
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    server = serve(answering(answer(head, frame + b"\n\n")))

    with pytest.raises(WebError) as caught:
        list(runtime_for(kind, server).stream("q"))

    assert [line for line in everything_printed(caught.value) if KEY in line] == []


def test_an_answer_that_repeats_the_key_is_masked_in_every_field(
    call: Call, serve: Callable[..., RawServer]
) -> None:
    body = b'{"id": "%s", "results": [{"url": "https://a.example/", "title": "%s"}]}' % (ECHO, ECHO)
    server = serve(answering(answer(b"HTTP/1.1 200 OK\r\n", body)))

    result = call(runtime_for(PerplexitySearchProvider, server), include_raw=True)

    assert KEY not in repr(result)
    assert result.sources[0].title == "Bearer [masked]"
