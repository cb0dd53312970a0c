"""How sync and async calls are driven: the figures behind docs/decisions/0001.

Compares, in one run and interleaved, per warm call:
raw httpx (json.loads only), this package's drivers (typed result), and the same flow blocked on one
event loop in a background thread. Prints medians in microseconds and ratios to raw httpx.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import httpx
import server

from dsh_web import PerplexitySearchProvider, WebRuntime

ROUNDS = 40
CALLS = 25


def runtime_for(url: str) -> WebRuntime:
    runtime = WebRuntime()
    runtime.register_search_provider(PerplexitySearchProvider(api_key="key", base_url=url))
    return runtime


def time_sync(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS * 1e6


async def time_async(call: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.perf_counter() - start) / CALLS * 1e6


def measure(url: str) -> dict[str, float]:
    """Return the median microseconds per call of every way."""
    runtime = runtime_for(url)
    headers = {"authorization": "Bearer key"}
    client = httpx.Client()
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def raw_sync() -> object:
        response = client.post(f"{url}/search", json={"query": "q"}, headers=headers)
        return json.loads(response.content)

    def on_loop() -> object:
        return asyncio.run_coroutine_threadsafe(runtime.asearch("q"), loop).result()

    ways = {
        "raw httpx, sync": raw_sync,
        "ours, sync": lambda: runtime.search("q"),
        "ours, sync blocked on one background loop": on_loop,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}

    async def async_rounds() -> None:
        async with httpx.AsyncClient() as async_client:

            async def raw_async() -> object:
                response = await async_client.post(
                    f"{url}/search", json={"query": "q"}, headers=headers
                )
                return json.loads(response.content)

            async def on_other_loop() -> object:
                future = asyncio.run_coroutine_threadsafe(runtime.asearch("q"), loop)
                return await asyncio.wrap_future(future)

            async_ways = {
                "raw httpx, async": raw_async,
                "ours, async on the caller's loop": lambda: runtime.asearch("q"),
                "ours, async through one background loop": on_other_loop,
            }
            for _ in range(ROUNDS):
                for name, call in async_ways.items():
                    times.setdefault(name, []).append(await time_async(call))

    for _ in range(ROUNDS):
        for name, call in ways.items():
            times[name].append(time_sync(call))
    asyncio.run(async_rounds())
    return {name: statistics.median(values) for name, values in times.items()}


async def throughput(url: str, tasks: int) -> tuple[float, float]:
    """Return calls per second of raw httpx and of this package with `tasks` at a time."""
    runtime = runtime_for(url)
    rates = []
    async with httpx.AsyncClient() as client:

        async def raw() -> object:
            response = await client.post(
                f"{url}/search", json={"query": "q"}, headers={"authorization": "Bearer key"}
            )
            return json.loads(response.content)

        for call in (raw, lambda: runtime.asearch("q")):
            start = time.perf_counter()
            for _ in range(5):
                await asyncio.gather(*(call() for _ in range(tasks)))
            rates.append(5 * tasks / (time.perf_counter() - start))
    return rates[0], rates[1]


def main() -> None:
    for name, shape in (("8 KB", server.SMALL), ("200 KB", server.LARGE)):
        with server.running(shape) as url:
            medians = measure(url)
        print(f"\n{name} bodies, median us per warm call (ratio to raw httpx)")
        for way, median in medians.items():
            base = medians["raw httpx, async" if "async" in way else "raw httpx, sync"]
            print(f"  {way:<45} {median:8.0f}  {median / base:5.2f}")
    with server.running(server.SMALL, 0.05) as url:
        print("\ncalls per second, server answers after 50 ms: raw httpx / ours (ratio)")
        for tasks in (16, 64, 256):
            raw, ours = asyncio.run(throughput(url, tasks))
            print(f"  {tasks:4} tasks  {raw:8.0f} {ours:8.0f}  {ours / raw:5.2f}")


if __name__ == "__main__":
    sys.exit(main())
