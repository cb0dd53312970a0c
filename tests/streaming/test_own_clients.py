"""Streams through an httpx client that the caller has handed in."""

import asyncio
import time

import httpx
import pytest

from dsh_web import CancelToken, SearchDone, TextDelta, WebError

from .stream_server import ANSWER, PATIENCE, WORDS, answering, in_step, silent_after_one, talking
from .test_leaving import HANG_UP_WITHIN


async def test_an_async_client_streams_as_the_events_come(serve, runtime_on):
    server = serve(in_step)
    async with httpx.AsyncClient() as client:
        stream = runtime_on(server, async_http_client=client).astream("q")
        for text in WORDS:
            server.go.release()
            assert TextDelta(text=text) == await anext(stream)
        server.go.release()
        rest = [event async for event in stream]

    assert ANSWER == rest[-1].result.content


def test_a_blocking_client_streams_as_the_events_come(serve, runtime_on):
    server = serve(in_step)
    with httpx.Client() as client:
        stream = runtime_on(server, http_client=client).stream("q")
        for text in WORDS:
            server.go.release()
            assert TextDelta(text=text) == next(stream)
        server.go.release()

        assert ANSWER == list(stream)[-1].result.content


async def test_a_blocking_client_serves_async_streams_too(serve, runtime_on):
    server = serve(answering)
    with httpx.Client() as client:
        runtime = runtime_on(server, http_client=client)
        events = [event async for event in runtime.astream("q")]

    assert isinstance(events[-1], SearchDone)


@pytest.mark.parametrize("script", [silent_after_one, talking])
async def test_leaving_an_async_clients_stream_closes_the_connection(serve, runtime_on, script):
    server = serve(script)
    async with httpx.AsyncClient() as client:
        runtime = runtime_on(server, async_http_client=client)
        async with runtime.astream("q") as stream:
            await anext(stream)
        left = time.monotonic()

        assert (await asyncio.to_thread(server.left_at)) - left < HANG_UP_WITHIN
        server.script = answering
        assert isinstance([e async for e in runtime.astream("q")][-1], SearchDone)


def test_leaving_a_blocking_clients_stream_closes_the_connection(serve, runtime_on):
    server = serve(talking)
    with httpx.Client() as client:
        runtime = runtime_on(server, http_client=client)
        with runtime.stream("q") as stream:
            next(stream)
        left = time.monotonic()

        assert server.left_at() - left < HANG_UP_WITHIN
        server.script = answering
        assert isinstance(list(runtime.stream("q"))[-1], SearchDone)


async def test_cancelling_the_task_closes_an_async_clients_connection(serve, runtime_on):
    server = serve(silent_after_one)
    first = asyncio.Event()
    async with httpx.AsyncClient() as client:
        runtime = runtime_on(server, async_http_client=client)

        async def consume():
            async for _ in runtime.astream("q"):
                first.set()

        task = asyncio.ensure_future(consume())
        await first.wait()
        left = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (await asyncio.to_thread(server.left_at)) - left < HANG_UP_WITHIN


@pytest.mark.parametrize("ends", ["token", "timeout"])
async def test_the_limits_of_the_call_hold_for_an_async_client(serve, runtime_on, ends):
    server = serve(silent_after_one)
    token = CancelToken()
    async with httpx.AsyncClient() as client:
        runtime = runtime_on(server, async_http_client=client)
        stream = runtime.astream("q", cancel=token, timeout=PATIENCE if ends == "token" else 0.1)
        await anext(stream)
        if ends == "token":
            asyncio.get_running_loop().call_later(0.02, token.cancel)
        with pytest.raises(WebError) as caught:
            await anext(stream)
        seen = time.monotonic()

        assert {"token": "WEB_ABORTED", "timeout": "WEB_TIMEOUT"}[ends] == caught.value.code
        assert (await asyncio.to_thread(server.left_at)) - seen < HANG_UP_WITHIN


def test_the_limits_of_the_call_hold_for_a_blocking_client(serve, runtime_on):
    server = serve(talking)
    with httpx.Client() as client:
        started = time.monotonic()
        with pytest.raises(WebError) as caught:
            list(runtime_on(server, http_client=client).stream("q", timeout=0.1))

        assert "WEB_TIMEOUT" == caught.value.code
        assert time.monotonic() - started < 0.1 + HANG_UP_WITHIN
