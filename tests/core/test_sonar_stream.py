import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    PerplexitySonarProvider,
    Progress,
    ProviderError,
    SourcesFound,
    TextDelta,
    TransportError,
    UsageReported,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web.flow import OpenStream, Sleep
from tests.core.perplexity import KEY, page, sonar_body
from tests.core.test_agent_stream import JSON, check
from tests.flows import Heard, frames, play, play_stream, reply, sent_json, stream_head

URLS = ["https://site1.example/", "https://site2.example/"]
ANSWER = "Bees dance.[2]"


def result_entry(number: int, **fields: object) -> dict[str, Any]:
    entry = page(number, **fields)
    del entry["id"]
    return entry


LISTS = {"citations": URLS, "search_results": [result_entry(1), result_entry(2)]}


def listen(*pieces: Any, fields: dict[str, Any] | None = None, **how: Any) -> Heard:
    request = WebSearchRequest(query="q", **(fields or {}))
    return play_stream(PerplexitySonarProvider(api_key=KEY).stream_flow(request), *pieces, **how)


def unstreamed(body: dict[str, Any], **fields: Any) -> WebSearchResult:
    provider = PerplexitySonarProvider(api_key=KEY)
    _, result = play(provider.search_flow(WebSearchRequest(query="q", **fields)), reply(body))
    return result


def usage(tokens: int, **fields: object) -> dict[str, Any]:
    counts = {"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": 5 + tokens}
    return {**counts, "search_context_size": "low", **fields}


def chunk(
    delta: object = None, so_far: object = None, finish: str | None = None, **fields: object
) -> dict[str, Any]:
    """Return one frame; `delta` and `so_far` are left out when None."""
    choice: dict[str, Any] = {"index": 0}
    if so_far is not None:
        choice["message"] = {"role": "assistant", "content": so_far}
    if delta is not None:
        choice["delta"] = {"role": "assistant", "content": delta}
    if finish is not None:
        choice["finish_reason"] = finish
    head = {"id": "chat-1", "model": "sonar", "object": "chat.completion.chunk"}
    return {**head, "choices": [choice], **fields}


RUN = [
    chunk("Bees", "Bees", usage=usage(1), **LISTS),
    chunk(" dance.", "Bees dance.", usage=usage(2), **LISTS),
    chunk("[2]", ANSWER, usage=usage(3), **LISTS),
    chunk(
        "",
        ANSWER,
        "stop",
        object="chat.completion.done",
        usage=usage(3, cost={"total_cost": 0.25}),
        **LISTS,
    ),
]
BODY = sonar_body(ANSWER, usage=usage(3, cost={"total_cost": 0.25}), **LISTS)


def test_the_request_asks_for_a_stream_and_is_else_the_same():
    (opened,) = listen(frames(*RUN)).steps
    steps, _ = play(
        PerplexitySonarProvider(api_key=KEY).search_flow(WebSearchRequest(query="q")), reply(BODY)
    )

    assert isinstance(opened, OpenStream)
    assert {**sent_json(steps[0]), "stream": True} == sent_json(opened.request)


def test_a_frame_brings_sources_text_and_usage():
    heard = listen(frames(*RUN))

    assert [SourcesFound, TextDelta, UsageReported] == [type(e) for e in heard.events[:3]]
    assert ["Bees", " dance.", "[2]"] == [event.text for event in heard.of(TextDelta)]
    assert [6, 7, 8, 8] == [e.usage.total_tokens for e in heard.of(UsageReported)]


def test_the_result_is_that_of_the_unstreamed_answer():
    assert unstreamed(BODY) == listen(frames(*RUN)).result


def test_repeated_fields_do_not_pile_up_in_the_raw_body():
    raw = listen(frames(*RUN), fields={"include_raw": True}).result.raw

    assert "low" == raw["usage"]["search_context_size"]
    assert (LISTS["search_results"], "chat-1") == (raw["search_results"], raw["id"])
    assert listen(frames(*RUN)).result.raw is None


def test_each_source_is_told_once():
    grown = {"citations": [*URLS, URLS[0], "https://site3.example/"]}
    heard = listen(frames(chunk("a", citations=URLS), chunk("b", finish="stop", **grown)))

    assert [[*URLS], ["https://site3.example/"]] == [
        [source.url for source in event.sources] for event in heard.of(SourcesFound)
    ]
    assert grown["citations"] == [source.url for source in heard.result.sources]


