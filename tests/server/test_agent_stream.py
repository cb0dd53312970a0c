"""The Agent API's event streams, live, in the background and taken up again."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from perplexity import AsyncPerplexity, Perplexity

from dsh_web.server import LoopbackServer, StreamStyle

from .events import QUESTION, agent, read

TIDES = "https://energy.example/articles/tides"


def test_a_fast_run_has_the_order_that_was_captured(client: httpx.Client) -> None:
    seen = agent(client)

    order = [kind for kind in seen.types if kind != "response.output_text.delta"]
    assert order == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning.search_queries",
        "response.reasoning.search_results",
        "response.output_item.done",
        "response.output_item.added",
        "response.output_text.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert seen.raw.startswith(b'data: {"type":"response.created"')
    assert seen.raw.endswith(b"}\n\n")
    assert seen.raw.count(b"\n\n") == len(seen.payloads)
    assert b"\r" not in seen.raw
    assert b"event:" not in seen.raw
    assert b"[DONE]" not in seen.raw


def test_snapshots_have_all_keys_and_the_preset_name_until_the_end(client: httpx.Client) -> None:
    seen = agent(client)

    created, in_progress = seen.payloads[0]["response"], seen.payloads[1]["response"]
    final = seen.payloads[-1]["response"]
    assert created == in_progress
    assert (created["status"], created["model"]) == ("in_progress", "fast")
    assert (created["output"], created["usage"]) == ([], None)
    assert (final["status"], final["model"]) == ("completed", "openai/gpt-6-luna")
    assert set(created) == set(final)
    assert len(final) == 32
    assert final["usage"]["total_tokens"] > 0


def test_sequence_numbers_rise_with_gaps(client: httpx.Client) -> None:
    numbers = [payload["sequence_number"] for payload in agent(client).payloads]

    assert numbers[:4] == [0, 1, 3, 4]
    assert numbers == sorted(set(numbers))
    assert numbers[-3] - numbers[-4] == 2


def test_a_search_shows_as_a_call_and_then_as_its_results(client: httpx.Client) -> None:
    seen = agent(client)

    call, message = seen.of("response.output_item.added")
    results, whole = seen.of("response.output_item.done")
    assert call["item"]["type"] == "function_call"
    assert call["item"]["name"] == "search_web"
    assert QUESTION in call["item"]["arguments"]
    assert results["item"]["type"] == "search_results"
    assert call["output_index"] == results["output_index"] == 0
    (found,) = seen.of("response.reasoning.search_results")
    (queries,) = seen.of("response.reasoning.search_queries")
    assert found["results"] == results["item"]["results"]
    assert queries["queries"] == [QUESTION]
    assert queries["call_id"] == found["call_id"] == call["item"]["call_id"]
    assert message["item"]["content"] is None
    assert message["item"]["status"] == "completed"
    assert message["output_index"] == whole["output_index"] == 1


@pytest.mark.parametrize(
    ("preset", "torn"), [("fast", [".[", "1", "]"]), ("low", [" [", "web", ":", "1", "]"])]
)
def test_markers_are_torn_apart(client: httpx.Client, preset: str, torn: list[str]) -> None:
    seen = agent(client, preset=preset)

    deltas = [payload["delta"] for payload in seen.of("response.output_text.delta")]
    assert any(deltas[at : at + len(torn)] == torn for at in range(len(deltas)))
    (done,) = seen.of("response.output_text.done")
    assert (
        seen.text
        == done["text"]
        == seen.payloads[-1]["response"]["output"][-1]["content"][0]["text"]
    )


def test_several_searches_happen_in_order_and_are_placed_out_of_order(
    corpus: Path, connect: Any
) -> None:
    tool = {"type": "web_search", "max_results": 1}
    with LoopbackServer(corpus=corpus) as server:
        seen = agent(connect(server), preset="medium", tools=[tool])

    done = [p for p in seen.of("response.output_item.done") if p["item"]["type"] != "message"]
    assert [p["output_index"] for p in done] == [1, 0, 2]
    assert [p["item"]["results"][0]["id"] for p in done] == [1, 11, 21]
    calls = {p["call_id"] for p in seen.of("response.reasoning.search_queries")}
    assert len(calls) == 3
    output = seen.payloads[-1]["response"]["output"]
    assert [output[p["output_index"]] for p in done] == [p["item"] for p in done]


def test_a_fetch_names_its_pages(client: httpx.Client) -> None:
    seen = agent(
        client,
        preset="low",
        input=f"Summarise {TIDES} please.",
        tools=[{"type": "fetch_url"}],
    )

    (queries,) = seen.of("response.reasoning.fetch_url_queries")
    (results,) = seen.of("response.reasoning.fetch_url_results")
    assert queries["urls"] == [TIDES]
    assert results["contents"][0]["url"] == TIDES
    assert seen.of("response.output_item.added")[0]["item"]["name"] == "fetch_url"
    assert "[web:0]" in seen.text


def test_other_tools_have_events_too(client: httpx.Client) -> None:
    tools = [{"type": kind} for kind in ("finance_search", "image_search", "sandbox")]

    seen = agent(client, preset=None, model="openai/gpt-6-luna", tools=tools, max_steps=2)

    assert seen.of("response.skill.loaded")[0]["name"] == "finance"
    assert seen.of("response.reasoning.image_search_results")[0]["results"] == []
    done = [p["item"]["type"] for p in seen.of("response.output_item.done")]
    output = seen.payloads[-1]["response"]["output"]
    assert done == [item["type"] for item in output]
    assert "share_file" in done


def test_a_declared_function_is_announced(client: httpx.Client) -> None:
    tool = {"type": "function", "name": "look_up"}

    seen = agent(client, tools=[tool], tool_choice={"name": "look_up"})

    (added,) = seen.of("response.output_item.added")
    (done,) = seen.of("response.output_item.done")
    assert added["item"] == done["item"]
    assert done["item"]["name"] == "look_up"


@pytest.mark.parametrize("is_wanted", [True, False, None])
def test_usage_can_be_left_out(client: httpx.Client, is_wanted: bool | None) -> None:
    seen = agent(client, stream_options={"include_usage": is_wanted})

    assert (seen.payloads[-1]["response"]["usage"] is None) == (is_wanted is False)


@pytest.mark.parametrize("cap", [16, 20])
def test_a_cap_ends_the_stream_as_incomplete(client: httpx.Client, cap: int) -> None:
    seen = agent(client, max_output_tokens=cap)

    assert seen.types[-1] == "response.incomplete"
    assert seen.payloads[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert bool(seen.text) == (cap == 20)


def test_a_schema_that_cannot_be_filled_fails_the_stream(client: httpx.Client) -> None:
    schema = {"type": "object", "required": ["a"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}

    seen = agent(client, response_format=wanted)

    assert seen.types[-1] == "response.failed"
    assert seen.payloads[-1]["error"]["code"] == "upstream_structured_output_failed"
    assert "response" not in seen.payloads[-1]


@pytest.mark.parametrize("terminal", ["completed", "failed", "incomplete", "cancelled"])
def test_every_terminal_can_be_asked_for(client: httpx.Client, terminal: str) -> None:
    whole = agent(client).text

    seen = agent(client, f"sse-terminal={terminal}")

    assert seen.types[-1] == f"response.{terminal}"
    terminals = {f"response.{kind}" for kind in ("completed", "failed", "incomplete", "cancelled")}
    assert len(terminals & set(seen.types)) == 1
    last = seen.payloads[-1]
    if terminal == "failed":
        assert isinstance(last["error"]["code"], str)
    else:
        assert last["response"]["status"] == terminal
    assert (len(seen.text) < len(whole)) == (terminal != "completed")
    assert whole.startswith(seen.text)


def test_a_terminal_holds_for_plain_answers_too(client: httpx.Client) -> None:
    headers = {"x-loopback-fault": "sse-terminal=failed"}

    answer = client.post("/v1/agent", json={"preset": "fast", "input": "x"}, headers=headers)

    assert answer.status_code == 200
    assert answer.json()["status"] == "failed"
    assert isinstance(answer.json()["error"]["code"], str)


def test_a_transport_error_is_a_payload_or_a_named_event(client: httpx.Client) -> None:
    plain, named = agent(client, "sse-terminal=error"), agent(client, "sse-terminal=error-event")

    assert plain.types[-1] == "error"
    assert plain.names[-1] == ""
    assert plain.payloads[-1]["sequence_number"] > 0
    assert named.names[-1] == "error"
    assert set(named.payloads[-1]) == {"error"}
    assert not plain.of("response.output_text.done")


def test_a_terminal_can_be_missing(client: httpx.Client) -> None:
    seen = agent(client, "sse-terminal=none")

    assert seen.types[-1] == "response.output_item.done"


def test_a_streamed_run_can_be_read_and_continued(client: httpx.Client) -> None:
    final = agent(client).payloads[-1]["response"]

    assert client.get(f"/v1/agent/{final['id']}").json() == final
    assert agent(client, previous_response_id=final["id"]).types[-1] == "response.completed"


def test_a_stream_can_be_cancelled_by_its_id(client: httpx.Client, connect: Any) -> None:
    other = connect(client.base_url and _Target(client))
    headers = {"x-loopback-fault": "chunk-delay=0.02"}
    body = {"preset": "fast", "input": QUESTION, "stream": True}
    raw = b""
    with client.stream("POST", "/v1/agent", json=body, headers=headers) as answer:
        for piece in answer.iter_raw():
            if not raw:
                id_ = read(piece).payloads[0]["response"]["id"]
                assert other.get(f"/v1/agent/{id_}").json()["status"] == "in_progress"
                assert other.post(f"/v1/agent/{id_}/cancel").json()["status"] == "cancelling"
            raw += piece

    seen = read(raw)
    assert seen.types[-1] == "response.cancelled"
    assert seen.payloads[-1]["response"]["status"] == "cancelled"
    assert len(seen.payloads) < 10


class _Target:
    """The address and key of the server that a client speaks to."""

    def __init__(self, client: httpx.Client) -> None:
        self.url = str(client.base_url).rstrip("/")
        self.api_key = client.headers["authorization"].partition(" ")[2]


# Background streams.


@pytest.fixture
def slow(corpus: Path, connect: Any) -> Any:
    with LoopbackServer(corpus=corpus, background_seconds=0.3, resume_seconds=0.3) as server:
        yield connect(server)


def test_a_background_stream_takes_its_time_and_can_be_taken_up_again(slow: httpx.Client) -> None:
    started = time.monotonic()
    seen = agent(slow, background=True)
    passed = time.monotonic() - started
    id_ = seen.payloads[0]["response"]["id"]
    middle = seen.payloads[7]["sequence_number"]

    rest = slow.get(f"/responses/{id_}", params={"stream": "true", "starting_after": middle})

    assert 0.25 < passed < 2
    assert seen.payloads[0]["response"]["background"] is True
    assert read(rest.content).payloads == seen.payloads[8:]
    assert seen.raw.endswith(rest.content)


def test_a_queued_run_can_be_followed_and_the_end_is_empty(slow: httpx.Client) -> None:
    queued = slow.post(
        "/v1/agent", json={"preset": "fast", "input": QUESTION, "background": True}
    ).json()
    path = f"/v1/agent/{queued['id']}"

    followed = read(slow.get(path, params={"stream": "true", "starting_after": 0}).content)
    last = followed.payloads[-1]["sequence_number"]
    end = slow.get(path, params={"stream": "true", "starting_after": last})

    assert followed.types[0] == "response.in_progress"
    assert followed.types[-1] == "response.completed"
    assert slow.get(path).json() == followed.payloads[-1]["response"]
    assert (end.status_code, end.content) == (200, b"")


def test_leaving_a_background_stream_does_not_stop_the_run(slow: httpx.Client) -> None:
    body = {"preset": "fast", "input": QUESTION, "background": True, "stream": True}
    with slow.stream("POST", "/v1/agent", json=body) as answer:
        id_ = read(next(answer.iter_raw())).payloads[0]["response"]["id"]

    statuses = {"queued", "in_progress"}
    while (run := slow.get(f"/v1/agent/{id_}").json())["status"] in statuses:
        time.sleep(0.01)
    assert run["status"] == "completed"


def test_cancelling_a_background_run_ends_its_streams(slow: httpx.Client, connect: Any) -> None:
    body = {"preset": "fast", "input": QUESTION, "background": True, "stream": True}
    raw = b""
    with slow.stream("POST", "/v1/agent", json=body) as answer:
        for piece in answer.iter_raw():
            if not raw:
                id_ = read(piece).payloads[0]["response"]["id"]
                connect(_Target(slow)).post(f"/v1/agent/{id_}/cancel")
            raw += piece
    again = slow.get(f"/v1/agent/{id_}", params={"stream": "true", "starting_after": 0})

    seen = read(raw)
    assert seen.types[-1] == "response.cancelled"
    assert read(again.content).payloads == seen.payloads[1:]


@pytest.mark.parametrize("query", ["", "starting_after=", "starting_after=-1", "starting_after=x"])
def test_a_cursor_is_needed(slow: httpx.Client, query: str) -> None:
    id_ = agent(slow, background=True).payloads[0]["response"]["id"]

    answer = slow.get(f"/v1/agent/{id_}?stream=true&{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "starting_after"


def test_a_cursor_expires_while_the_run_stays(slow: httpx.Client) -> None:
    id_ = agent(slow, background=True).payloads[0]["response"]["id"]
    url = f"/v1/agent/{id_}?stream=true&starting_after=3"
    assert slow.get(url).status_code == 200
    time.sleep(0.35)

    answer = slow.get(url)

    assert answer.status_code == 400
    assert "expired" in answer.json()["error"]["message"]
    assert slow.get(f"/v1/agent/{id_}").json()["status"] == "completed"


def test_only_background_streams_can_be_taken_up_again(client: httpx.Client) -> None:
    id_ = agent(client).payloads[0]["response"]["id"]

    assert client.get(f"/v1/agent/{id_}?stream=true&starting_after=1").status_code == 400
    unknown = f"resp_{uuid.UUID(int=1)}"
    assert client.get(f"/v1/agent/{unknown}?stream=true&starting_after=1").status_code == 404


# The vendor's client.


def test_the_sdk_reads_a_stream(server: LoopbackServer) -> None:
    with (
        Perplexity(api_key=server.api_key, base_url=server.url) as sdk,
        sdk.responses.create(preset="fast", input=QUESTION, stream=True) as stream,
    ):
        events: list[Any] = list(stream)

    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert [e.type for e in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == text
    assert ".[1]" in text


async def test_the_async_sdk_reads_a_stream(corpus: Path) -> None:
    async with (
        LoopbackServer(
            corpus=corpus, stream=StreamStyle(eol="crlf", pieces=3, done=True)
        ) as server,
        AsyncPerplexity(api_key=server.api_key, base_url=server.url) as sdk,
    ):
        stream = await sdk.responses.create(preset="low", input=QUESTION, stream=True)
        events: list[Any] = [event async for event in stream]

    assert events[-1].type == "response.completed"


def test_the_sdk_takes_a_stream_up_again(slow: httpx.Client) -> None:
    target = _Target(slow)
    with Perplexity(api_key=target.api_key, base_url=target.url) as sdk:
        run = sdk.responses.create(preset="fast", input=QUESTION, background=True)
        stream = sdk.responses.retrieve(run.id, stream=True, starting_after=5)
        events: list[Any] = list(stream)

    assert events[0].sequence_number == 6
    assert events[-1].type == "response.completed"


def test_the_sdk_raises_on_an_error_event(server: LoopbackServer) -> None:
    base_url = f"{server.url}/_fault/sse-terminal=error-event"
    with (
        Perplexity(api_key=server.api_key, base_url=base_url) as sdk,
        pytest.raises(Exception, match="broke off"),
    ):
        list(sdk.responses.create(preset="fast", input=QUESTION, stream=True))
