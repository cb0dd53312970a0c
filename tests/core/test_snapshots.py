"""Saved results: they can be checked, compared, read again and asked again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsh_web import (
    InvalidRequestError,
    ProviderError,
    ReplayProvider,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    WebSnapshot,
    __version__,
    read_saved,
)
from dsh_web.server import LoopbackServer

from .exported import answered


def saved(tmp_path: Path, **changes: object) -> tuple[Path, dict]:
    path = tmp_path / "answer.json"
    answered().save(path)
    data = json.loads(path.read_text())
    for name, value in changes.items():
        part = data
        *parents, last = name.split("__")
        for parent in parents:
            part = part[parent]
        part[last] = value
    path.write_text(json.dumps(data))
    return path, data


def test_a_saved_result_comes_back_equal_with_its_question_and_version(tmp_path: Path) -> None:
    result = answered()
    result.save(tmp_path / "answer.json")

    snapshot = WebSnapshot.load(tmp_path / "answer.json")

    assert snapshot.result == result
    assert snapshot.request == WebSearchRequest(query="what is tea? <i>", recency="month")
    assert (snapshot.provider, snapshot.dsh_web_version) == ("perplexity", __version__)
    assert [p.name for p in tmp_path.iterdir()] == ["answer.json"]


def test_a_snapshot_says_only_what_was_asked_not_every_filter(tmp_path: Path) -> None:
    _, data = saved(tmp_path)

    assert data["request"] == data["result"]["request"] | data["request"]
    assert data["result"]["request"] == {"query": "what is tea? <i>", "recency": "month"}


def test_a_result_of_a_later_version_with_an_unknown_filter_is_read_without_its_request() -> None:
    data = answered().model_dump(mode="json")
    data["request"]["of_the_future"] = 1

    result = WebSearchResult.model_validate(data)

    assert result.request is None
    assert result.content == answered().content


@pytest.mark.parametrize(
    ("change", "value", "reason"),
    [
        ("result__content", "Tea is a stone.[1]", "was changed after it was saved"),
        ("schema_version", 99, "update dsh-web"),
        ("schema_version", "1", "update dsh-web"),
        ("kind", "something", "is no snapshot"),
        ("hashes", {}, "not a whole snapshot"),
        ("result", None, "not a whole snapshot"),
        ("request", {"query": ""}, "non-empty"),
    ],
)
def test_what_is_no_whole_unchanged_snapshot_is_refused(
    tmp_path: Path, change: str, value: object, reason: str
) -> None:
    path, _ = saved(tmp_path, **{change: value})

    with pytest.raises(InvalidRequestError, match=reason):
        WebSnapshot.load(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null"])
def test_what_is_not_json_of_ours_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)

    with pytest.raises(InvalidRequestError):
        WebSnapshot.load(path)


def test_a_result_that_does_not_know_its_question_is_saved_with_one_given(tmp_path: Path) -> None:
    merged = answered(request=None)

    with pytest.raises(InvalidRequestError, match=r"WebSnapshot\.of"):
        merged.save(tmp_path / "x.json")
    WebSnapshot.of(merged, WebSearchRequest(query="tea")).save(tmp_path / "x.json")

    assert WebSnapshot.load(tmp_path / "x.json").request.query == "tea"


def test_changes_name_what_came_what_went_and_what_moved() -> None:
    before = answered()
    first, second, third = before.sources
    snapshot = WebSnapshot.of(before)

    assert snapshot.changes_in(before).is_same
    changes = snapshot.changes_in(
        before.model_copy(update={"sources": (second, first), "content": "Other."})
    )
    assert changes.removed == (third.url,)
    assert changes.kept == (first.url, second.url)
    assert changes.is_reordered
    assert changes.is_answer_changed
    assert not changes.is_same


def test_saved_snapshots_are_read_like_every_other_stored_answer(tmp_path: Path) -> None:
    path, _ = saved(tmp_path)

    assert read_saved(path.read_bytes()) == answered()


def test_replay_answers_what_was_saved_and_nothing_else() -> None:
    runtime = WebRuntime()
    runtime.register_search_provider(ReplayProvider([WebSnapshot.of(answered())]))

    result = runtime.search("what is tea? <i>", recency="month")

    assert result.content == answered().content
    assert result.provider == "perplexity"
    with pytest.raises(ProviderError, match="no snapshot answers"):
        runtime.search("what is tea? <i>")


async def test_replay_works_async_streamed_and_is_unavailable_when_empty() -> None:
    runtime = WebRuntime()
    provider = ReplayProvider([WebSnapshot.of(answered())], id="kept")
    runtime.register_search_provider(provider)

    result = await runtime.asearch("what is tea? <i>", recency="month", on_unsupported="warn")
    events = [event async for event in runtime.astream("what is tea? <i>", recency="month")]

    assert result.content == events[-1].result.content
    assert ReplayProvider([]).unavailable_reason() == "it has no snapshots"
    assert not ReplayProvider([]).available()


async def test_every_call_of_a_runtime_tells_its_result_what_was_asked() -> None:
    with LoopbackServer() as server:
        runtime = _runtime(server)
        asked = WebSearchRequest(query="shuffle a list", max_results=2)
        with runtime.stream(asked) as stream:
            streamed = list(stream)[-1].result
        results = [
            runtime.search(asked),
            await runtime.asearch(asked),
            streamed,
            *runtime.search_each(["shuffle a list"], max_results=2),
        ]
        merged = runtime.search_many(["shuffle a list", "sort a list"], max_results=2)

    assert [result.request for result in results] == [asked] * 4
    assert merged.request is None


def _runtime(server: LoopbackServer) -> WebRuntime:
    from dsh_web import PerplexityAgentProvider

    runtime = WebRuntime()
    runtime.register_search_provider(
        PerplexityAgentProvider(api_key=server.api_key, base_url=server.url)
    )
    return runtime


def test_a_snapshot_of_the_loopback_server_replays_the_same_answer(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        result = _runtime(server).search("shuffle a list", max_results=3)
    result.save(tmp_path / "one.json")
    runtime = WebRuntime()
    runtime.register_search_provider(ReplayProvider([WebSnapshot.load(tmp_path / "one.json")]))

    assert runtime.search("shuffle a list", max_results=3) == result
