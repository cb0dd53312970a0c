"""A stream that nobody closed must not spoil the end of a program, its event loop included."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dsh_web

from .stream_server import silent_after_one, talking

ROOT = Path(dsh_web.__file__).parents[1]

BEGIN = """
import asyncio, gc, sys
from dsh_web import PerplexityAgentProvider, WebRuntime

runtime = WebRuntime()
runtime.register_search_provider(PerplexityAgentProvider(api_key="k", base_url=sys.argv[1]))
streams = []

async def open_one():
    streams.append(runtime.astream("q"))
    async for _ in streams[-1]:
        break

async def several():
    await asyncio.gather(*(open_one() for _ in range(5)))
"""

ENDINGS = {
    "held to the end of asyncio.run": "asyncio.run(open_one())",
    "dropped after asyncio.run": "asyncio.run(open_one()); streams.clear(); gc.collect()",
    "loop closed without farewell": """
loop = asyncio.new_event_loop()
loop.run_until_complete(open_one())
loop.close()
streams.clear()
gc.collect()
""",
    "loop closed, held to the exit": """
loop = asyncio.new_event_loop()
loop.run_until_complete(open_one())
loop.close()
""",
    "several at once": "asyncio.run(several())",
    "dropped inside the loop": """
async def drop():
    await open_one()
    streams.clear()
    await asyncio.sleep(0)
asyncio.run(drop())
""",
    "task cancelled by the end of the loop": """
async def consume():
    async for _ in runtime.astream("q"):
        started.set()
async def main():
    global started
    started = asyncio.Event()
    asyncio.ensure_future(consume())
    await started.wait()
asyncio.run(main())
""",
    "own client": """
import httpx
async def main():
    async with httpx.AsyncClient() as client:
        global runtime
        provider = PerplexityAgentProvider(api_key="k", base_url=sys.argv[1])
        runtime = WebRuntime(async_http_client=client)
        runtime.register_search_provider(provider)
        await open_one()
        await streams[0].aclose()
asyncio.run(main())
""",
    "own client, streams held to the end of asyncio.run": """
import httpx
for _ in range(5):
    client = httpx.AsyncClient()
    runtime = WebRuntime(async_http_client=client)
    runtime.register_search_provider(PerplexityAgentProvider(api_key="k", base_url=sys.argv[1]))
    asyncio.run(several())
""",
    "blocking, held to the exit": "streams.append(runtime.stream('q')); next(streams[0])",
    "blocking, never started": "streams.append(runtime.stream('q'))",
    "never started": """
async def main():
    streams.append(runtime.astream("q"))
asyncio.run(main())
""",
}


@pytest.mark.parametrize("script", [silent_after_one, talking], ids=["silent", "talking"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_stream_left_open_is_silent(serve, ending, script):
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", BEGIN + ENDINGS[ending]]
    done = subprocess.run(
        [*command, serve(script).url],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    # How long a first import took on this machine is no complaint about the stream.
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]

    assert ([], 0) == (lines, done.returncode)
