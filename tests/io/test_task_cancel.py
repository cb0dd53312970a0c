"""Cancelling the asyncio task is asyncio's own business: it goes through, all is closed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dsh_web import CancelToken, WebError, WebRuntime

from .raw_server import RawServer, answering, http_answer, silent
from .support import (
    CANCEL_WITHIN,
    HANG_UP_WITHIN,
    KEY,
    OK,
    assert_no_key_in,
    runtime_for,
    runtime_on,
)
from .test_cancel import PHASES, Watched


async def cancelled(runtime: WebRuntime, ready: Callable[[], Any], **settings: Any) -> float:
    """Cancel a search when it is `ready`; return when that was."""
    task = asyncio.create_task(runtime.asearch("q", **settings))
    await asyncio.to_thread(ready)
    moment = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert time.monotonic() - moment < CANCEL_WITHIN
    assert_no_key_in(caught.value, deep=True)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return moment


@pytest.mark.parametrize("phase", PHASES)
async def test_a_cancelled_task_closes_its_connection(
    serve: Callable[..., RawServer], phase: str
) -> None:
    script, sign = PHASES[phase]
    server = serve(script, answering(OK))
    runtime = runtime_on(server)

    moment = await cancelled(runtime, lambda: server.wait_for(sign))

    assert await asyncio.to_thread(server.wait_for_hang_up) - moment < HANG_UP_WITHIN
    assert (await runtime.asearch("q")).sources


async def test_a_task_can_be_cancelled_during_the_tls_handshake(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(silent)
    runtime = runtime_for(f"https://127.0.0.1:{server.port}")

    moment = await cancelled(runtime, lambda: server.wait_for("bytes"))

    assert await asyncio.to_thread(server.wait_for_hang_up) - moment < HANG_UP_WITHIN


@pytest.mark.parametrize("is_blocking", [True, False])
async def test_a_task_can_be_cancelled_while_the_key_resolves(
    serve: Callable[..., RawServer], is_blocking: bool
) -> None:
    server = serve(answering(OK))
    asked, release = threading.Event(), threading.Event()

    def blocking() -> str:
        key = KEY
        asked.set()
        release.wait(10)
        return key

    async def waiting() -> str:
        key = KEY
        asked.set()
        await asyncio.Event().wait()
        return key

    runtime = runtime_on(server, api_key=blocking if is_blocking else waiting)

    await cancelled(runtime, lambda: asked.wait(10))
    release.set()

    assert server.connections == 0


async def test_a_task_can_be_cancelled_before_a_retry(serve: Callable[..., RawServer]) -> None:
    server = serve(answering(http_answer(status=503, retry_after="30"), OK))
    provider = Watched(server.url)
    runtime = WebRuntime()
    runtime.register_search_provider(provider)

    await cancelled(runtime, lambda: provider.__dict__["waits"].wait(10))

    assert (await runtime.asearch("q")).sources
    assert server.connections == 1


async def test_a_token_that_is_never_used_does_not_change_what_a_cancelled_task_raises(
    serve: Callable[..., RawServer], token: CancelToken
) -> None:
    script, sign = PHASES["mid-body"]
    server = serve(script)

    await cancelled(runtime_on(server), lambda: server.wait_for(sign), cancel=token, timeout=60)

    assert token.cancel()


async def within(seconds: float, awaitable: Awaitable[Any]) -> Any:
    async with asyncio.timeout(seconds):
        return await awaitable


async def test_a_time_limit_of_the_caller_stays_the_callers(
    serve: Callable[..., RawServer],
) -> None:
    script, _ = PHASES["mid-body"]
    server = serve(script, answering(OK))
    runtime = runtime_on(server)

    started = time.monotonic()
    with pytest.raises(TimeoutError) as caught:
        await within(0.2, runtime.asearch("q", timeout=60))

    assert not isinstance(caught.value, WebError)
    assert time.monotonic() - started < 0.2 + CANCEL_WITHIN
    assert_no_key_in(caught.value, deep=True)
    await asyncio.to_thread(server.wait_for_hang_up)
    assert (await runtime.asearch("q")).sources


async def test_the_limit_of_a_call_inside_a_longer_one_is_the_calls(
    serve: Callable[..., RawServer],
) -> None:
    script, _ = PHASES["mid-body"]
    runtime = runtime_on(serve(script))

    async with asyncio.timeout(10):
        with pytest.raises(WebError) as caught:
            await runtime.asearch("q", timeout=0.1)

    assert caught.value.code == "WEB_TIMEOUT"


async def test_a_task_group_that_fails_takes_its_searches_with_it(
    serve: Callable[..., RawServer],
) -> None:
    script, sign = PHASES["waiting for headers"]
    server = serve(script)
    runtime = runtime_on(server)

    async def fail() -> None:
        await asyncio.to_thread(server.wait_for, sign, 2)
        raise ValueError("another task of the group failed")

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(runtime.asearch("a"))
            group.create_task(runtime.asearch("b"))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as caught:
        await together()

    assert [type(error) for error in caught.value.exceptions] == [ValueError]
    await asyncio.to_thread(lambda: [server.wait_for_hang_up(n) for n in range(2)])


async def test_a_key_function_that_swallows_the_cancel_cannot_keep_a_call_going(
    serve: Callable[..., RawServer], token: CancelToken
) -> None:
    server, asked = serve(answering(OK)), asyncio.Event()

    async def stubborn() -> str:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return KEY

    task = asyncio.create_task(runtime_on(server, api_key=stubborn).asearch("q", cancel=token))
    await asked.wait()
    token.cancel()

    with pytest.raises(WebError) as caught:
        await task
    assert caught.value.code == "WEB_ABORTED"
    assert server.connections == 0
