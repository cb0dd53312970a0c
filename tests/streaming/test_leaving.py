"""However a stream ends early, its connection is closed at once and the runtime goes on."""

import asyncio
import contextlib
import gc
import random
import threading
import time

import psutil
import pytest

from dsh_web import (
    CancelToken,
    Emit,
    SearchDone,
    TextDelta,
    WebError,
    WebRuntime,
    WebSearchResult,
)

from .stream_server import PATIENCE, answering, in_step, silent_after_one, talking

SLACK = 0.3
"""Seconds that a busy machine may add to a promised time."""
HANG_UP_WITHIN = 0.2 + SLACK


def drain(stream):
    return list(stream)


def works(server, runtime):
    """Return whether the runtime still streams, whatever happened before."""
    server.script = answering
    return isinstance(list(runtime.stream("q", timeout=PATIENCE))[-1], SearchDone)


def close(stream, listen):
    stream.close()


def leave_block(stream, listen):
    with stream:
        next(stream)


def drop(stream, listen):
    # The test holds no other reference; its own is deleted by the caller.
    pass


SCRIPTS = pytest.mark.parametrize("script", [silent_after_one, talking], ids=["silent", "talking"])


@SCRIPTS
@pytest.mark.parametrize("leave", [close, leave_block, drop])
def test_leaving_the_loop_closes_the_connection(serve, runtime_on, listen, script, leave):
    server = serve(script)
    runtime = runtime_on(server)
    stream = listen(runtime)
    for _ in stream:
        break
    if leave is leave_block and script is silent_after_one:
        stream.__exit__(None, None, None)
    else:
        leave(stream, listen)
    left = time.monotonic()
    del stream
    listen.give_the_loop_a_turn()

    assert server.left_at() - left < HANG_UP_WITHIN
    assert works(server, runtime)


def test_an_exception_in_the_loop_closes_the_connection(serve, runtime_on, listen):
    server = serve(talking)
    runtime = runtime_on(server)

    def consume():
        with listen(runtime) as stream:
            for _ in stream:
                raise LookupError("the consumer's own")

    with pytest.raises(LookupError):
        consume()
    left = time.monotonic()

    assert server.left_at() - left < HANG_UP_WITHIN
    assert works(server, runtime)


@SCRIPTS
def test_a_token_ends_a_stream_that_waits(serve, runtime_on, listen, script):
    server = serve(script)
    runtime = runtime_on(server)
    token = CancelToken()
    stream = listen(runtime, cancel=token)
    next(stream)
    timer = threading.Timer(0.05, token.cancel, ["enough"])
    timer.start()

    with pytest.raises(WebError) as caught:
        drain(stream)
    seen = time.monotonic()

    timer.join()
    assert ("WEB_ABORTED", "enough") == (caught.value.code, str(caught.value.__cause__))
    assert server.left_at() - seen < HANG_UP_WITHIN
    assert works(server, runtime)


@SCRIPTS
def test_a_timeout_ends_a_stream_that_waits(serve, runtime_on, listen, script):
    server = serve(script)
    runtime = runtime_on(server)
    started = time.monotonic()

    with pytest.raises(WebError) as caught:
        drain(listen(runtime, timeout=0.1))

    assert "WEB_TIMEOUT" == caught.value.code
    assert 0.1 <= time.monotonic() - started < 0.1 + HANG_UP_WITHIN
    assert server.left_at() - started < 0.1 + HANG_UP_WITHIN
    assert works(server, runtime)


@SCRIPTS
async def test_cancelling_the_task_ends_a_stream_that_waits(serve, runtime_on, script):
    server = serve(script)
    runtime = runtime_on(server)
    first = asyncio.Event()

    async def consume():
        async for _ in runtime.astream("q"):
            first.set()

    task = asyncio.ensure_future(consume())
    await first.wait()
    cancelled = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await asyncio.to_thread(server.left_at)) - cancelled < HANG_UP_WITHIN
    server.script = answering
    assert [SearchDone] == [type(e) async for e in runtime.astream("q")][-1:]


def test_a_token_that_is_cancelled_between_two_events_ends_the_next(serve, runtime_on, listen):
    server = serve(talking)
    runtime = runtime_on(server)
    token = CancelToken()
    stream = listen(runtime, cancel=token)
    next(stream)
    token.cancel()
    listen.give_the_loop_a_turn()

    with pytest.raises(WebError) as caught:
        next(stream)

    assert "WEB_ABORTED" == caught.value.code
    assert server.left_at()
    with pytest.raises(StopIteration):
        next(stream)
    assert works(server, runtime)


def test_a_token_that_is_cancelled_before_the_start_sends_nothing(serve, runtime_on, listen):
    server = serve(answering)
    token = CancelToken()
    token.cancel()

    with pytest.raises(WebError, match="aborted"):
        drain(listen(runtime_on(server), cancel=token))

    assert [] == server.peers


def test_a_stream_that_is_never_started_sends_nothing(serve, runtime_on, listen):
    server = serve(answering)
    listen(runtime_on(server)).close()

    assert [] == server.peers


