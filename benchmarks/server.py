"""A keep-alive HTTP/1.1 server with one canned answer, in a process of its own.

Small on purpose: what is measured is the client. Run as `python benchmarks/server.py SIZE DELAY`;
prints its port.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SMALL = (10, 300)
LARGE = (20, 8000)


def body(sources: int, characters: int) -> bytes:
    """Return a Search API body of `sources` results with snippets of `characters`."""
    results = [
        {
            "title": f"Result {number}",
            "url": f"https://site{number}.example/page",
            "snippet": "word " * (characters // 5),
            "date": "2026-08-30",
            "last_updated": None,
        }
        for number in range(sources)
    ]
    return json.dumps({"id": "search-1", "results": results, "server_time": None}).encode()


async def serve(content: bytes, delay: float) -> None:
    """Answer every POST with `content` after `delay` seconds."""
    head = (
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        f"x-request-id: 1\r\ncontent-length: {len(content)}\r\n\r\n"
    ).encode()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in request.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                await reader.readexactly(length)
                if delay:
                    await asyncio.sleep(delay)
                writer.write(head + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running(shape: tuple[int, int], delay: float = 0.0) -> Iterator[str]:
    """Run the server in a process of its own and yield its base url."""
    arguments = [sys.executable, __file__, str(shape[0]), str(shape[1]), str(delay)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(serve(body(int(sys.argv[1]), int(sys.argv[2])), float(sys.argv[3])))
