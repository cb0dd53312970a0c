"""Events come as they are sent, whatever carries them, and the connection serves the next call."""

import gzip
import threading
import time
import zlib

import pytest

from dsh_web import PerplexitySonarProvider, SearchDone, SourcesFound, TextDelta, WebError

from .stream_server import (
    ANSWER,
    PATIENCE,
    WHOLE,
    WORDS,
    answering,
    finished,
    frame,
    in_step,
    talking,
    word,
)

SLACK = 0.3


def test_each_event_arrives_while_the_next_is_not_yet_sent(serve, runtime_on, listen):
    server = serve(in_step)
    stream = listen(runtime_on(server), timeout=PATIENCE)

    for text in WORDS:
        server.go.release()
        assert TextDelta(text=text) == next(stream)
    server.go.release()
    rest = list(stream)

    assert [SourcesFound, SearchDone] == [type(event) for event in rest]
    assert ANSWER == rest[-1].result.content


def test_the_result_is_that_of_the_unstreamed_search(serve, runtime_on, listen):
    body = WHOLE.split(b'"response": ')[1].strip()[:-1]

    def script(peer):
        peer.head(f"content-length: {len(body)}", kind="application/json")
        peer.raw(body)

    whole = runtime_on(serve(script)).search("q")
    (*_, done) = listen(runtime_on(serve(answering)))

    assert whole == done.result


def test_the_sources_of_all_events_stay_within_the_bound(serve, runtime_on, listen):
    results = [{"id": n, "url": f"https://s{n}.example/"} for n in range(5)]

    def script(peer):
        peer.head()
        for part in (results[:2], results[:4], results):
            peer.chunk(frame({"type": "response.reasoning.search_results", "results": part}))
        item = {"type": "search_results", "results": results}
        response = {"status": "completed", "output": [item]}
        peer.chunk(frame({"type": "response.completed", "response": response}))
        peer.end()

    events = list(listen(runtime_on(serve(script)), max_results=3))
    told = [s.url for e in events if isinstance(e, SourcesFound) for s in e.sources]

    assert ["https://s0.example/", "https://s1.example/", "https://s2.example/"] == told
    assert told == [source.url for source in events[-1].result.sources]
    assert events[-1].result.truncated


# -- reuse ---------------------------------------------------------------------------------------


def end_with_the_answer(peer):
    answering(peer)


def end_a_moment_later(peer):
    peer.head()
    peer.chunk(WHOLE)
    threading.Timer(0.004, peer.end).start()


def with_a_length(peer):
    peer.head(f"content-length: {len(WHOLE)}")
    peer.raw(WHOLE)


def more_after_the_answer(peer):
    peer.head()
    peer.chunk(WHOLE + frame({"type": "response.unknown"}))
    peer.chunk(b"data: [DONE]\n\n")
    peer.end()


@pytest.mark.parametrize(
    "script", [end_with_the_answer, end_a_moment_later, with_a_length, more_after_the_answer]
)
def test_a_connection_serves_the_next_call_after_a_whole_stream(serve, runtime_on, listen, script):
    server = serve(script)
    runtime = runtime_on(server)

    answers = [list(listen(runtime))[-1].result.content for _ in range(4)]

    assert [ANSWER] * 4 == answers
    assert 1 == len(server.peers)


def never_ends(peer):
    peer.head()
    peer.chunk(WHOLE)
    peer.hung_up.wait(PATIENCE)


def never_stops(peer):
    peer.head()
    peer.chunk(WHOLE)
    while peer.chunk(b": more\n\n" * 1000):
        pass


def drips(peer):
    peer.head()
    peer.chunk(WHOLE)
    while peer.chunk(b":") and not peer.hung_up.wait(0.001):
        pass


def breaks(peer):
    peer.head()
    peer.chunk(WHOLE)
    peer.raw(b"nonsense\r\n")


def closes(peer):
    peer.head("connection: close")
    peer.raw(WHOLE)
    peer.hung_up.wait(PATIENCE)


@pytest.mark.parametrize("script", [never_ends, never_stops, drips, breaks, closes])
def test_a_body_that_does_not_end_with_its_answer_delays_nothing(serve, runtime_on, listen, script):
    server = serve(script)
    runtime = runtime_on(server)
    started = time.monotonic()

    events = list(listen(runtime, timeout=PATIENCE))

    assert ANSWER == events[-1].result.content
    assert time.monotonic() - started < 0.05 + SLACK
    assert server.left_at(0) - started < 0.05 + SLACK
    server.script = answering
    assert ANSWER == list(listen(runtime))[-1].result.content


