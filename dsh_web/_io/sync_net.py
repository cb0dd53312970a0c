"""Blocking sockets whose every wait obeys the limits of the call that uses them."""

from __future__ import annotations

import errno
import functools
import os
import socket
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from ..flow import Guard
from .offload import call_in_thread
from .scope import SyncScope
from .sockets import (
    Address,
    ReadLimit,
    admitted,
    connect_error,
    is_readable,
    literal_address,
    new_socket,
    resolve,
)

__all__ = ["SyncLink"]


class SyncLink(httpcore.NetworkBackend):
    """The socket of one connection; `scope` is set for the duration of each call."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard
        self.scope: SyncScope | None = None
        self.limit = ReadLimit()
        self._stream: _Stream | None = None

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of `host` that answers."""
        scope = self._current_scope()
        addresses = admitted(host, self._addresses(scope, host, port), self._guard)
        failure: OSError | None = None
        for address in addresses:
            sock = new_socket(address)
            try:
                _connect(scope, sock, address, timeout)
            except OSError as error:
                sock.close()
                failure = error
                continue
            except BaseException:
                sock.close()
                raise
            self._stream = _Stream(self, sock)
            return self._stream
        raise connect_error(failure, host)

    def _addresses(self, scope: SyncScope, host: str, port: int) -> list[Address]:
        literal = literal_address(host, port)
        if literal is not None:
            return [literal]
        try:
            # A look-up cannot be interrupted, so it runs where it can be left behind.
            look_up = functools.partial(resolve, host, port, self._guard)
            return call_in_thread(scope, look_up, name="dsh-web-dns")
        except OSError as error:
            raise connect_error(error, host) from error

    def _current_scope(self) -> SyncScope:
        if self.scope is None:
            raise RuntimeError("a connection was used outside a call")
        return self.scope

    def abort(self) -> None:
        """Close the socket at once."""
        if self._stream is not None:
            self._stream.close()


def _connect(
    scope: SyncScope, sock: socket.socket, address: Address, timeout: float | None
) -> None:
    code = sock.connect_ex(address.sockaddr)
    if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
        scope.wait(sock, for_write=True, timeout=timeout)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


class _Stream(httpcore.NetworkStream):
    def __init__(self, link: SyncLink, sock: socket.socket) -> None:
        self._link = link
        self.sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        scope = self._link._current_scope()
        sock = self.sock
        is_tls = isinstance(sock, ssl.SSLSocket)
        while True:
            # TLS may have decrypted more than was read; the socket would stay silent about it.
            if not (is_tls and sock.pending()):  # type: ignore[attr-defined]
                scope.wait(sock)
            try:
                return self._link.limit.spend(sock.recv(max_bytes))
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            except ssl.SSLWantWriteError:
                scope.wait(sock, for_write=True)
            except ssl.SSLZeroReturnError:
                return b""
            except OSError as error:
                raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        scope = self._link._current_scope()
        view = memoryview(buffer)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                scope.wait(self.sock, for_write=True)
            except ssl.SSLWantReadError:
                scope.wait(self.sock)
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self.sock.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        scope = self._link._current_scope()
        try:
            # Wrapping detaches the plain socket, so the stream owns the new one from here.
            self.sock = sock = ssl_context.wrap_socket(
                self.sock, server_hostname=server_hostname, do_handshake_on_connect=False
            )
            while True:
                try:
                    sock.do_handshake()
                    return self
                except ssl.SSLWantReadError:
                    scope.wait(sock, timeout=timeout)
                except ssl.SSLWantWriteError:
                    scope.wait(sock, for_write=True, timeout=timeout)
        except TimeoutError as error:
            self.close()
            raise httpcore.ConnectTimeout("the TLS handshake timed out") from error
        except OSError as error:
            self.close()
            raise httpcore.ConnectError(str(error)) from error
        except BaseException:
            self.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return is_readable(self.sock)
        if info == "ssl_object":
            return self.sock if isinstance(self.sock, ssl.SSLSocket) else None
        return {
            "socket": lambda: self.sock,
            "client_addr": self.sock.getsockname,
            "server_addr": self.sock.getpeername,
        }.get(info, lambda: None)()
