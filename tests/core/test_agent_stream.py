import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    PerplexityAgentProvider,
    Progress,
    ProviderError,
    SourcesFound,
    TextDelta,
    TransportError,
    UsageReported,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web.flow import HttpRequest, OpenStream, Sleep
from tests.core.perplexity import KEY, agent_body, found, page, said
from tests.flows import Heard, frames, play, play_stream, reply, sent_json, stream_head

USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "cost": {"currency": "USD", "total_cost": 0.25},
    "tool_calls_details": {"search_web": {"invocation": 1}},
}


def listen(*pieces: Any, fields: dict[str, Any] | None = None, **how: Any) -> Heard:
    request = WebSearchRequest(query="q", **(fields or {}))
    return play_stream(PerplexityAgentProvider(api_key=KEY).stream_flow(request), *pieces, **how)


def unstreamed(body: dict[str, Any], **fields: Any) -> WebSearchResult:
    provider = PerplexityAgentProvider(api_key=KEY)
    _, result = play(provider.search_flow(WebSearchRequest(query="q", **fields)), reply(body))
    return result


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def delta(text: object, index: int = 1) -> dict[str, Any]:
    return event("output_text.delta", output_index=index, content_index=0, delta=text)


def item_done(item: dict[str, Any], index: int | None = 0) -> dict[str, Any]:
    return event("output_item.done", output_index=index, item=item)


def completed(*items: object, **fields: Any) -> dict[str, Any]:
    return event("completed", response=agent_body(*items, **fields))


RESULTS = found(page(1), page(2))
ANSWER = "Bees dance.[2]"
OPENING = event("created", response=agent_body(status="in_progress", model="fast", usage=None))
BODY = agent_body(RESULTS, said(ANSWER), usage=USAGE)
CALL = {"type": "function_call", "id": "fc_1", "name": "search_web", "arguments": "{}"}