def test_an_error_in_the_stream_does_not_harm_the_next_call(serve, runtime_on, listen):
    def failing(peer):
        peer.head()
        peer.chunk(word("Bees ") + frame({"type": "error", "message": "gone"}))
        peer.end()

    server = serve(failing)
    runtime = runtime_on(server)
    with pytest.raises(WebError, match="gone"):
        list(listen(runtime))
    server.script = answering

    assert ANSWER == list(listen(runtime))[-1].result.content


def test_a_sonar_stream_is_reused_after_its_last_frame(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        peer.chunk(frame({"choices": [{"delta": {"content": "Bees."}}]}))
        peer.chunk(
            frame({"object": "chat.completion.done", "choices": [{"finish_reason": "stop"}]})
        )
        peer.end()

    server = serve(script)
    runtime = runtime_on(server, PerplexitySonarProvider)

    assert ["Bees."] * 2 == [list(listen(runtime))[-1].result.content for _ in range(2)]
    assert 1 == len(server.peers)


# -- what can go wrong below ---------------------------------------------------------------------


def test_a_stream_cut_off_by_its_server_is_an_error_after_what_was_good(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        peer.chunk(word("Bees "))
        peer.close()

    stream = listen(runtime_on(serve(script)))

    assert TextDelta(text="Bees ") == next(stream)
    with pytest.raises(WebError) as caught:
        next(stream)
    assert "WEB_PROVIDER_ERROR" == caught.value.code


def test_a_sonar_answer_survives_an_improper_end(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        peer.chunk(frame({"choices": [{"delta": {"content": "Bees."}, "finish_reason": "stop"}]}))
        peer.close()

    events = list(listen(runtime_on(serve(script), PerplexitySonarProvider)))

    assert "Bees." == events[-1].result.content


def test_a_compressed_stream_arrives_as_it_is_sent(serve, runtime_on, listen):
    def script(peer):
        packer = zlib.compressobj(wbits=31)

        def send(data: bytes) -> None:
            peer.chunk(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))

        peer.head("transfer-encoding: chunked", "content-encoding: gzip")
        for text in WORDS:
            peer.server.go.acquire()
            send(word(text))
        send(finished(ANSWER))
        peer.chunk(packer.flush())
        peer.end()

    server = serve(script)
    stream = listen(runtime_on(server), timeout=PATIENCE)

    for text in WORDS:
        server.go.release()
        assert TextDelta(text=text) == next(stream)
    assert ANSWER == list(stream)[-1].result.content


def test_a_stream_that_unfolds_without_end_is_refused(serve, runtime_on, listen):
    bomb = gzip.compress((b":" + b" " * 999 + b"\n") * 51_000, 1)

    def script(peer):
        peer.head(f"content-length: {len(bomb)}", "content-encoding: gzip")
        peer.raw(bomb)

    server = serve(script)
    with pytest.raises(WebError) as caught:
        list(listen(runtime_on(server)))

    assert "WEB_PROVIDER_ERROR" == caught.value.code
    assert "larger than" in caught.value.message
    assert server.left_at()


def test_an_event_without_end_is_refused(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        while peer.chunk(b"x" * 500_000):
            pass

    with pytest.raises(WebError, match="longer than") as caught:
        list(listen(runtime_on(serve(script))))

    assert "WEB_PROVIDER_ERROR" == caught.value.code


def test_a_talkative_server_does_not_get_past_the_timeout(serve, runtime_on, listen):
    def script(peer):
        peer.head()
        while peer.chunk(b": ping\n\n" * 100):
            pass

    server = serve(script)
    started = time.monotonic()
    with pytest.raises(WebError) as caught:
        list(listen(runtime_on(server), timeout=0.2))

    assert "WEB_TIMEOUT" == caught.value.code
    assert time.monotonic() - started < 0.2 + SLACK


def test_events_that_all_came_at_once_still_obey_the_timeout(serve, runtime_on, listen):
    stream = listen(runtime_on(serve(talking)), timeout=0.2)

    with pytest.raises(WebError) as caught:
        list(stream)

    assert "WEB_TIMEOUT" == caught.value.code
