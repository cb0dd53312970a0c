"""Streaming for the APIs that write answers: opening, reading frames, ending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from .._secret import Secret
from ..errors import ProviderError
from ..events import SourcesFound, StreamEvent, TextDelta, UsageReported
from ..flow import Emit, Flow, HttpHead, HttpResponse, ReadChunk, TransportError
from ..retry import RetryPolicy, is_retryable_status, open_with_retries
from ..seam import WebSearchRequest, WebSearchResult
from ..sse import ServerSentEvent, SseReader
from ._shape import parse_json
from ._vendor import Body, VendorProvider
from ._vendor_errors import message_of, status_of

__all__ = ["Assembler", "StreamFailure", "StreamingProvider"]


class StreamFailure(Exception):
    """A frame that says the run has failed.

    Args:
        frame: The frame, or the error object in it.
    """

    def __init__(self, frame: Mapping[str, Any]) -> None:
        super().__init__("the stream reported an error")
        self.frame = frame


def is_bare_error(frame: Mapping[str, Any]) -> bool:
    """Return whether a frame is one of the error shapes that have no envelope, and nothing else."""
    return frame.keys() <= {"detail", "message", "code", "type", "status"} and (
        message_of(frame).message is not None
    )


class Assembler(Protocol):
    """Puts the frames of one stream together to the body of the unstreamed answer."""

    @property
    def is_complete(self) -> bool:
        """Whether a frame has ended the answer."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nothing more can follow, so that reading on is pointless."""
        ...

    @property
    def may_end(self) -> bool:
        """Whether a body that ends here without a word may still be a whole answer."""
        ...

    def take(self, frame: dict[str, Any]) -> Iterator[StreamEvent]:
        """Yield what a frame brings.

        Raises:
            StreamFailure: The frame reports an error.
        """
        ...

    def take_done_marker(self) -> None:
        """Note a `[DONE]`."""
        ...

    def end(self) -> Iterator[StreamEvent]:
        """Yield what only the end of a complete stream makes sure of."""
        ...

    def body(self) -> dict[str, Any]:
        """Return the body that the same answer would have had unstreamed."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return what a caller should know about how the stream went."""
        ...


