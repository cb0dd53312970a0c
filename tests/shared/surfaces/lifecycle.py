"""`lifecycle`: event loops, cancellation, copies; one function per scenario."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ..calls import Call, Mode, environment, measured_call
from ..case_files import Case
from ..outcome import NotMeasuredError, Outcome
from ..stage import Stage, UnknownWordError, refuse_unknown
from .retriever import retrieve_with

INPUT = {"scenario", "server", "pool", "secret"}
CHILD = Path(__file__).parents[1] / "children" / "call_in_fresh_process.py"

STORM = 200
STORM_SECONDS = 0.05
TICK = 0.02
UNSEEN = 10_000.0
"""Milliseconds that stand for an event which never came."""

Scenario = Callable[[Stage, Mode, str], Outcome]


def run_lifecycle(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Run the scenario that the case names."""
    refuse_unknown("input", stage.input, INPUT)
    name = stage.input["scenario"]
    if name not in SCENARIOS:
        raise UnknownWordError(f"unknown scenario: {name}")
    scenario, _ = SCENARIOS[name]
    return scenario(stage, mode, variant)


def scenario_variants(case: Case) -> tuple[str, ...]:
    """Return who makes the call: the core, a framework's retriever, or both frameworks'."""
    _, variants = SCENARIOS.get(case.input["scenario"], (None, ("",)))
    return variants


def _in_fresh_process(stage: Stage, mode: Mode, variant: str) -> Outcome:
    import dsh_web

    name = stage.input["scenario"]
    command = [sys.executable, str(CHILD), name, variant, mode, stage.server.url]
    # The child must import the very package that is under test here.
    path = os.pathsep.join([str(Path(dsh_web.__file__).parents[1]), *sys.path])
    started = time.monotonic()
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=60, text=True
    )
    failed = RuntimeError(done.stderr) if done.returncode else None
    outcome = stage.outcome(Call(None, failed, time.monotonic() - started, 0))
    outcome.measured = json.loads(done.stdout) if failed is None else {}
    outcome.measured["stderr_empty"] = not done.stderr
    outcome.places["stderr"] = done.stderr
    return outcome


def _cancel_storm_then_call(stage: Stage, mode: Mode, variant: str) -> Outcome:
    if (variant, mode) == ("caller's client", "sync"):
        pytest.skip("a blocking client of the caller's finishes cancelled exchanges, so they queue")
    import httpx

    connections = (stage.input.get("pool") or {}).get("max_connections", 5)
    limits = httpx.Limits(max_connections=connections)
    chance = random.Random(5)  # noqa: S311 - the same storm every time, nothing secret
    pauses = [chance.uniform(0, STORM_SECONDS) for _ in range(STORM)]

    def storm() -> tuple[Any, float]:
        return _storm_of_threads(stage.runtime(), pauses)

    async def storm_async() -> tuple[Any, float]:
        if variant == "core":
            return await _storm_of_tasks(stage.runtime(), pauses)
        async with httpx.AsyncClient(limits=limits) as client:
            return await _storm_of_tasks(stage.runtime(async_http_client=client), pauses)

    call = measured_call(mode, storm, storm_async)
    outcome = stage.outcome(call)
    if call.value is not None:
        outcome.result, outcome.measured["last_call_seconds"] = call.value
    return outcome


async def _never() -> None:
    raise AssertionError("not reached")


async def _storm_of_tasks(runtime: Any, pauses: list[float]) -> tuple[Any, float]:
    async def cancelled_soon(pause: float) -> None:
        task = asyncio.ensure_future(runtime.asearch("storm"))
        await asyncio.sleep(pause)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await asyncio.gather(*map(cancelled_soon, pauses))
    started = time.monotonic()
    result = await runtime.asearch("calm")
    seconds = time.monotonic() - started
    runtime.close()
    return result, seconds


def _storm_of_threads(runtime: Any, pauses: list[float]) -> tuple[Any, float]:
    from dsh_web import CancelToken, WebError

    tokens = [CancelToken() for _ in pauses]
    others: list[WebError] = []

    def search(token: CancelToken) -> None:
        try:
            runtime.search("storm", cancel=token)
        except WebError as error:
            if error.code != "WEB_ABORTED":
                others.append(error)

    threads = [threading.Thread(target=search, args=[token]) for token in tokens]
    timers = [
        threading.Timer(pause, token.cancel) for pause, token in zip(pauses, tokens, strict=True)
    ]
    for thread in [*threads, *timers]:
        thread.start()
    for thread in [*threads, *timers]:
        thread.join()
    if others:
        raise others[0]
    started = time.monotonic()
    result = runtime.search("calm")
    seconds = time.monotonic() - started
    runtime.close()
    return result, seconds


def _multi_query_one_fails(stage: Stage, mode: Mode, variant: str) -> Outcome:
    queries = list(stage.input["server"]["by_query"])
    # Without retries, so that the failure is the moment the server answers.
    runtime = stage.runtime(max_retries=0)
    call = measured_call(
        mode, lambda: runtime.search_many(queries), lambda: runtime.asearch_many(queries)
    )
    outcome = stage.outcome(call, runtime)
    outcome.result = call.value
    outcome.measured["server_sees_sibling_close_ms"] = _sibling_close_ms(stage)
    return outcome


