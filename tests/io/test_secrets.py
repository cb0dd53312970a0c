"""The key shows nowhere: not in what rich prints of a failure, not in a log, not in a warning."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from dsh_web import CancelToken, WebError

from .raw_server import RawServer, Script, answering, answering_once, http_answer, stalling
from .support import KEY, OK, Call, assert_no_key_in, failure, runtime_for, runtime_on
from .test_cancel import MID_BODY, Cancelling
from .test_retries import free_port

ECHO = b'{"error": {"message": "no such key: ' + KEY.encode() + b'"}}'
HEX = "".join(f"\\u{ord(letter):04x}" for letter in KEY).encode()

FAILURES: dict[str, Script] = {
    "a refusal": answering(http_answer(b'{"error": {"message": "no"}}', status=401)),
    "a refusal that echoes the key": answering(http_answer(ECHO, status=401)),
    "a refusal that echoes the key escaped": answering(
        http_answer(b'{"error": {"message": "no key ' + HEX + b'"}}', status=401)
    ),
    "a page that echoes the key": answering(http_answer(b"bad " + KEY.encode(), status=500)),
    "a header that echoes the key": answering(
        http_answer(ECHO, status=500, x_request_id=f"id-{KEY}", x_key=KEY)
    ),
    "an answer that is no JSON": answering(http_answer(b'{"results": ' + KEY.encode())),
    "an answer of the wrong shape": answering(http_answer(b'{"results": "' + KEY.encode() + b'"}')),
    "a list": answering(http_answer(b'["' + KEY.encode() + b'"]')),
    "a redirect": answering(http_answer(status=302, location=f"https://x.example/?{KEY}")),
    "a lost connection": answering_once(MID_BODY),
    "no HTTP": answering_once(KEY.encode() + b"\r\n\r\n"),
    "a header that is none": answering_once(b"HTTP/1.1 200 OK\r\n" + KEY.encode() + b"\r\n\r\n"),
    "an encoding": answering_once(http_answer(OK, content_encoding=KEY)),
    "a time-out": stalling(MID_BODY),
}


def resolving() -> str:
    return KEY


async def resolving_async() -> str:
    key = KEY
    await asyncio.sleep(0)
    return key


KEYS: dict[str, Any] = {"text": KEY, "function": resolving, "coroutine function": resolving_async}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(fault, "function") for fault in FAILURES]
    + [(fault, kind) for fault in ("a refusal", "a time-out") for kind in KEYS],
)
def test_no_failure_shows_the_key(
    call: Call, serve: Callable[..., RawServer], fault: str, kind: str
) -> None:
    server = serve(FAILURES[fault])
    runtime = runtime_on(server, api_key=KEYS[kind])

    error = failure(lambda: call(runtime, timeout=0.3 if fault == "a time-out" else 5))

    assert server.requests[0].header("authorization") == f"Bearer {KEY}"
    assert_no_key_in(error, deep=True)
    assert KEY not in repr(error.to_dict())


def test_a_failed_connection_does_not_show_the_key(call: Call) -> None:
    error = failure(lambda: call(runtime_for(f"http://127.0.0.1:{free_port()}")))

    assert_no_key_in(error, deep=True)


def test_a_cancel_does_not_show_the_key(
    call: Call, serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server = serve(stalling(MID_BODY))
    Cancelling(token, lambda: server.wait_for("stalled"))

    error = failure(lambda: call(runtime_on(server, api_key=resolving), cancel=token))

    assert_no_key_in(error, deep=True)


class VaultError(Exception):
    """What a key function of the caller's may raise."""


@pytest.mark.parametrize("is_async", [False, True])
def test_a_key_function_that_fails_shows_where_but_not_what_it_held(
    call: Call, serve: Callable[..., RawServer], is_async: bool
) -> None:
    def broken() -> str:
        key = KEY
        raise VaultError(len(key))

    async def broken_async() -> str:
        return broken()

    error = failure(
        lambda: call(runtime_on(serve(answering(OK)), api_key=broken_async if is_async else broken))
    )

    assert error.code == "WEB_PROVIDER_ERROR"
    assert isinstance(error.__cause__, VaultError)
    assert_no_key_in(error, deep=True)
    frames = []
    traceback = error.__cause__.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert "broken" in frames


@pytest.mark.parametrize("is_async", [False, True])
def test_a_client_of_the_callers_that_fails_does_not_show_the_key(is_async: bool) -> None:
    class Broken(httpx.BaseTransport, httpx.AsyncBaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            headers = dict(request.headers)
            raise ZeroDivisionError(len(headers))

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return self.handle_request(request)

    async def run() -> None:
        async with httpx.AsyncClient(transport=Broken()) as client:
            await runtime_for("http://a.example", async_http_client=client).asearch("q")

    def run_sync() -> None:
        with httpx.Client(transport=Broken()) as client:
            runtime_for("http://a.example", http_client=client).search("q")

    error = failure((lambda: asyncio.run(run())) if is_async else run_sync)

    assert_no_key_in(error, deep=True)


async def test_cancelling_a_task_inside_a_client_of_the_callers_does_not_show_the_key() -> None:
    started = asyncio.Event()

    class Waiting(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            headers = dict(request.headers)
            started.set()
            await asyncio.Event().wait()
            return httpx.Response(200, headers=headers)

    async with httpx.AsyncClient(transport=Waiting()) as client:
        runtime = runtime_for("http://a.example", async_http_client=client)
        task = asyncio.create_task(runtime.asearch("q"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task

    assert_no_key_in(caught.value, deep=True)


@pytest.mark.parametrize("kind", KEYS)
def test_no_debug_log_shows_the_key(
    call: Call, serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpcore", "httpx", "asyncio"):
        caplog.set_level(logging.DEBUG, name)
    server = serve(answering(OK, http_answer(ECHO, status=401)))
    runtime = runtime_on(server, api_key=KEYS[kind])

    call(runtime)
    try:
        call(runtime)
    except WebError as error:
        logging.getLogger("application").exception("failed: %r", error)

    assert "httpcore.http11" in {record.name for record in caplog.records}
    assert "failed: " in caplog.text
    assert KEY not in caplog.text
    assert KEY not in repr([vars(record) for record in caplog.records])


async def test_asyncios_debug_mode_does_not_show_the_key(
    serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0
    server = serve(answering(OK))

    await runtime_on(server, api_key=resolving_async).asearch("q")

    assert "Executing" in caplog.text
    assert KEY not in caplog.text