class StreamingProvider(VendorProvider):
    """A provider whose API can stream; a subclass says how frames become a body."""

    def stream_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return the flow of one streamed search: it emits events and returns the final result."""
        wire, key = yield from self._wire_request(request, {"stream": True})
        try:
            head = yield from open_with_retries(wire, RetryPolicy(self.max_retries))
            start = b"" if 200 <= head.status < 300 else None
            if start is not None and not _says_event_stream(head):
                # Gateways name JSON in many ways, and some streams have no type at all.
                start = yield from _start_of_body()
            if start is None or start.lstrip()[:1] in (b"{", b"[", b"<"):
                # An error, a redirect, or a gateway that answers in one piece.
                body = self._read((yield from _whole(head, key, start or b"")), key)
                result = self._result(body, request)
                for event in _events_of(result):
                    yield Emit(event)
            else:
                result = yield from self._read_stream(head, key, request, start)
        except TransportError as error:
            raise self._request_failed(key.mask(str(error)), error) from error
        return result

    def read_stream(self, body: bytes, *, include_raw: bool = False) -> WebSearchResult:
        """Return the result that the stored bytes of a stream stand for; nothing is sent.

        Raises:
            ProviderError: The stream reports a failure, breaks off, or cannot be read.
        """
        request = WebSearchRequest(query="(stored)", include_raw=include_raw)
        flow = self._read_stream(HttpHead(200, {}), Secret(""), request, body)
        try:
            step = next(flow)
            while True:
                # All of it was there from the start; what a consumer would hear goes nowhere.
                step = flow.send(b"" if isinstance(step, ReadChunk) else None)
        except StopIteration as stop:
            result: WebSearchResult = stop.value
            return result

    def _assembler(self) -> Assembler:
        raise NotImplementedError

    def _read_stream(
        self, head: HttpHead, key: Secret, request: WebSearchRequest, start: bytes
    ) -> Flow[WebSearchResult]:
        request_id = self._request_id(head, key)
        assembler = self._assembler()
        reader = SseReader()
        is_open = True
        while is_open and not assembler.is_over:
            chunk = start or (yield from _next_chunk(assembler))
            start = b""
            is_open = bool(chunk)
            try:
                for sent in reader.feed(chunk) if chunk else reader.finish():
                    for event in _take(assembler, sent, key):
                        yield Emit(event)
                    if assembler.is_over:
                        # What follows must not count only because it came in the same piece.
                        break
            except StreamFailure as failure:
                chunk = b""
                raise self._failed_stream(failure, head, request_id) from None
            except ValueError as error:
                chunk = b""
                raise self.unprocessable(
                    f"a stream frame cannot be read: {key.mask(str(error))}",
                    head.status,
                    request_id,
                ) from error
        if not (assembler.is_complete or assembler.may_end):
            raise ProviderError(
                f"{self.label} ended the stream before the answer was complete",
                provider=self.id,
                status_code=head.status,
                request_id=request_id,
                retryable=True,
            )
        for event in assembler.end():
            yield Emit(event)
        result = self._result(Body(assembler.body(), request_id, head.status), request)
        return result.model_copy(update={"warnings": result.warnings + assembler.warnings()})

    def _failed_stream(
        self, failure: StreamFailure, head: HttpHead, request_id: str | None
    ) -> ProviderError:
        said = message_of({"error": failure.frame})
        message = said.message
        if message is None or message == said.kind:
            message = message_of(failure.frame).message or message
        status = status_of(failure.frame) or head.status
        return ProviderError(
            self._explain(message or f"{self.label} reported an error in the stream", said.kind),
            provider=self.id,
            status_code=status,
            request_id=request_id or said.reference,
            retryable=is_retryable_status(status),
        )


def _next_chunk(assembler: Assembler) -> Flow[bytes]:
    try:
        chunk: bytes = yield ReadChunk()
    except TransportError:
        if not assembler.is_complete:
            raise
        # The answer is all there; how its connection ended takes nothing from it.
        return b""
    return chunk


def _events_of(result: WebSearchResult) -> Iterator[StreamEvent]:
    """Yield what a stream would have said of an answer that came in one piece."""
    if result.sources:
        yield SourcesFound(sources=result.sources)
    if result.content:
        yield TextDelta(text=result.content)
    if result.usage is not None:
        yield UsageReported(usage=result.usage)


def _take(assembler: Assembler, sent: ServerSentEvent, key: Secret) -> Iterator[StreamEvent]:
    # Masked first of all: whatever fails below may leave the text in a traceback.
    text = key.mask(sent.data).strip()
    if sent.event == "error":
        raise StreamFailure(_error_of(text, key))
    if not text:
        return
    if text == "[DONE]":
        assembler.take_done_marker()
        return
    frame = _parsed(text, key)
    if not isinstance(frame, dict):
        raise ValueError("it is not a JSON object")
    yield from assembler.take(frame)


def _parsed(text: str, key: Secret) -> Any:
    encoded = text.encode("utf-8", "replace")
    frame = parse_json(encoded)
    return key.mask_value(frame) if key.may_occur_in(encoded) else frame


def _error_of(text: str, key: Secret) -> dict[str, Any]:
    """Return the error that an `event: error` carries, in whichever shape."""
    try:
        frame = _parsed(text, key)
    except ValueError:
        return {"message": key.mask(text)[:200]}
    if not isinstance(frame, dict):
        return {"message": frame}
    error = frame.get("error")
    if isinstance(error, dict):
        return error
    message = message_of(frame).message
    return {**frame, "message": message}


def _start_of_body() -> Flow[bytes]:
    """Return the first bytes that are more than white space; empty for an empty body."""
    start = b""
    while not start.strip():
        chunk: bytes = yield ReadChunk()
        if not chunk:
            break
        start += chunk
    return start


def _whole(head: HttpHead, key: Secret, start: bytes) -> Flow[HttpResponse]:
    chunks = [start]
    while chunk := (yield ReadChunk()):
        chunks.append(chunk)
    # Masked as a whole: a server may have sent the key in two pieces.
    body = key.mask(b"".join(chunks).decode("latin-1")).encode("latin-1")
    return HttpResponse(head.status, head.headers, body, head.received_at)


def _says_event_stream(head: HttpHead) -> bool:
    kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/event-stream"
