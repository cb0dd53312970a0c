"""A cancel that meets the answer: one of two outcomes, never a third, and nothing leaks."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

import psutil
import pytest

from dsh_web import CancelToken, WebError, WebRuntime

from .raw_server import Peer, RawServer, stalling
from .support import OK, Call, runtime_on, wait_until

ROUNDS = 300
DICE = random.Random(7)  # noqa: S311 - the moments only have to differ


class AnsweringInTime:
    """Cancels the token of the round around the moment at which it sends the answer."""

    def __init__(self) -> None:
        self.token = CancelToken()

    def __call__(self, peer: Peer) -> None:
        while peer.request() is not None:
            cut = DICE.choice([0, 1, len(OK) // 2, len(OK) - 1, len(OK)])
            peer.send(OK[:cut])
            canceller = threading.Thread(target=self.token.cancel)
            canceller.start()
            peer.send(OK[cut:])
            canceller.join()


def outcome_of(call: Call, runtime: WebRuntime, token: CancelToken) -> str:
    try:
        call(runtime, cancel=token, timeout=30)
    except WebError as error:
        return error.code
    return "result"


def test_a_cancel_as_the_answer_arrives_gives_a_result_or_an_abort(
    call: Call, serve: Callable[..., RawServer], recwarn: pytest.WarningsRecorder
) -> None:
    script = AnsweringInTime()
    server = serve(script)
    runtime = runtime_on(server)
    me = psutil.Process()
    open_before = len([c for c in me.net_connections("tcp") if c.raddr])
    outcomes: Counter[str] = Counter()
    for _ in range(ROUNDS):
        script.token = CancelToken()
        outcomes[outcome_of(call, runtime, script.token)] += 1

    assert set(outcomes) <= {"result", "WEB_ABORTED"}
    assert sum(outcomes.values()) == ROUNDS
    runtime.close()
    # All of them: the server's ends see the client's ends close.
    wait_until(lambda: all(peer.hung_up.is_set() for peer in server.peers))
    wait_until(lambda: len([c for c in me.net_connections("tcp") if c.raddr]) <= open_before)
    assert list(recwarn) == []


async def test_calls_that_are_cancelled_at_random_moments_leave_one_loop_in_order(
    serve: Callable[..., RawServer],
) -> None:
    def script(peer: Peer) -> None:
        while peer.request() is not None:
            time.sleep(DICE.random() * 0.004)
            if not peer.send(OK):
                return

    server = serve(script)
    runtime = runtime_on(server)
    problems: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))

    async def one(number: int) -> str:
        token = CancelToken()
        task = asyncio.create_task(runtime.asearch("q", cancel=token, timeout=30))
        await asyncio.sleep(DICE.random() * 0.006)
        token.cancel() if number % 2 else task.cancel()
        try:
            await task
        except WebError as error:
            return error.code
        except asyncio.CancelledError:
            return "cancelled"
        return "result"

    outcomes: Counter[str] = Counter()
    for _ in range(20):
        outcomes.update(await asyncio.gather(*map(one, range(16))))

    assert set(outcomes) <= {"result", "WEB_ABORTED", "cancelled"}
    assert (await runtime.asearch("q")).sources
    assert problems == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
    runtime.close()


async def test_a_deadline_and_a_cancel_at_the_same_moment_give_one_clean_failure(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(stalling())
    runtime = runtime_on(server)
    problems: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))

    async def one() -> str:
        token = CancelToken()
        timer = threading.Timer(0.02, token.cancel)
        timer.start()
        try:
            await runtime.asearch("q", cancel=token, timeout=0.02)
        except WebError as error:
            return error.code
        finally:
            timer.join()
        return "result"

    outcomes = [await one() for _ in range(40)]

    assert set(outcomes) <= {"WEB_ABORTED", "WEB_TIMEOUT"}
    assert problems == []
