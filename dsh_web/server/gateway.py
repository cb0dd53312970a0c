"""The outermost layer: records, authenticates, and lets faults happen around the application."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dsh_web.server.api_errors import ApiError
from dsh_web.server.connections import SCOPE_KEY, Connection
from dsh_web.server.fault_delivery import BrokenAnswerError, FaultySend, send_own_answer
from dsh_web.server.fault_plan import HEADER as FAULT_HEADER
from dsh_web.server.fault_plan import FaultPlan, split_fault_path
from dsh_web.server.faults import Fault
from dsh_web.server.parallel_errors import PARALLEL_PATHS, ParallelError
from dsh_web.server.rate_window import RateWindow
from dsh_web.server.request_log import RecordedRequest, RequestLog
from dsh_web.server.settings import Settings

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a request body that are kept; the Agent API's own limit."""


class Gateway:
    """ASGI application around the endpoints of one server."""

    def __init__(
        self, app: ASGIApp, settings: Settings, faults: FaultPlan, log: RequestLog
    ) -> None:
        self._app = app
        self._settings = settings
        self._faults = faults
        self._log = log
        self.rate_window = RateWindow()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        connection: Connection = scope[SCOPE_KEY]
        headers = Headers(scope=scope)
        specs, raw_path = split_fault_path(scope["raw_path"].decode("ascii"))
        scope = {
            **scope,
            "raw_path": raw_path.encode("ascii"),
            "path": unquote(raw_path),
        }
        specs += headers.getlist(FAULT_HEADER)
        body = await _read_body(receive)
        if body is None:
            return
        self._log.append(
            RecordedRequest(
                method=scope["method"],
                path=scope["path"],
                query=scope["query_string"].decode("latin-1"),
                headers={name: ", ".join(headers.getlist(name)) for name in headers},
                body=body,
            )
        )
        request_id = str(uuid.uuid4())
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        send = self._with_service_headers(send, request_id)
        await connection.sleep(self._settings.latency)
        try:
            fault = self._faults.for_request(specs)
        except ValueError as error:
            answer = ApiError(400, str(error), kind="invalid_fault").answer()
            await answer(scope, receive, send)
            return
        scope["state"]["stream_changes"] = {} if fault is None else dict(fault.stream)
        await self._answer(scope, _replay(body, receive), send, fault, connection)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        fault: Fault | None,
        connection: Connection,
    ) -> None:
        if fault is None:
            await self._authenticated(scope, receive, send)
            return
        try:
            faulty = FaultySend(send, fault, connection)
            if fault.answers_alone:
                await send_own_answer(fault, faulty, _error_body(scope["path"]))
            else:
                await self._authenticated(scope, receive, faulty)
        except BrokenAnswerError:
            return

    async def _authenticated(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        is_public = path in {"/", "/_health"} or path.startswith("/pages/")
        headers = Headers(scope=scope)
        if is_public or self._accepts(_key_in(headers, path)):
            await self._app(scope, receive, send)
            return
        refusal = ParallelError(401) if path in PARALLEL_PATHS else ApiError(401)
        await refusal.answer()(scope, receive, send)

    def _accepts(self, key: str) -> bool:
        if not key.strip():
            return False
        wanted = self._settings.api_key
        return wanted is None or secrets.compare_digest(key.strip().encode(), wanted.encode())

    def _with_service_headers(self, send: Send, request_id: str) -> Send:
        extra = {
            "x-request-id": request_id,
            "access-control-allow-origin": "*",
            **self.rate_window.spend(),
        }
        raw = [(name.encode(), value.encode()) for name, value in extra.items()]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {bytes(name).lower() for name, _ in message["headers"]}
                added = [pair for pair in raw if pair[0] not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        return send_with_headers


def _key_in(headers: Headers, path: str) -> str:
    """Return the key of a request: a bearer, or Parallel's own header at its paths."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key
    is_parallel = path in PARALLEL_PATHS or path == "/chat/completions"
    return headers.get("x-api-key", "") if is_parallel else ""


def _error_body(path: str) -> Callable[[int], dict[str, Any]]:
    """Return what writes the body of an error at `path`, in the words of the vendor whose it is."""
    if path in PARALLEL_PATHS:
        return lambda status: ParallelError(status).body()
    return lambda status: ApiError(status).body()


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body, cut one byte above the limit; None if the client left while sending it."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        # What is above the limit is still read, so that the client can finish and see the refusal.
        room = MAX_BODY + 1 - len(body)
        body += message.get("body", b"")[:room]
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that delivers the body once and then what the connection says."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again
