"""Waiting for a LangChain rate limiter without losing the ability to cancel."""

from __future__ import annotations

import asyncio
import time

from langchain_core.rate_limiters import BaseRateLimiter

from dsh_web import CancelToken

__all__ = ["await_turns", "wait_for_turns"]

POLL_SECONDS = 0.02
"""A cancel has to be noticed within 0.1 s; a limiter offers no way to be told of one."""


def wait_for_turns(limiter: BaseRateLimiter | None, count: int, cancel: CancelToken | None) -> None:
    """Take `count` tokens from `limiter`; return early, with fewer, once `cancel` is cancelled.

    The call that follows then fails as cancelled before anything is sent.
    """
    if limiter is None:
        return
    for _ in range(count):
        if cancel is None:
            limiter.acquire()
            continue
        while not cancel.cancelled and not limiter.acquire(blocking=False):
            time.sleep(POLL_SECONDS)


async def await_turns(
    limiter: BaseRateLimiter | None, count: int, cancel: CancelToken | None
) -> None:
    """Take `count` tokens from `limiter`; see `wait_for_turns`."""
    if limiter is None:
        return
    for _ in range(count):
        if cancel is None:
            await limiter.aacquire()
            continue
        # A limiter has no event to wait for, only the question whether a token is there.
        while not cancel.cancelled and not await limiter.aacquire(blocking=False):  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)
