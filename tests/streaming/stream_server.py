"""A loopback server that sends a stream piece by piece, when a test says so, and sees who leaves."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
import time
from collections.abc import Callable

PATIENCE = 10.0
"""Seconds after which a wait gives up; no test that passes comes near it."""


class Peer:
    """The server's end of one connection."""

    def __init__(self, server: StreamServer, sock: socket.socket) -> None:
        self.server = server
        self._sock = sock
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.hung_up = threading.Event()
        self.hung_up_at = 0.0

    def watch(self) -> None:
        """Read requests until the client hangs up."""
        pending = b""
        with contextlib.suppress(OSError):
            while data := self._sock.recv(65_536):
                pending += data
                while (request := _first_request(pending)) is not None:
                    pending = pending[len(request) :]
                    self._requests.put(request)
        self.hung_up_at = time.monotonic()
        self.hung_up.set()
        self._requests.put(None)

    def next_request(self) -> bytes | None:
        return self._requests.get()

    def head(self, *lines: str, kind: str = "text/event-stream") -> None:
        """Begin an answer; without lines of its own it is chunked."""
        fields = [f"content-type: {kind}", *(lines or ("transfer-encoding: chunked",))]
        self.raw(("HTTP/1.1 200 OK\r\n" + "\r\n".join(fields) + "\r\n\r\n").encode())

    def chunk(self, data: bytes) -> bool:
        return self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> bool:
        return self.raw(b"0\r\n\r\n")

    def raw(self, data: bytes) -> bool:
        """Send; return False if the client is gone."""
        try:
            self._sock.sendall(data)
        except OSError:
            return False
        return True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


Script = Callable[[Peer], None]


class StreamServer:
    """Runs `script` for every request, in a thread per connection."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.peers: list[Peer] = []
        self.go = threading.Semaphore(0)
        """What a script waits for between two pieces."""
        self.said = threading.Semaphore(0)
        """Released by scripts for tests that wait for them."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._is_open = True
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, function: Callable[[], None]) -> None:
        thread = threading.Thread(target=function, name="stream-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while self._is_open:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = Peer(self, sock)
            self.peers.append(peer)
            self._start(peer.watch)
            self._start(lambda peer=peer: self._serve(peer))

    def _serve(self, peer: Peer) -> None:
        while peer.next_request() is not None:
            self.script(peer)
        peer.close()

    def close(self) -> None:
        self._is_open = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.go.release(1000)
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer._sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a server script does not end"

    def left_at(self, number: int = -1) -> float:
        """Return the monotonic time at which the client closed that connection."""
        peer = self.peers[number]
        assert peer.hung_up.wait(PATIENCE), "the client kept the connection open"
        return peer.hung_up_at

    @property
    def open_connections(self) -> int:
        return sum(not peer.hung_up.is_set() for peer in self.peers)


def _first_request(data: bytes) -> bytes | None:
    head, mark, rest = data.partition(b"\r\n\r\n")
    if not mark:
        return None
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    return data[: len(head) + 4 + length] if len(rest) >= length else None


# -- frames and scripts --------------------------------------------------------------------------


def frame(payload: object) -> bytes:
    return f"data: {json.dumps(payload)}\n\n".encode()


def word(text: str) -> bytes:
    return frame({"type": "response.output_text.delta", "delta": text})


def finished(text: str) -> bytes:
    part = {"type": "output_text", "text": text}
    results = [{"id": 1, "url": "https://one.example/", "title": "One"}]
    output = [
        {"type": "search_results", "results": results},
        {"type": "message", "content": [part]},
    ]
    response = {"id": "resp_1", "status": "completed", "output": output}
    return frame({"type": "response.completed", "response": response})


WORDS = ("Bees ", "dance ", "home.")
ANSWER = "".join(WORDS)
WHOLE = b"".join(map(word, WORDS)) + finished(ANSWER)


def answering(peer: Peer) -> None:
    """Send the whole answer at once."""
    peer.head()
    peer.chunk(WHOLE)
    peer.end()


def in_step(peer: Peer) -> None:
    """Send one word whenever the test says go, then the end."""
    peer.head()
    for text in WORDS:
        peer.server.go.acquire()
        peer.chunk(word(text))
    peer.server.go.acquire()
    peer.chunk(finished(ANSWER))
    peer.end()


def silent_after_one(peer: Peer) -> None:
    """Send one word and nothing more."""
    peer.head()
    peer.chunk(word("one "))
    peer.server.said.release()
    peer.hung_up.wait(PATIENCE)


def talking(peer: Peer) -> None:
    """Send words without an end."""
    peer.head()
    while peer.chunk(word("more ")) and not peer.hung_up.wait(0.005):
        pass