def _sibling_close_ms(stage: Stage) -> float:
    """Return how long after the failing answer the server saw the last other connection end."""
    server = stage.server
    by_query = stage.input["server"]["by_query"]
    failing = {query for query, http in by_query.items() if http.get("status", 200) >= 400}
    failed = {r.connection for r in server.received if failing & set(r.queries)}
    others = set(range(server.connections_made)) - failed
    answered = [server.answered_at[number] for number in failed if number in server.answered_at]
    if not answered:
        raise NotMeasuredError("the failing query was never answered")
    server.wait_until(lambda s: others <= set(s.closed_at), 2.0)
    closed = [server.closed_at.get(number) for number in others]
    if None in closed:
        return UNSEEN
    ends = [at for at in closed if at is not None]
    return max([0.0, *((at - max(answered)) * 1000 for at in ends)])


def _async_call_does_not_block_loop(stage: Stage, mode: Mode, variant: str) -> Outcome:
    runtime = stage.runtime()
    _, sync, make = retrieve_with(variant, runtime)

    async def beside_a_ticker() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(TICK)
                ticks += 1

        ticker = asyncio.ensure_future(tick())
        await (asyncio.to_thread(sync, "q") if mode == "sync" else make("q"))
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        return ticks

    call = measured_call("async", lambda: None, beside_a_ticker)
    outcome = stage.outcome(call, runtime)
    if call.value is not None:
        outcome.measured["ticks"] = call.value
    return outcome


def _deepcopy_and_pickle(stage: Stage, mode: Mode, variant: str) -> Outcome:
    runtime = stage.runtime()
    subject: Any = runtime if variant == "core" else retrieve_with(variant, runtime)[0]
    found: dict[str, Any] = {}
    pickled = b""

    def use(thing: Any) -> bool:
        sync, make = _ways_to_call(thing)
        call = measured_call(mode, lambda: sync("q"), lambda: make("q"))
        if call.error is not None:
            raise call.error
        return call.value is not None

    def everything() -> None:
        nonlocal pickled
        found["copy_works"] = use(copy.deepcopy(subject))
        name = "pickle_round_trip_works_or_raises_type_error_without_key"
        secret = stage.input.get("secret") or ""
        try:
            pickled = pickle.dumps(subject)
        except TypeError as error:
            found[name] = secret not in str(error)
            return
        # A pickle carries no key; where it is opened, the environment gives one.
        with environment({"PERPLEXITY_API_KEY": secret}):
            found[name] = use(pickle.loads(pickled))

    outcome = stage.outcome(measured_call("sync", everything, _never), runtime)
    outcome.measured |= found
    outcome.places["pickle_bytes"] = pickled
    outcome.places["repr"] = f"{subject!r}\n{runtime!r}"
    return outcome


def _ways_to_call(thing: Any) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    for sync, make in (("search", "asearch"), ("retrieve", "aretrieve"), ("invoke", "ainvoke")):
        if hasattr(thing, sync):
            return getattr(thing, sync), getattr(thing, make)
    raise AssertionError(f"{thing!r} has no way to search")


def _cancel_mid_stream(stage: Stage, mode: Mode, variant: str) -> Outcome:
    if mode == "sync":
        pytest.skip("a blocking call has no task to cancel; its token is tested elsewhere")
    runtime = stage.runtime("agent")
    cancelled_at = 0.0

    async def cancelled_after_three_deltas() -> None:
        third = asyncio.Event()

        async def consume() -> None:
            heard = 0
            async for _ in runtime.astream("q"):
                heard += 1
                if heard == 3:
                    third.set()

        task = asyncio.ensure_future(consume())
        await third.wait()
        nonlocal cancelled_at
        cancelled_at = time.monotonic()
        task.cancel()
        await task

    call = measured_call("async", lambda: None, cancelled_after_three_deltas)
    return _left_stream(stage, call, cancelled_at)


def _aclose_after_break(stage: Stage, mode: Mode, variant: str) -> Outcome:
    runtime = stage.runtime("agent")
    left_at = 0.0

    def close_after_one() -> None:
        nonlocal left_at
        stream = runtime.stream("q")
        with stream if variant == "with" else contextlib.nullcontext():
            next(stream)
            left_at = time.monotonic()
        stream.close()

    async def aclose_after_one() -> None:
        nonlocal left_at
        stream = runtime.astream("q")
        async with stream if variant == "with" else contextlib.nullcontext():
            async for _ in stream:
                break
            left_at = time.monotonic()
        await stream.aclose()

    return _left_stream(stage, measured_call(mode, close_after_one, aclose_after_one), left_at)


def _left_stream(stage: Stage, call: Call, left_at: float) -> Outcome:
    """Return the outcome of a stream that was left, with when the server saw it go."""
    stage.server.wait_until(lambda server: server.open_connections == 0, 2.0)
    outcome = stage.outcome(call)
    closed = stage.server.closed_at.get(0)
    elapsed = UNSEEN if closed is None else (closed - left_at) * 1000
    outcome.measured["server_sees_close_ms"] = elapsed
    return outcome


CORE: Final = ("core",)
RETRIEVERS: Final = ("langchain", "llama_index")

SCENARIOS: Final[Mapping[str, tuple[Scenario, tuple[str, ...]]]] = {
    "asyncio_run_twice": (_in_fresh_process, CORE),
    "sync_call_inside_running_loop": (_in_fresh_process, RETRIEVERS),
    "cancel_storm_then_call": (_cancel_storm_then_call, ("core", "caller's client")),
    "multi_query_one_fails": (_multi_query_one_fails, CORE),
    "async_call_does_not_block_loop": (_async_call_does_not_block_loop, RETRIEVERS),
    "cancel_mid_stream": (_cancel_mid_stream, CORE),
    "aclose_after_break": (_aclose_after_break, ("aclose", "with")),
    "deepcopy_and_pickle": (_deepcopy_and_pickle, (*CORE, *RETRIEVERS)),
}
"""Scenario to its function and to who makes the call."""
