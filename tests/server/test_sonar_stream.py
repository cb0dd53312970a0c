"""The frames of the legacy chat completions in their two modes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from perplexity import AsyncPerplexity, Perplexity

from dsh_web.server import LoopbackServer, StreamStyle

from .events import QUESTION, sonar


@pytest.fixture(scope="module")
def legacy_server(corpus: Path) -> Iterator[LoopbackServer]:
    with LoopbackServer(corpus=corpus, sonar="legacy") as server:
        yield server


@pytest.fixture
def legacy(legacy_server: LoopbackServer, connect: Any) -> httpx.Client:
    client: httpx.Client = connect(legacy_server)
    return client


def test_full_mode_is_written_as_it_was_recorded(legacy: httpx.Client) -> None:
    seen = sonar(legacy)

    assert seen.raw.startswith(b": ping - 2")
    assert seen.raw.endswith(b"}\r\n\r\n")
    assert seen.raw.replace(b"\r\n", b"").count(b"\n") == 0
    assert seen.raw.count(b"\r\n\r\n") == len(seen.payloads) + 1
    assert b"[DONE]" not in seen.raw
    assert set(seen.names) == {""}
    assert len(seen.comments) == 1


def test_full_mode_repeats_everything_and_adds_up(legacy: httpx.Client) -> None:
    *interim, last = sonar(legacy).payloads

    text = ""
    for frame in interim:
        choice = frame["choices"][0]
        text += choice["delta"]["content"]
        assert frame["object"] == "chat.completion.chunk"
        assert choice["message"] == {"role": "assistant", "content": text}
        assert "finish_reason" not in choice
        assert frame["usage"]["cost"] == {
            "input_tokens_cost": 0,
            "output_tokens_cost": 0,
            "total_cost": 0,
        }
    assert last["object"] == "chat.completion.done"
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["choices"][0]["delta"]["content"] == ""
    assert last["choices"][0]["message"]["content"] == text
    assert last["usage"]["cost"]["total_cost"] > last["usage"]["cost"]["request_cost"] > 0
    assert len({frame["id"] for frame in interim} | {last["id"]}) == 1
    for name in ("citations", "search_results"):
        assert all(frame[name] == last[name] for frame in interim)
    assert last["citations"] == [row["url"] for row in last["search_results"]]
    tokens = [frame["usage"]["completion_tokens"] for frame in interim]
    assert tokens == sorted(tokens)


def test_markers_come_whole(legacy: httpx.Client) -> None:
    deltas = [p["choices"][0]["delta"]["content"] for p in sonar(legacy).payloads]

    assert "[1]" in deltas
    assert not any(delta.endswith("[") for delta in deltas)


def test_the_last_frame_carries_what_was_asked_for(legacy: httpx.Client) -> None:
    frames = sonar(legacy, return_images=True, return_related_questions=True).payloads

    assert frames[-1]["images"] == []
    assert frames[-1]["related_questions"]
    assert "images" not in frames[0]


def test_a_cut_answer_ends_with_length(legacy: httpx.Client) -> None:
    assert sonar(legacy, max_tokens=5).payloads[-1]["choices"][0]["finish_reason"] == "length"


def test_concise_mode_has_four_kinds_of_frames(legacy: httpx.Client) -> None:
    seen = sonar(legacy, stream_mode="concise")

    frames = seen.payloads
    assert list(dict.fromkeys(frame["object"] for frame in frames)) == [
        *("chat.reasoning", "chat.reasoning.done"),
        *("chat.completion.chunk", "chat.completion.done"),
    ]
    assert seen.comments == []
    assert all({"message", "delta"} <= set(frame["choices"][0]) for frame in frames)
    first, reasoned, *chunks, last = frames
    assert first["type"] == "message"
    step = first["choices"][0]["delta"]["reasoning_steps"][0]
    assert step["web_search"]["search_keywords"] == [QUESTION]
    assert reasoned["search_results"]
    assert reasoned["choices"][0]["message"]["reasoning_steps"] == [step]
    assert "cost" not in reasoned["usage"]
    assert all("usage" not in chunk for chunk in chunks)
    text = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    assert last["choices"][0]["message"]["content"] == text
    assert last["choices"][0]["finish_reason"] == "stop"
    assert {frame["choices"][0]["finish_reason"] for frame in frames[:-1]} == {None}
    assert last["usage"]["cost"]["total_cost"] > 0


def test_concise_deep_research_shows_no_step(legacy: httpx.Client) -> None:
    seen = sonar(legacy, model="sonar-deep-research", stream_mode="concise")

    assert seen.payloads[0]["object"] == "chat.reasoning.done"


def test_a_mode_that_does_not_exist_is_refused(legacy: httpx.Client) -> None:
    body = {"model": "sonar", "messages": [{"role": "user", "content": "x"}], "stream_mode": "no"}

    assert legacy.post("/v1/sonar", json=body).status_code == 422


@pytest.mark.parametrize("mode", ["full", "concise"])
@pytest.mark.parametrize("terminal", ["none", "error", "error-event", "failed", "cancelled"])
def test_the_end_can_be_missing_or_an_error(legacy: httpx.Client, mode: str, terminal: str) -> None:
    seen = sonar(legacy, f"sse-terminal={terminal}", stream_mode=mode)

    assert not [p for p in seen.payloads if p.get("object") == "chat.completion.done"]
    assert ("error" in seen.payloads[-1]) == (terminal != "none")
    assert seen.names[-1] == ("error" if terminal == "error-event" else "")


def test_an_incomplete_end_is_a_length(legacy: httpx.Client) -> None:
    last = sonar(legacy, "sse-terminal=incomplete").payloads[-1]

    assert last["object"] == "chat.completion.done"
    assert last["choices"][0]["finish_reason"] == "length"


def test_done_and_line_ends_can_be_switched(legacy: httpx.Client) -> None:
    seen = sonar(legacy, "sse-done=1,sse-eol=lf,sse-ping=none")

    assert seen.raw.endswith(b"data: [DONE]\n\n")
    assert b"\r" not in seen.raw
    assert seen.comments == []


def test_the_sdk_reads_frames(legacy_server: LoopbackServer) -> None:
    messages: Any = [{"role": "user", "content": QUESTION}]
    with Perplexity(api_key=legacy_server.api_key, base_url=legacy_server.url) as sdk:
        chunks: list[Any] = list(
            sdk.chat.completions.create(model="sonar", messages=messages, stream=True)
        )

    text = "".join(chunk.choices[0].delta.content for chunk in chunks)
    assert chunks[-1].choices[0].message.content == text
    assert chunks[-1].object == "chat.completion.done"
    assert chunks[-1].usage.cost.total_cost > 0


async def test_the_async_sdk_reads_frames(corpus: Path) -> None:
    messages: Any = [{"role": "user", "content": QUESTION}]
    style = StreamStyle(done=True, pieces=5)
    async with (
        LoopbackServer(corpus=corpus, sonar="legacy", stream=style) as server,
        AsyncPerplexity(api_key=server.api_key, base_url=server.url) as sdk,
    ):
        stream = await sdk.chat.completions.create(
            model="sonar", messages=messages, stream=True, stream_mode="concise"
        )
        chunks: list[Any] = [chunk async for chunk in stream]

    assert chunks[-1].object == "chat.completion.done"
