"""A streamed answer of Parallel's Chat: with or without an end of its own, the basis anywhere."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    ParallelChatProvider,
    ProviderError,
    SearchDone,
    SourcesFound,
    TextDelta,
    WebSearchRequest,
)
from dsh_web.flow import OpenStream, TransportError
from tests.core.parallel import BASE, basis, chat_body, cited
from tests.flows import Heard, frames, play, play_stream, reply, sent_json, stream_head

from .conftest import KEY
from .stream_server import PATIENCE, frame

UNSAID = "the stream ended without saying so: the answer may have been cut"
WORDS = ["Bees ", "dance ", "[1] home."]
BASIS = [basis(cited(1, "They dance."), cited(2))]


def chunk(text: str | None = None, **fields: object) -> dict[str, Any]:
    delta = {"role": "assistant"} if text is None else {"content": text}
    choice = {"index": 0, "finish_reason": None, "delta": delta}
    return {
        "id": "",
        "object": "chat.completion.chunk",
        "type": "chat.completion.chunk",
        "created": 1790000000,
        "model": "",
        "choices": [choice],
        "basis": [],
        "interaction_id": "trun_1",
        **fields,
    }


def chunks(basis_at: int) -> list[dict[str, Any]]:
    """Return the chunks of one answer, its basis in one of them."""
    listed = [chunk(), *map(chunk, WORDS), chunk("")]
    listed[basis_at]["basis"] = BASIS
    return listed


def listen(*pieces: Any, **how: Any) -> Heard:
    flow = ParallelChatProvider(api_key=KEY).stream_flow(WebSearchRequest(query="q"))
    return play_stream(flow, *pieces, **how)


def unstreamed() -> Any:
    body = chat_body("".join(WORDS), *BASIS)
    flow = ParallelChatProvider(api_key=KEY).search_flow(WebSearchRequest(query="q"))
    return play(flow, reply(body))[1]


@pytest.mark.parametrize("basis_at", range(5))
def test_the_basis_may_come_with_any_chunk(basis_at):
    heard = listen(frames(*chunks(basis_at), "[DONE]"))

    assert unstreamed() == heard.result
    assert [(1,), (2,)] == [s.ids for event in heard.of(SourcesFound) for s in event.sources]


@given(st.lists(st.integers(1, 900), max_size=20), st.integers(0, 4))
def test_it_does_not_matter_where_the_bytes_are_cut(cuts, basis_at):
    body = frames(*chunks(basis_at), "[DONE]")
    bounds = [0, *sorted({cut for cut in cuts if cut < len(body)}), len(body)]
    heard = listen(*(body[a:b] for a, b in itertools.pairwise(bounds)))

    assert unstreamed() == heard.result
    assert "".join(WORDS) == heard.text


def test_the_last_basis_that_is_not_empty_counts():
    early = [basis(cited(9))]
    heard = listen(frames(chunk("Bees.", basis=early), chunk("", basis=BASIS), chunk(), "[DONE]"))

    assert ["https://site1.example/", "https://site2.example/"] == [
        source.url for source in heard.result.sources
    ]


def test_a_source_is_told_once():
    heard = listen(frames(chunk("a", basis=BASIS), chunk("b", basis=BASIS), "[DONE]"))

    assert [2] == [len(event.sources) for event in heard.of(SourcesFound)]


def test_a_stream_without_an_end_of_its_own_is_taken_with_a_warning():
    heard = listen(frames(*chunks(4)))

    assert "".join(WORDS) == heard.result.content
    assert (UNSAID,) == heard.result.warnings
    assert 2 == len(heard.result.citations)


def test_a_finish_reason_is_an_end():
    last = chunk("")
    last["choices"][0]["finish_reason"] = "stop"
    heard = listen(frames(*chunks(0), last))

    assert ("stop", ()) == (heard.result.finish_reason, heard.result.warnings)


def test_a_basis_that_follows_the_finish_reason_is_not_lost():
    last = chunk("home.")
    last["choices"][0]["finish_reason"] = "stop"
    heard = listen(frames(last), frames(chunk("", basis=BASIS), "[DONE]"))

    assert 2 == len(heard.result.sources)


def test_a_connection_that_breaks_is_an_error_that_keeps_the_text():
    heard = listen(frames(*chunks(1)), TransportError("connection reset"))

    assert heard.text == "".join(WORDS)
    assert isinstance(heard.error, ProviderError)
    assert "Parallel search request failed: connection reset" == heard.error.message


@pytest.mark.parametrize("pieces", [[], [frames(chunk())], [b": ping\n\n"]])
def test_a_stream_that_ends_before_any_text_is_an_error(pieces):
    heard = listen(*pieces)

    assert "Parallel ended the stream before the answer was complete" == heard.error.message


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "error", "error": {"ref_id": "r1", "message": "out of credit"}},
        {"error": {"message": "out of credit", "type": "x", "code": 402}},
        {"error": "out of credit"},
        {"detail": [{"loc": ["body"], "msg": "out of credit", "type": "x"}]},
    ],
)
def test_an_error_in_the_stream_is_an_error_in_every_shape(payload):
    heard = listen(frames(chunk("Bees "), payload))

    assert ("out of credit", "Bees ") == (heard.error.message, heard.text)


def test_the_reference_of_an_error_in_the_stream_is_its_request_id():
    heard = listen(frames({"type": "error", "error": {"ref_id": "r1", "message": "no"}}))

    assert "r1" == heard.error.request_id


def test_a_frame_that_cannot_be_read_is_an_error():
    heard = listen(frames(chunk("Bees "), "{not json"))

    assert heard.error.message.startswith(
        "Parallel returned an unprocessable response body: a stream frame cannot be read"
    )


def test_an_answer_in_one_piece_is_one_too():
    heard = listen(
        reply(chat_body("".join(WORDS), *BASIS)).body, head=stream_head(kind="application/json")
    )

    assert unstreamed() == heard.result
    assert "".join(WORDS) == heard.text


def test_the_request_asks_for_a_stream():
    heard = listen(frames(*chunks(0), "[DONE]"))
    opened = heard.steps[0]

    assert isinstance(opened, OpenStream)
    assert f"{BASE}/v1beta/chat/completions" == opened.request.url
    assert sent_json(opened.request)["stream"] is True


def test_stored_bytes_of_a_stream_are_read_without_sending():
    result = ParallelChatProvider().read_stream(frames(*chunks(2), "[DONE]"))

    assert unstreamed() == result


# -- over a real connection ----------------------------------------------------------------------


def test_each_word_arrives_while_the_next_is_not_yet_sent(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        for part in chunks(3):
            peer.server.go.acquire()
            peer.chunk(frame(part))
        peer.chunk(b"data: [DONE]\n\n")
        peer.end()

    server = serve(script)
    stream = listen(runtime_on(server, ParallelChatProvider), timeout=PATIENCE)
    server.go.release()
    for text in WORDS[:2]:
        server.go.release()
        assert TextDelta(text=text) == next(stream)
    server.go.release(10)
    rest = list(stream)

    assert [SourcesFound, TextDelta, SearchDone] == [type(event) for event in rest]
    # What a flow played by hand cannot know: which request the runtime noted.
    assert unstreamed() == rest[-1].result.model_copy(update={"request": None})


def test_a_clean_end_of_the_body_ends_the_answer(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        peer.chunk(b"".join(map(frame, chunks(4))))
        peer.end()

    events = list(listen(runtime_on(serve(script), ParallelChatProvider), timeout=PATIENCE))

    assert (UNSAID,) == events[-1].result.warnings


def test_a_body_that_is_cut_in_the_middle_of_its_chunks_is_an_error(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        peer.chunk(b"".join(map(frame, chunks(4))))
        peer.close()

    stream = listen(runtime_on(serve(script), ParallelChatProvider), timeout=PATIENCE)

    heard = []
    with pytest.raises(ProviderError, match="Parallel search request failed"):
        heard.extend(stream)


def test_leaving_early_closes_the_connection(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        while peer.chunk(frame(chunk("more "))) and not peer.hung_up.wait(0.005):
            pass

    server = serve(script)
    with listen(runtime_on(server, ParallelChatProvider), timeout=PATIENCE) as stream:
        assert TextDelta(text="more ") == next(stream)

    assert server.left_at() > 0