def test_the_time_of_a_slow_consumer_counts(serve, runtime_on, listen):
    server = serve(talking)
    runtime = runtime_on(server)
    stream = listen(runtime, timeout=0.2)
    next(stream)
    end = time.monotonic() + 0.21
    while time.monotonic() < end:
        threading.Event().wait(0.01)

    with pytest.raises(WebError) as caught:
        drain(stream)

    assert "WEB_TIMEOUT" == caught.value.code
    assert server.left_at()
    assert works(server, runtime)


async def test_a_consumer_that_awaits_between_events_is_not_interrupted_there(serve, runtime_on):
    server = serve(in_step)
    server.go.release(10)
    token = CancelToken()
    stream = runtime_on(server).astream("q", cancel=token, timeout=0.1)
    await anext(stream)
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.call_later(0.02, token.cancel)
    loop.call_later(0.15, gate.set)

    await gate.wait()

    assert 0 == asyncio.current_task().cancelling()
    with pytest.raises(WebError) as caught:
        await anext(stream)
    assert "WEB_ABORTED" == caught.value.code
    assert 0 == asyncio.current_task().cancelling()


async def test_a_cancel_at_any_moment_gives_the_typed_error_and_nothing_else(serve, runtime_on):
    server = serve(talking)
    runtime = runtime_on(server)
    chance = random.Random(7)  # noqa: S311 - the same moments every time

    async def one() -> str:
        token = CancelToken()
        threading.Timer(chance.uniform(0, 0.05), token.cancel).start()
        try:
            async for _ in runtime.astream("q", cancel=token):
                await asyncio.sleep(0)
        except WebError as error:
            return error.code
        return "no end"

    codes = [code for _ in range(5) for code in await asyncio.gather(*(one() for _ in range(10)))]

    assert {"WEB_ABORTED"} == set(codes)
    assert 0 == asyncio.current_task().cancelling()


def test_what_was_heard_stays_available_after_a_failure(serve, runtime_on, listen):
    stream = listen(runtime_on(serve(silent_after_one)), timeout=0.1)
    with pytest.raises(WebError):
        drain(stream)
    heard = stream if listen.mode == "sync" else stream.stream

    assert ("one ", None) == (heard.text, heard.result)


def leave_in_some_way(number, listen, runtime, server):
    token = CancelToken()
    ways = number % 5
    stream = listen(runtime, cancel=token, timeout=0.05 if ways == 3 else PATIENCE)
    if ways == 0:
        server.script = answering
        assert isinstance(list(stream)[-1], SearchDone)
        server.script = talking
        return
    next(stream)
    with contextlib.suppress(WebError):
        if ways == 1:
            stream.close()
        elif ways == 2:
            token.cancel()
            next(stream)
        elif ways == 3:
            drain(stream)


def test_nothing_is_left_behind(serve, runtime_on, listen):
    server = serve(talking)
    runtime = runtime_on(server)
    process = psutil.Process()

    def round_of_all_ways():
        for number in range(10):
            leave_in_some_way(number, listen, runtime, server)
        gc.collect()
        listen.give_the_loop_a_turn()
        runtime.close()
        for number in range(len(server.peers)):
            server.left_at(number)
        for thread in threading.enumerate():
            if thread.name == "stream-server" and server._threads.index(thread) > 0:
                thread.join(PATIENCE)

    round_of_all_ways()
    before = (process.num_fds(), threading.active_count(), listen.tasks())
    for _ in range(3):
        round_of_all_ways()

    assert before == (process.num_fds(), threading.active_count(), listen.tasks())


async def test_fifty_streams_at_the_same_time_keep_apart(serve, runtime_on):
    server = serve(answering)
    runtime = runtime_on(server)

    async def one() -> str:
        texts = [e.text async for e in runtime.astream("q") if isinstance(e, TextDelta)]
        return "".join(texts)

    answers = await asyncio.gather(*(one() for _ in range(50)))

    assert {"Bees dance home."} == set(answers)


def test_threads_can_stream_over_one_runtime(serve, runtime_on):
    server = serve(answering)
    runtime = runtime_on(server)
    heard: list[str] = []

    def one() -> None:
        stream = runtime.stream("q")
        drain(stream)
        heard.append(stream.text)

    threads = [threading.Thread(target=one) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert ["Bees dance home."] * 16 == heard


def test_a_cancel_between_buffered_events_ends_a_blocking_stream() -> None:
    class Talkative:
        id = "talkative"

        def available(self) -> bool:
            return True

        def search_flow(self, request: object) -> object:
            raise NotImplementedError

        def stream_flow(self, request: object) -> object:
            for _ in range(50):
                yield Emit(TextDelta(text="x"))
            return WebSearchResult(provider=self.id)

    runtime = WebRuntime()
    runtime.register_search_provider(Talkative())
    token = CancelToken()
    heard = 0

    def listen() -> None:
        nonlocal heard
        for _ in runtime.stream("q", cancel=token):
            heard += 1
            token.cancel()

    with pytest.raises(WebError) as caught:
        listen()

    assert (caught.value.code, heard) == ("WEB_ABORTED", 1)