def test_an_address_that_is_listed_twice_is_told_once():
    heard = listen(frames(chunk("a", finish="stop", citations=[URLS[0], URLS[1], URLS[0]])))

    assert [URLS] == [[source.url for source in e.sources] for e in heard.of(SourcesFound)]


def test_lists_that_come_late_or_only_once_count():
    late = listen(frames(chunk("a"), chunk("", finish="stop", **LISTS)))
    once = listen(frames(chunk("a", **LISTS), chunk("", finish="stop", citations=[])))

    assert late.result.sources == once.result.sources == unstreamed(BODY).sources


def test_annotations_of_a_gateway_are_sources():
    note = {"type": "url_citation", "url_citation": {"url": URLS[0], "title": "One"}}
    first = chunk("a")
    first["choices"][0]["delta"]["annotations"] = [note]
    heard = listen(frames(first, chunk("", finish="stop")))

    assert [(URLS[0], "One")] == [(s.url, s.title) for s in heard.result.sources]
    assert heard.of(SourcesFound)[0].sources == heard.result.sources


@pytest.mark.parametrize("empty", [{}, {"delta": None}, {"delta": {}}, {"delta": {"content": ""}}])
@pytest.mark.parametrize("is_last", [False, True])
def test_a_cumulative_message_alone_is_enough(empty, is_last):
    payloads = [chunk(None, "Bees"), chunk(None, "Bees dance."), chunk(None, ANSWER)]
    for payload in payloads[2:] if is_last else payloads:
        payload["choices"][0].update(empty)
    heard = listen(frames(*payloads, chunk(None, ANSWER, "stop")))

    assert ANSWER == heard.text == heard.result.content


def test_a_cumulative_message_is_told_as_it_grows():
    heard = listen(frames(chunk(None, "Bees"), chunk(None, ANSWER, "stop")))

    assert ["Bees", " dance.[2]"] == [event.text for event in heard.of(TextDelta)]


def test_deltas_count_when_both_forms_come():
    assert "HiHi" == listen(frames(chunk("Hi", "Hi"), chunk("Hi", "HiHi", "stop"))).text


def test_a_message_that_contradicts_the_deltas_is_noted():
    heard = listen(frames(chunk("Bees"), chunk("", "Wasps", "stop")))

    assert "Bees" == heard.text == heard.result.content
    assert ("the final answer differs from what was streamed; the latter is kept",) == (
        heard.result.warnings
    )


def test_text_in_the_last_frame_counts():
    assert "Bees dance." == listen(frames(chunk("Bees"), chunk(" dance.", finish="stop"))).text


def test_content_in_typed_parts_is_text():
    parts = [{"type": "text", "text": "Be"}, {"type": "text", "text": "es"}]

    assert "Bees" == listen(frames(chunk(parts), chunk("", finish="stop"))).text


def test_usage_may_come_after_the_finish_reason():
    heard = listen(frames(chunk("a", finish="stop"), {"choices": [], "usage": usage(7)}, "[DONE]"))

    assert 12 == heard.result.usage.total_tokens == heard.of(UsageReported)[-1].usage.total_tokens


def test_usage_that_does_not_change_is_told_once():
    heard = listen(frames(chunk("a", usage=usage(1)), chunk("b", finish="stop", usage=usage(1))))

    assert 1 == len(heard.of(UsageReported))


def test_an_answer_cut_at_the_token_limit_says_so():
    heard = listen(frames(chunk("Bees", finish="length")))

    assert ("length", ("the answer was cut at the token limit",)) == (
        heard.result.finish_reason,
        heard.result.warnings,
    )


def test_the_concise_form_is_put_together():
    step = {
        "thought": "Look it up.",
        "type": "web_search",
        "web_search": {"search_keywords": ["bees"], "search_results": []},
    }
    thinking = chunk("", "", object="chat.reasoning", type="message")
    thinking["choices"][0]["delta"]["reasoning_steps"] = [step, {"thought": "Hm."}]
    thought = chunk("", "", object="chat.reasoning.done", **LISTS)
    thought["choices"][0]["message"]["reasoning_steps"] = [step]
    done = chunk("", ANSWER, "stop", object="chat.completion.done", usage=usage(3), **LISTS)
    heard = listen(frames(thinking, thought, chunk("Bees", ""), chunk(" dance.", ""), done))

    assert [("searching", ("bees",), "Look it up."), ("reasoning", (), "Hm.")] == [
        (event.stage, event.queries, event.note) for event in heard.of(Progress)
    ]
    assert ["Bees", " dance.", "[2]"] == [event.text for event in heard.of(TextDelta)]
    assert (ANSWER, 2) == (heard.result.content, len(heard.result.sources))
    assert () == heard.result.warnings


