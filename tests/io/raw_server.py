"""A server that does exactly what a test tells it to, byte by byte, and remembers what it saw.

Each accepted connection runs the next script of the list in a thread of its own; the last script
serves all further connections. A script is a function of one `Peer`.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PATIENCE = 10.0
"""Seconds after which a server side wait gives up; no test that passes comes near it."""


@dataclass
class SeenRequest:
    """One request as it arrived."""

    head: str
    body: bytes

    @property
    def target(self) -> str:
        return self.head.split(" ", 2)[1]

    def header(self, name: str) -> str | None:
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name:
                return value.strip()
        return None


class Peer:
    """The server's end of one connection."""

    def __init__(self, server: RawServer, sock: socket.socket) -> None:
        self.server = server
        self.sock = sock
        self._pending = b""
        self.hung_up = threading.Event()
        self.hung_up_at: float | None = None

    def receive(self) -> bytes:
        """Return what the client sent next; b"" once it has hung up."""
        try:
            data = self.sock.recv(65_536)
        except OSError:
            data = b""
        if data:
            self.server.note("bytes")
        elif not self.hung_up.is_set():
            self.hung_up_at = time.monotonic()
            self.hung_up.set()
        return data

    def request(self) -> SeenRequest | None:
        """Return the next complete request, or None if the client hung up instead."""
        while b"\r\n\r\n" not in self._pending:
            data = self.receive()
            if not data:
                return None
            self._pending += data
        head, _, rest = self._pending.partition(b"\r\n\r\n")
        seen = SeenRequest(head.decode("latin-1"), b"")
        length = int(seen.header("content-length") or 0)
        while len(rest) < length:
            data = self.receive()
            if not data:
                return None
            rest += data
        seen.body, self._pending = rest[:length], rest[length:]
        self.server.requests.append(seen)
        self.server.note("request")
        return seen

    def send(self, data: bytes) -> bool:
        """Send all of `data`; return False if the client is gone."""
        try:
            self.sock.sendall(data)
        except OSError:
            return False
        return True

    def wait_for_hang_up(self) -> None:
        """Read until the client closes the connection."""
        while self.receive():
            pass

    def reset(self) -> None:
        """Close with a TCP reset instead of a proper end."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        self.hung_up_at = time.monotonic()
        self.hung_up.set()


Script = Callable[[Peer], None]


@dataclass
class _Notes:
    counts: dict[str, int] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)


class RawServer:
    """Listens on a free loopback port until it is closed."""

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[SeenRequest] = []
        self.peers: list[Peer] = []
        self._scripts = list(scripts)
        self._tls = tls
        self._notes = _Notes()
        self._is_open = True
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        scheme, name = ("http", "127.0.0.1") if tls is None else ("https", "localhost")
        self.url = f"{scheme}://{name}:{self.port}"
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    # -- what tests wait for and look at ---------------------------------------------------------

    def note(self, what: str) -> None:
        """Remember that `what` happened once more, and wake whoever waits for it."""
        with self._notes.changed:
            self._notes.counts[what] = self._notes.counts.get(what, 0) + 1
            self._notes.changed.notify_all()

    def count(self, what: str) -> int:
        return self._notes.counts.get(what, 0)

    def wait_for(self, what: str, times: int = 1) -> None:
        """Block until `what` happened `times` times: connection, bytes, request, or a script's own.

        Raises:
            AssertionError: It did not in time.
        """
        with self._notes.changed:
            happened = self._notes.changed.wait_for(lambda: self.count(what) >= times, PATIENCE)
        assert happened, f"{what} happened {self.count(what)} times, not {times}"

    def wait_for_hang_up(self, connection: int = 0) -> float:
        """Return the monotonic time at which the client closed that connection."""
        peer = self.peers[connection]
        assert peer.hung_up.wait(PATIENCE), "the client kept the connection open"
        assert peer.hung_up_at is not None
        return peer.hung_up_at

    @property
    def connections(self) -> int:
        return len(self.peers)

    # -- life ------------------------------------------------------------------------------------

    def close(self) -> None:
        self._is_open = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a server script does not end"

    def _start(self, function: Callable[[], None]) -> None:
        thread = threading.Thread(target=function, name="raw-server", daemon=True)
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
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            self.peers.append(peer)
            self.note("connection")
            self._start(lambda peer=peer, script=script: self._serve(peer, script))

    def _serve(self, peer: Peer, script: Script) -> None:
        try:
            if self._tls is not None:
                peer.sock = self._tls.wrap_socket(peer.sock, server_side=True)
                self.note("handshake")
            script(peer)
        except OSError:
            self.note("failed")
        finally:
            # A close with unread bytes would reset the connection and lose what was sent.
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_WR)
            self.note("closing")
            with contextlib.suppress(OSError):
                if self._is_open and peer.sock.fileno() >= 0:
                    peer.wait_for_hang_up()
            peer.sock.close()
            self.note("ended")


# -- scripts -------------------------------------------------------------------------------------


def http_answer(
    body: bytes = b"", status: int = 200, *, length: int | None = -1, **headers: str
) -> bytes:
    """Return a response as bytes; `length=None` leaves out the content-length."""
    lines = [f"HTTP/1.1 {status} Whatever", "content-type: application/json"]
    if length is not None:
        lines.append(f"content-length: {len(body) if length < 0 else length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def answering(*answers: bytes) -> Script:
    """Answer one request after another on a kept connection; the last answer repeats."""

    def script(peer: Peer) -> None:
        number = 0
        while peer.request() is not None:
            peer.send(answers[min(number, len(answers) - 1)])
            number += 1
            peer.server.note("answer")

    return script


def answering_once(*parts: bytes) -> Script:
    """Answer the first request with raw bytes, then close."""

    def script(peer: Peer) -> None:
        if peer.request() is not None:
            for part in parts:
                peer.send(part)
                peer.server.note("answer")

    return script


def sending(parts: Callable[[], Iterator[bytes]]) -> Script:
    """Answer the first request with endless or huge parts until the client hangs up."""

    def script(peer: Peer) -> None:
        if peer.request() is None:
            return
        for part in parts():
            if not peer.send(part):
                peer.hung_up_at = time.monotonic()
                peer.hung_up.set()
                return
        peer.server.note("answer")

    return script


def stalling(first: bytes = b"") -> Script:
    """Take a request, send `first`, and then stay silent until the client hangs up."""

    def script(peer: Peer) -> None:
        if peer.request() is not None:
            peer.send(first)
            peer.server.note("stalled")
            peer.wait_for_hang_up()

    return script


def dripping(first: bytes, drop: bytes, seconds: float) -> Script:
    """Take a request, send `first`, and then one `drop` after the other, never ending."""

    def script(peer: Peer) -> None:
        if peer.request() is None:
            return
        peer.send(first)
        while not peer.hung_up.wait(0) and not select.select([peer.sock], [], [], seconds)[0]:
            if not peer.send(drop):
                break
            peer.server.note("drop")
        peer.receive()

    return script


def silent(peer: Peer) -> None:
    """Accept the connection and never say anything, not even a TLS greeting."""
    peer.wait_for_hang_up()


def resetting(first: bytes = b"") -> Script:
    """Take a request, send `first`, and reset the connection."""

    def script(peer: Peer) -> None:
        if peer.request() is not None:
            peer.send(first)
            peer.reset()

    return script


def slow(seconds: float, answer: bytes) -> Script:
    """Answer each request after `seconds`, unless the client hangs up before."""

    def script(peer: Peer) -> None:
        while peer.request() is not None:
            if select.select([peer.sock], [], [], seconds)[0]:
                peer.receive()
                return
            peer.send(answer)
            peer.server.note("answer")

    return script
