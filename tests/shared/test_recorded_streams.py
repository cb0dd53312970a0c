"""Every recorded stream, cut in many places, without a socket: the same events, the same result."""

from __future__ import annotations

import itertools

import pytest

from dsh_web import PerplexityAgentProvider, PerplexitySonarProvider, WebSearchRequest
from dsh_web.sse import ServerSentEvent, SseReader
from tests.flows import Heard, play_stream

from .case_files import Recording
from .recordings import event_stream_of

WORK = 3_000_000
"""Bytes that one test may parse in whole streams; longer recordings are cut in fewer places."""
LONGEST_FOR_EVERY_OFFSET = 15_000


def listen(recording: Recording, *pieces: bytes) -> Heard:
    kind = PerplexityAgentProvider if recording.api == "agent-stream" else PerplexitySonarProvider
    flow = kind(api_key="a-key-for-tests").stream_flow(WebSearchRequest(query="q"))
    return play_stream(flow, *pieces)


def told(heard: Heard) -> tuple[object, ...]:
    return heard.events, heard.result, str(heard.error)


def sent(*pieces: bytes) -> list[ServerSentEvent]:
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)] + list(reader.finish())


@pytest.mark.timeout(120)
def test_a_stream_cut_in_two_tells_the_same(recorded_stream: Recording) -> None:
    body = event_stream_of(recorded_stream)
    whole = told(listen(recorded_stream, body))

    for cut in range(1, len(body), max(1, len(body) ** 2 // WORK)):
        assert whole == told(listen(recorded_stream, body[:cut], body[cut:])), cut


@pytest.mark.timeout(120)
def test_a_stream_in_single_bytes_tells_the_same(recorded_stream: Recording) -> None:
    body = event_stream_of(recorded_stream)
    pieces = [body[start:end] for start, end in itertools.pairwise(range(len(body) + 1))]

    assert told(listen(recorded_stream, body)) == told(listen(recorded_stream, *pieces))


@pytest.mark.timeout(120)
def test_a_stream_cut_at_any_byte_holds_the_same_events(recorded_stream: Recording) -> None:
    body = event_stream_of(recorded_stream)
    if len(body) > LONGEST_FOR_EVERY_OFFSET:
        body = body[:LONGEST_FOR_EVERY_OFFSET]
    whole = sent(body)

    for cut in range(1, len(body)):
        assert whole == sent(body[:cut], body[cut:]), cut