# -- ways to end -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        [chunk("", finish="stop")],
        [chunk("", finish="stop"), "[DONE]"],
        ["[DONE]"],
        [" [DONE] "],
        [chunk("", finish="stop", object="chat.completion.done")],
    ],
    ids=["finish_reason", "both", "done", "padded", "done frame"],
)
def test_each_terminator_completes_the_answer(end):
    assert "Bees" == listen(frames(chunk("Bees"), *end)).result.content


@pytest.mark.parametrize("finish", ["", None])
def test_an_empty_finish_reason_ends_nothing(finish):
    payload = chunk("Bees")
    payload["choices"][0]["finish_reason"] = finish

    heard = listen(frames(payload))

    assert ("Bees", "Perplexity ended the stream before the answer was complete", True) == (
        heard.text,
        heard.error.message,
        heard.error.retryable,
    )


@pytest.mark.parametrize("end", ["[DONE]", RUN[-1]], ids=["done", "done frame"])
def test_nothing_after_the_end_counts_however_it_arrives(end):
    tail = frames({"error": "late"}, "{", chunk("late"))

    assert "Bees" == listen(frames(chunk("Bees"), "[DONE]") + tail).text
    assert unstreamed(BODY) == listen(frames(*RUN[:-1], RUN[-1]) + tail).result
    assert listen(frames(*RUN, end) + tail).events == listen(frames(*RUN, end), tail).events


def test_nothing_is_read_after_the_end():
    provider = PerplexitySonarProvider(api_key=KEY)
    flow = provider.stream_flow(WebSearchRequest(query="q"))

    assert play_stream(flow, frames(*RUN), AssertionError("read on")).error is None


def test_a_connection_that_breaks_after_the_finish_reason_takes_nothing_away():
    heard = listen(frames(chunk("Bees", finish="stop")), TransportError("reset by peer"))

    assert "Bees" == heard.result.content


def test_a_connection_that_breaks_before_it_is_an_error():
    heard = listen(frames(chunk("Bees")), TransportError("reset by peer"))

    assert ("Bees", "Perplexity search request failed: reset by peer") == (
        heard.text,
        heard.error.message,
    )


@pytest.mark.parametrize(
    ("payload", "message", "status"),
    [
        ({"error": {"message": "over quota", "type": "t", "code": 429}}, "over quota", 429),
        ({"error": {"message": "over quota", "code": "429"}}, "over quota", 200),
        ({"error": {"type": "quota"}}, "quota", 200),
        ({"error": "over quota"}, "over quota", 200),
        ({"type": "error", "message": "over quota"}, "over quota", 200),
        ({"detail": "over quota"}, "over quota", 200),
        ({"message": "over quota"}, "over quota", 200),
        ({"error": True}, "Perplexity reported an error in the stream", 200),
        ({"error": {"message": "over quota"}, "choices": []}, "over quota", 200),
        (
            chunk("", finish="error", error={"message": "over quota", "code": 502}),
            "over quota",
            502,
        ),
    ],
    ids=str,
)
def test_an_error_envelope_is_an_error_whatever_follows(payload, message, status):
    heard = listen(frames(chunk("Half an "), payload, "[DONE]"))

    assert "Half an " == heard.text
    assert isinstance(heard.error, ProviderError)
    assert (message, status) == (heard.error.message, heard.error.status_code)


def test_an_event_named_error_is_an_error():
    heard = listen(frames(chunk("Bees")) + b"event: error\ndata: upstream gone\n\n")

    assert ("Bees", "upstream gone") == (heard.text, heard.error.message)


@pytest.mark.parametrize("nothing", [{"error": None}, {"error": ""}, {"error": {}}, {"x": 1}, {}])
def test_a_frame_without_anything_says_nothing(nothing):
    assert unstreamed(BODY) == listen(frames(nothing, *RUN)).result


@pytest.mark.parametrize("bad", ["{", "[]", "5", "null", "nonsense"])
def test_a_frame_that_cannot_be_read_ends_the_stream(bad):
    heard = listen(frames(chunk("Bees"), bad, *RUN))

    assert ("Bees", "WEB_PROVIDER_ERROR") == (heard.text, heard.error.code)
    assert "a stream frame cannot be read" in heard.error.message