def numbered(*payloads: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the payloads with sequence numbers that have gaps, as the service sends them."""
    return [{**p, "sequence_number": n + n // 3} for n, p in enumerate(payloads)]


RUN = numbered(
    OPENING,
    event("in_progress", response=agent_body(status="in_progress")),
    event("output_item.added", output_index=0, item=CALL),
    event("reasoning.search_queries", call_id="c", queries=["bees"], thought="Searching..."),
    event("reasoning.search_results", call_id="c", results=RESULTS["results"], thought="Found 2"),
    item_done(RESULTS),
    event(
        "output_item.added", output_index=1, item={"type": "message", "content": None, "id": "m"}
    ),
    delta("Bees"),
    delta(" dance.["),
    delta("2"),
    delta("]"),
    event("output_text.done", output_index=1, content_index=0, text=ANSWER),
    item_done(said(ANSWER), index=1),
    event("completed", response=BODY),
)


def test_the_request_asks_for_a_stream_and_is_else_the_same():
    (opened,) = listen(frames(*RUN)).steps
    steps, _ = play(
        PerplexityAgentProvider(api_key=KEY).search_flow(WebSearchRequest(query="q")), reply(BODY)
    )

    assert isinstance(opened, OpenStream)
    assert {**sent_json(steps[0]), "stream": True} == sent_json(opened.request)
    assert "text/event-stream" == opened.request.headers["accept"]
    assert KEY not in repr(opened)


def test_a_run_is_told_in_the_order_in_which_it_becomes_known():
    heard = listen(frames(*RUN))

    assert [Progress, Progress, SourcesFound, *[TextDelta] * 4, UsageReported] == [
        type(event) for event in heard.events
    ]
    assert [("searching", ("bees",), "Searching..."), ("searched", (), "Found 2")] == [
        (event.stage, event.queries, event.note) for event in heard.of(Progress)
    ]
    assert ["Bees", " dance.[", "2", "]"] == [event.text for event in heard.of(TextDelta)]
    assert heard.result is not None
    assert heard.result.sources == heard.of(SourcesFound)[0].sources
    assert heard.result.usage == heard.of(UsageReported)[0].usage


def test_the_result_is_that_of_the_unstreamed_answer():
    assert unstreamed(BODY) == listen(frames(*RUN)).result


def test_the_raw_body_is_kept_only_when_asked_for():
    heard = listen(frames(*RUN), fields={"include_raw": True})

    assert heard.result == unstreamed(BODY, include_raw=True)
    assert listen(frames(*RUN)).result.raw is None


@pytest.mark.parametrize(
    "payloads",
    [
        [delta("All at once.", 0), completed(said("All at once."))],
        [event("output_text.done", text="All at once."), completed()],
        [event("output_text.done", text="All at once."), "[DONE]"],
        [item_done(said("All at once.")), completed()],
        [item_done(said("All at once.")), "[DONE]"],
        [completed(said("All at once."))],
        [completed(said("All", " at once."))],
        [completed(said("All"), RESULTS, said(" at once."))],
        [delta("All at"), completed(said("All at once."))],
        [delta("All at"), item_done(said("All at once.")), event("completed")],
    ],
    ids=str,
)
def test_an_answer_is_told_once_wherever_it_stands(payloads):
    heard = listen(frames(*payloads))

    assert "All at once." == heard.text == heard.result.content


def test_what_was_streamed_stays_when_the_final_answer_differs():
    heard = listen(frames(delta("Streamed."), completed(RESULTS, said("Other."))))

    assert "Streamed." == heard.text == heard.result.content
    assert ("the final answer differs from what was streamed; the latter is kept",) == (
        heard.result.warnings
    )
    assert 2 == len(heard.result.sources)


def test_a_longer_answer_than_its_final_form_stays_whole():
    heard = listen(frames(delta("Bees dance. "), completed(RESULTS, said("Bees dance."))))

    assert "Bees dance. " == heard.text == heard.result.content


@pytest.mark.parametrize("nothing", [None, "", 5, ["x"], {}])
def test_a_delta_without_text_says_nothing(nothing):
    heard = listen(frames(delta(nothing), delta("ok"), completed(said("ok"))))

    assert ["ok"] == [event.text for event in heard.of(TextDelta)]


def test_each_source_is_told_once_in_the_providers_order():
    more = found(page(3), page(2))
    heard = listen(
        frames(
            event("reasoning.search_results", results=RESULTS["results"]),
            item_done(RESULTS, 0),
            event("reasoning.search_results", results=more["results"]),
            item_done(more, 1),
            item_done(said("ok"), 2),
            completed(RESULTS, more, said("ok")),
        )
    )

    told = [source.url for event in heard.of(SourcesFound) for source in event.sources]
    assert ["https://site1.example/", "https://site2.example/", "https://site3.example/"] == told
    assert told == [source.url for source in heard.result.sources]


def test_fetched_pages_are_sources_too():
    contents = [{"url": "https://page.example/", "title": "P", "snippet": "S"}]
    item = {"type": "fetch_url_results", "contents": contents}
    heard = listen(
        frames(
            event("reasoning.fetch_url_queries", urls=["https://page.example/"]),
            event("reasoning.fetch_url_results", contents=contents),
            item_done(item),
            completed(item, said("ok")),
        )
    )

    assert ["fetching", "fetched"] == [event.stage for event in heard.of(Progress)]
    assert ("https://page.example/",) == heard.of(Progress)[0].urls
    assert [("https://page.example/", "page")] == [
        (source.url, source.origin) for event in heard.of(SourcesFound) for source in event.sources
    ]


@pytest.mark.parametrize(
    "payloads",
    [
        [item_done(RESULTS), completed(said("ok"))],
        [event("reasoning.search_results", results=RESULTS["results"]), completed(said("ok"))],
        [item_done(RESULTS), item_done(said("ok"), 1), completed()],
    ],
    ids=["items", "reasoning", "no snapshot"],
)
def test_sources_that_the_snapshot_leaves_out_stay_in_the_result(payloads):
    heard = listen(frames(*payloads))

    assert [(1,), (2,)] == [source.ids for source in heard.result.sources]
    assert "ok" == heard.result.content
    assert () == heard.result.warnings


def test_an_item_may_change_its_type_under_one_index():
    heard = listen(
        frames(
            event("output_item.added", output_index=0, item=CALL),
            item_done(RESULTS, 0),
            item_done(said("ok"), 1),
            "[DONE]",
        )
    )

    assert ("ok", 2) == (heard.result.content, len(heard.result.sources))


def test_items_without_an_index_keep_their_order():
    heard = listen(
        frames(
            item_done(RESULTS, 1),
            item_done(said("a"), None),
            item_done(said("b"), None),
            "[DONE]",
        )
    )

    assert ("ab", 2) == (heard.result.content, len(heard.result.sources))


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        ("reasoning.started", "reasoning"),
        ("reasoning.stopped", "reasoning"),
        ("reasoning.image_search_queries", "searching"),
        ("reasoning.image_search_results", "searched"),
        ("reasoning.finance_search_queries", "searching"),
        ("reasoning.finance_search_results", "searched"),
        ("skill.loaded", "other"),
    ],
)
def test_other_stages_are_progress(kind, stage):
    heard = listen(frames(event(kind, thought="Hm.", results=None), *RUN))

    assert (stage, "Hm.") == (heard.events[0].stage, heard.events[0].note)


@pytest.mark.parametrize(
    "stranger",
    [
        event("unknown"),
        event("content_part.added", part={}),
        {"type": "ping"},
        {"type": ["list"]},
        {"type": 5},
        {},
        "",
        "   ",
    ],
    ids=str,
)
def test_what_is_not_known_is_skipped(stranger):
    assert unstreamed(BODY) == listen(frames(stranger, *RUN)).result


def test_event_names_and_comments_beside_the_payloads_are_tolerated():
    body = b": ping\r\n\r\n" + b"".join(
        f"event: {payload['type']}\r\nid: 1\r\ndata: {json.dumps(payload)}\r\n\r\n".encode()
        for payload in RUN
    )

    assert unstreamed(BODY) == listen(body).result


# -- ways to end -------------------------------------------------------------------------------


def test_an_incomplete_run_is_a_result_that_says_so():
    details = {"reason": "max_output_tokens"}
    body = agent_body(RESULTS, said("Bees"), status="incomplete", incomplete_details=details)
    heard = listen(frames(delta("Bees"), event("incomplete", response=body)))

    assert ("Bees", "length") == (heard.result.content, heard.result.finish_reason)
    assert ("the answer was cut at the token limit",) == heard.result.warnings


@pytest.mark.parametrize("response", [None, {}, {"status": None}, {"output": []}])
def test_an_incomplete_run_without_a_snapshot_is_incomplete_too(response):
    heard = listen(
        frames(OPENING, item_done(RESULTS), delta("Bees"), event("incomplete", response=response))
    )

    assert ("Bees", "length") == (heard.result.content, heard.result.finish_reason)


def test_a_completed_run_whose_snapshot_says_failed_has_failed():
    body = agent_body(status="failed", error={"message": "it broke"})
    heard = listen(frames(delta("Bees"), event("completed", response=body)))

    assert ("it broke", "Bees") == (heard.error.message, heard.text)


@pytest.mark.parametrize(
    ("payload", "message", "status"),
    [
        (event("failed", error={"message": "it broke", "type": "t"}), "it broke", 200),
        (event("failed", error={"message": "it broke", "code": "x"}), "it broke", 200),
        (event("failed", error={"message": "slow down", "code": 429}), "slow down", 429),
        (event("failed", response={"error": {"message": "it broke"}}), "it broke", 200),
        (event("failed"), "the run ended with status 'failed'", 200),
        (event("cancelled"), "the run ended with status 'cancelled'", 200),
        ({"type": "error", "message": "it broke"}, "it broke", 200),
        ({"type": "error", "error": "it broke"}, "it broke", 200),
        ({"type": "error", "error": {"message": "it broke", "code": 503}}, "it broke", 503),
        ({"type": "error", "message": 5}, "Perplexity reported an error in the stream", 200),
        ({"error": {"message": "it broke", "code": 502}}, "it broke", 502),
        ({"error": "it broke"}, "it broke", 200),
    ],
    ids=str,
)
def test_a_failure_is_an_error_after_the_events_that_were_good(payload, message, status):
    body = frames(delta("Bees"), payload, completed(said("Bees")))
    heard = listen(body, head=stream_head(x_request_id="r-1"))

    assert "Bees" == heard.text
    assert isinstance(heard.error, ProviderError)
    assert (message, status, "r-1", status in (429, 502, 503)) == (
        heard.error.message,
        heard.error.status_code,
        heard.error.request_id,
        heard.error.retryable,
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"error":{"message":"it broke"}}', "it broke"),
        ('{"message":"it broke"}', "it broke"),
        ('{"error":"it broke"}', "it broke"),
        ('{"detail":"it broke"}', "it broke"),
        ('{"detail":[{"msg":"it broke"}]}', "it broke"),
        ("it broke", "it broke"),
        ('"it broke"', "it broke"),
        ("[1]", "Perplexity reported an error in the stream"),
        ("{}", "Perplexity reported an error in the stream"),
        ("", "Perplexity reported an error in the stream"),
        ("[DONE]", "[DONE]"),
    ],
)
def test_an_event_named_error_is_an_error_whatever_it_holds(data, message):
    heard = listen(frames(delta("Bees")) + f"event: error\ndata: {data}\n\n".encode())

    assert ("Bees", message) == (heard.text, heard.error.message)


def test_a_stream_without_its_end_is_an_error_that_may_pass():
    heard = listen(frames(*RUN[:-1]))

    assert ANSWER == heard.text
    assert ("WEB_PROVIDER_ERROR", True) == (heard.error.code, heard.error.retryable)
    assert "Perplexity ended the stream before the answer was complete" == heard.error.message


def test_an_empty_stream_is_an_error():
    assert "Perplexity ended the stream before the answer was complete" == listen().error.message


@pytest.mark.parametrize("bad", ["{", "[]", "5", "null", "nonsense", '{"type":"response.'])
def test_a_frame_that_cannot_be_read_ends_the_stream(bad):
    heard = listen(frames(delta("Bees"), bad, *RUN))

    assert "Bees" == heard.text
    assert "WEB_PROVIDER_ERROR" == heard.error.code
    assert "a stream frame cannot be read" in heard.error.message


def test_nothing_after_the_end_counts_however_it_arrives():
    tail = frames({"type": "error", "message": "late"}, "{", delta("late"))

    assert unstreamed(BODY) == listen(frames(*RUN) + tail).result
    assert unstreamed(BODY) == listen(frames(*RUN), tail).result


def test_nothing_is_read_after_the_end():
    flow = PerplexityAgentProvider(api_key=KEY).stream_flow(WebSearchRequest(query="q"))

    heard = play_stream(flow, frames(*RUN), AssertionError("read on"))

    assert heard.error is None


def test_a_connection_that_breaks_mid_stream_is_an_error():
    heard = listen(frames(delta("Bees")), TransportError("reset by peer"))

    assert "Bees" == heard.text
    assert "Perplexity search request failed: reset by peer" == heard.error.message
    assert not heard.error.retryable


# -- before the first byte ---------------------------------------------------------------------


def test_a_retryable_status_before_the_first_byte_is_tried_again():
    busy = stream_head(429, "application/json", retry_after="2")
    heard = listen(frames(*RUN), before=(busy, True))

    assert [OpenStream, Sleep, OpenStream] == [type(step) for step in heard.steps]
    assert Sleep(2.0) == heard.steps[1]
    assert unstreamed(BODY) == heard.result


def test_a_failed_connect_is_tried_again():
    refused = TransportError("refused", is_connect_failure=True)

    assert unstreamed(BODY) == listen(frames(*RUN), before=(refused, True)).result


def test_nothing_is_tried_again_after_the_first_byte():
    broken = TransportError("refused", is_connect_failure=True)

    assert [OpenStream] == [type(s) for s in listen(frames(delta("Bees")), broken).steps]
    assert [OpenStream] == [type(s) for s in listen(broken).steps]


def test_an_http_error_keeps_the_providers_message():
    body = json.dumps({"error": {"message": "Invalid API key.", "type": "invalid_api_key"}})
    head = stream_head(401, "application/json", x_request_id="r-1")
    heard = listen(body[:9].encode(), body[9:].encode(), head=head)

    assert ("Invalid API key.", 401, "r-1") == (
        heard.error.message,
        heard.error.status_code,
        heard.error.request_id,
    )
    assert [] == heard.events


def test_an_error_status_is_an_error_also_when_it_comes_as_a_stream():
    heard = listen(frames(*RUN), head=stream_head(500), before=(stream_head(500), False))

    assert 500 == heard.error.status_code


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(status):
    heard = listen(b"", head=stream_head(status, location="https://elsewhere.example/"))

    assert f"redirect (HTTP {status})" in heard.error.message
    assert 1 == len(heard.steps)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
def test_an_answer_in_one_piece_is_told_as_a_stream(kind):
    text = json.dumps(BODY).encode()
    heard = listen(text[:20], text[20:], head=stream_head(kind=kind))

    assert unstreamed(BODY) == heard.result
    assert [SourcesFound, TextDelta, UsageReported] == [type(event) for event in heard.events]
    assert heard.result.content == heard.text


def test_a_page_for_people_is_no_answer():
    heard = listen(b"<html>Sign in</html>", head=stream_head(kind="text/html; charset=utf-8"))

    assert "unprocessable response body" in heard.error.message


def test_a_missing_content_type_is_read_as_the_stream_that_was_asked_for():
    head = stream_head()
    heard = listen(frames(*RUN), head=type(head)(200, {}))

    assert unstreamed(BODY) == heard.result


# -- the key -----------------------------------------------------------------------------------


def test_a_key_in_a_frame_is_masked_everywhere():
    leak = f"Your key is {KEY}."
    results = found(page(1, title=leak))
    payloads = [
        event("reasoning.started", thought=leak),
        item_done(results),
        delta(leak),
        completed(results, said(leak), usage=USAGE, instructions=leak),
    ]
    heard = listen(frames(*payloads), fields={"include_raw": True})

    assert "Your key is [masked]." == heard.text == heard.result.content
    assert KEY not in repr(heard.events) + repr(heard.result)


@pytest.mark.parametrize(
    "body",
    [
        frames({"type": "error", "message": f"bad key {KEY}"}),
        f"event: error\ndata: bad key {KEY}\n\n".encode(),
        frames(f"{KEY} is not JSON"),
        frames(json.dumps({"type": "error", "message": f"bad key {KEY}"}).replace("-", "\\u002d")),
    ],
)
def test_a_key_in_an_error_is_masked(body):
    heard = listen(body)

    assert heard.error is not None
    assert KEY not in repr(heard.error) + str(heard.error) + repr(heard.error.__cause__)


# -- anything ----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "delta", "response", "item", "results", "error", "text", "url"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=5,
)
FIELDS = [
    "type",
    "delta",
    "response",
    "item",
    "output_index",
    "results",
    "text",
    "queries",
    "error",
]


@st.composite
def mutated(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return the run with frames dropped, repeated, swapped, and fields of any value."""
    payloads = draw(st.lists(st.sampled_from(RUN), max_size=20))
    payloads += draw(st.sampled_from([[], RUN[-1:], RUN]))
    for _ in range(draw(st.integers(0, 3))):
        if payloads:
            position = draw(st.integers(0, len(payloads) - 1))
            change = {draw(st.sampled_from(FIELDS)): draw(JSON)}
            payloads[position] = {**payloads[position], **change}
    return payloads


def check(heard: Heard) -> None:
    if heard.error is not None:
        assert "WEB_PROVIDER_ERROR" == heard.error.code
    else:
        assert heard.text == (heard.result.content or "")


@given(mutated())
def test_mutated_frames_give_a_result_that_fits_its_deltas_or_the_typed_error(payloads):
    check(listen(frames(*payloads)))


@given(st.integers(0, 5000), st.binary(max_size=3), st.integers(0, 5000))
def test_damaged_bytes_give_a_result_that_fits_its_deltas_or_the_typed_error(at, junk, cut):
    body = frames(*RUN)
    body = body[:at] + junk + body[at + len(junk) :]

    whole, pieces, bytewise = (
        listen(body),
        listen(body[:cut], body[cut:]),
        listen(*(bytes([byte]) for byte in body)),
    )

    check(whole)
    assert (whole.events, whole.result) == (pieces.events, pieces.result)
    assert (whole.events, whole.result) == (bytewise.events, bytewise.result)


@given(st.integers(0, 5000))
def test_a_truncated_stream_is_an_error_or_complete(length):
    heard = listen(frames(*RUN)[:length])

    check(heard)
    if heard.result is not None:
        assert unstreamed(BODY) == heard.result


def test_the_flow_needs_nothing_but_its_steps():
    (opened,) = listen(frames(*RUN)).steps

    assert isinstance(opened.request, HttpRequest)
    assert opened.request.max_bytes > HttpRequest("POST", "https://a.example").max_bytes