def test_a_stream_that_completes_without_saying_anything_is_empty():
    heard = listen(frames("[DONE]"))

    assert ([], None) == (heard.events, heard.result.content)


def test_a_retired_endpoint_says_what_to_use_instead():
    error = {"message": "Gone.", "type": "chat_completions_not_available", "code": 403}
    in_stream = listen(frames({"error": error}))
    before = listen(
        json.dumps({"error": error}).encode(), head=stream_head(403, "application/json")
    )

    assert in_stream.error.message == before.error.message
    assert 403 == in_stream.error.status_code == before.error.status_code
    assert "'perplexity'" in before.error.message


# -- before the first byte ---------------------------------------------------------------------


def test_a_retryable_status_before_the_first_byte_is_tried_again():
    busy = stream_head(429, "application/json", retry_after_ms="1500")
    heard = listen(frames(*RUN), before=(busy, True))

    assert [OpenStream, Sleep(1.5), OpenStream] == [
        step if isinstance(step, Sleep) else type(step) for step in heard.steps
    ]
    assert unstreamed(BODY) == heard.result


def test_a_wait_beyond_the_calls_time_ends_in_the_typed_error():
    busy = stream_head(429, "application/json", retry_after="30")
    heard = listen(b'{"error":{"message":"later"}}', before=(busy, False))

    assert ("later", 429, 30.0) == (
        heard.error.message,
        heard.error.status_code,
        heard.error.retry_after,
    )


def test_nothing_is_tried_again_after_the_first_byte():
    broken = TransportError("gone", is_connect_failure=True)

    assert 1 == len(listen(frames(chunk("Bees")), broken).steps)


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_is_never_followed(status):
    heard = listen(head=stream_head(status, location="https://elsewhere.example/"))

    assert (f"redirect (HTTP {status})" in heard.error.message, 1) == (True, len(heard.steps))


def test_an_answer_in_one_piece_is_told_as_a_stream():
    heard = listen(json.dumps(BODY).encode(), head=stream_head(kind="application/json"))

    assert unstreamed(BODY) == heard.result
    assert [SourcesFound, TextDelta, UsageReported] == [type(event) for event in heard.events]


def test_an_error_envelope_in_one_piece_is_an_error():
    body = json.dumps({"error": {"message": "over quota", "code": 402}}).encode()
    heard = listen(body, head=stream_head(kind="application/json"))

    assert ("over quota", 402) == (heard.error.message, heard.error.status_code)


def test_a_key_in_a_frame_is_masked_everywhere():
    leak = f"Your key is {KEY}."
    lists = {"search_results": [result_entry(1, title=leak)]}
    heard = listen(
        frames(chunk(leak, leak, "stop", id=leak, **lists)), fields={"include_raw": True}
    )

    assert "Your key is [masked]." == heard.text == heard.result.content
    assert KEY not in repr(heard.events) + repr(heard.result)


# -- anything ----------------------------------------------------------------------------------

FIELDS = ["choices", "citations", "search_results", "usage", "error", "object", "id", "model"]
INNER = ["delta", "message", "finish_reason"]


@st.composite
def mutated(draw: st.DrawFn) -> list[dict[str, Any]]:
    payloads = draw(st.lists(st.sampled_from(RUN), max_size=12))
    payloads += draw(st.sampled_from([[], RUN[-1:], RUN]))
    for _ in range(draw(st.integers(0, 3))):
        if not payloads:
            break
        position = draw(st.integers(0, len(payloads) - 1))
        payload = payloads[position]
        choices = payload.get("choices")
        if draw(st.booleans()) and isinstance(choices, list) and choices:
            inner = choices[0] if isinstance(choices[0], dict) else {}
            change = {draw(st.sampled_from(INNER)): draw(JSON)}
            payloads[position] = {**payload, "choices": [{**inner, **change}]}
        else:
            payloads[position] = {**payload, draw(st.sampled_from(FIELDS)): draw(JSON)}
    return payloads


@given(mutated())
def test_mutated_frames_give_a_result_that_fits_its_deltas_or_the_typed_error(payloads):
    check(listen(frames(*payloads)))


@given(st.integers(0, 2500), st.binary(max_size=3), st.integers(0, 2500))
def test_damaged_bytes_give_the_same_however_they_are_cut(at, junk, cut):
    body = frames(*RUN)
    body = body[:at] + junk + body[at + len(junk) :]

    whole, pieces = listen(body), listen(body[:cut], body[cut:])

    check(whole)
    assert (whole.events, whole.result) == (pieces.events, pieces.result)
