"""Background runs: polling, cancelling, and the files that a run shared."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from perplexity import Perplexity

from dsh_web.server import LoopbackServer
from dsh_web.server.stored_runs import MOST_BYTES, MOST_RUNS, RunStore, StoredRun

QUESTION = "Where do tidal turbines stand, and how long is the lagoon wall?"
SPELLINGS = ["/v1/agent", "/v1/responses", "/responses"]


@pytest.fixture(scope="module")
def slow_server(corpus: Path) -> Iterator[LoopbackServer]:
    with LoopbackServer(corpus=corpus, background_seconds=0.3) as server:
        yield server


@pytest.fixture
def slow(slow_server: LoopbackServer, connect: Any) -> httpx.Client:
    client: httpx.Client = connect(slow_server)
    return client


def submit(client: httpx.Client, path: str = "/v1/agent", **body: Any) -> dict[str, Any]:
    body = {"preset": "fast", "input": QUESTION, **body}
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def finish(client: httpx.Client, response_id: str) -> list[dict[str, Any]]:
    """Return every snapshot until the run is over."""
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["status"] in {"queued", "in_progress"}:
        seen.append(client.get(f"/v1/agent/{response_id}").json())
        time.sleep(0.01)
    return seen


@pytest.mark.parametrize("path", SPELLINGS)
def test_a_background_run_is_queued_then_runs_then_completes(slow: httpx.Client, path: str) -> None:
    started = time.monotonic()
    queued = submit(slow, path, background=True)
    assert time.monotonic() - started < 0.25
    snapshots = [slow.get(f"{path}/{queued['id']}").json(), *finish(slow, queued["id"])]

    statuses = list(dict.fromkeys(snapshot["status"] for snapshot in snapshots))
    assert statuses == ["queued", "in_progress", "completed"]
    assert (queued["status"], queued["output"], queued["usage"]) == ("queued", [], None)
    assert len(queued) == 32
    assert {frozenset(snapshot) for snapshot in snapshots} == {frozenset(queued)}
    assert {s["model"] for s in snapshots[:-1]} == {"fast"}
    final = snapshots[-1]
    assert final["model"] == "openai/gpt-6-luna"
    assert final["created_at"] == final["completed_at"]
    assert final["background"] is True
    assert final["usage"]["cost"]["total_cost"] > 0
    running = next(s for s in snapshots if s["status"] == "in_progress")
    assert [item["type"] for item in running["output"]] == ["search_results"]


def test_a_run_names_its_model_if_one_was_sent(slow: httpx.Client) -> None:
    queued = submit(slow, preset=None, model="perplexity/sonar", background=True)

    assert queued["model"] == "perplexity/sonar"


@pytest.mark.parametrize("format_", ["default", "short"])
def test_a_foreground_run_can_be_read_again(slow: httpx.Client, format_: str) -> None:
    response = submit(slow)

    again = slow.get(f"/responses/{response['id']}", params={"format": format_})

    assert again.json() == response


def test_a_run_that_is_not_over_cannot_be_continued(slow: httpx.Client) -> None:
    queued = submit(slow, background=True)
    body = {"preset": "fast", "input": "And?", "previous_response_id": queued["id"]}

    early = slow.post("/v1/agent", json=body)
    finish(slow, queued["id"])
    late = slow.post("/v1/agent", json=body)

    assert (early.status_code, late.status_code) == (400, 200)


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        (f"/v1/agent/resp_{uuid.UUID(int=1)}", 404, "not found"),
        (f"/v1/agent/resp_{uuid.UUID(int=1)}/files", 404, "not found"),
        (f"/v1/agent/resp_{uuid.UUID(int=1)}/files/x/content", 404, "not found"),
        ("/v1/agent/resp_1", 400, "invalid response id"),
        ("/v1/agent/abc/files", 400, "invalid response id"),
    ],
)
def test_unknown_and_malformed_ids(
    slow: httpx.Client, path: str, status: int, message: str
) -> None:
    answer = slow.get(path)

    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == ("not_found" if status == 404 else "invalid_request")


@pytest.mark.parametrize("is_background", [True, False])
def test_an_unstored_run_cannot_be_read(slow: httpx.Client, is_background: bool) -> None:
    response = submit(slow, store=False, background=is_background)

    assert slow.get(f"/v1/agent/{response['id']}").status_code == 404
    assert slow.post(f"/v1/agent/{response['id']}/cancel").status_code == 400


def test_a_format_that_does_not_exist_is_refused(slow: httpx.Client) -> None:
    response = submit(slow)

    assert slow.get(f"/v1/agent/{response['id']}?format=long").status_code == 400


@pytest.mark.parametrize("path", SPELLINGS)
def test_cancelling_a_run(slow: httpx.Client, path: str) -> None:
    queued = submit(slow, background=True)

    answer = slow.post(f"{path}/{queued['id']}/cancel")
    run = slow.get(f"{path}/{queued['id']}").json()

    assert answer.json() == {"response_id": queued["id"], "status": "cancelling"}
    assert run["status"] == "cancelled"
    assert run["error"] == {"code": "cancelled", "message": "cancelled", "type": "cancelled"}
    assert run["incomplete_details"] == {"reason": "cancelled"}
    assert (run["usage"], run["completed_at"], run["model"]) == (None, None, "fast")
    assert run["output"] == []


def test_a_run_cancelled_midway_keeps_what_it_found(slow: httpx.Client) -> None:
    queued = submit(slow, background=True)
    while slow.get(f"/v1/agent/{queued['id']}").json()["status"] == "queued":
        time.sleep(0.01)

    slow.post(f"/v1/agent/{queued['id']}/cancel")

    output = slow.get(f"/v1/agent/{queued['id']}").json()["output"]
    assert [item["type"] for item in output] == ["search_results"]


def test_finished_cancelled_and_unknown_runs_cannot_be_cancelled(slow: httpx.Client) -> None:
    finished = submit(slow)
    cancelled = submit(slow, background=True)
    slow.post(f"/v1/agent/{cancelled['id']}/cancel")

    answers = [
        slow.post(f"/v1/agent/{id_}/cancel")
        for id_ in (finished["id"], cancelled["id"], f"resp_{uuid.UUID(int=1)}")
    ]

    assert {answer.status_code for answer in answers} == {400}
    assert len({answer.text for answer in answers}) == 1
    assert "already terminal" in answers[0].json()["error"]["message"]


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [{"type": "sandbox"}]},
        {"skills": [{"type": "builtin", "name": "office/docx"}]},
        {"skills": [{"type": "builtin", "name": "office"}]},
    ],
)
def test_a_run_shares_its_answer_as_a_file(slow: httpx.Client, change: dict[str, Any]) -> None:
    response = submit(slow, **change)

    listed = slow.get(f"/v1/agent/{response['id']}/files").json()
    (entry,) = listed["data"]
    content = slow.get(f"/v1/agent/{response['id']}/files/{entry['id']}/content")

    (item,) = [item for item in response["output"] if item["type"] == "share_file"]
    text = response["output"][-1]["content"][0]["text"]
    assert listed["object"] == "list"
    assert entry["object"] == "file"
    assert item["file_id"] == entry["id"]
    assert item["size_bytes"] == entry["bytes"] == len(content.content)
    assert text in content.text
    assert "https://corpus.example/notes/lagoon.txt" in content.text
    assert content.headers["content-type"] == "application/octet-stream"
    assert slow.get(f"/v1/agent/{response['id']}/files/none/content").status_code == 404


def test_a_run_shares_nothing_unasked_and_nothing_before_its_end(slow: httpx.Client) -> None:
    plain = submit(slow)
    early = submit(slow, tools=[{"type": "sandbox"}], background=True)

    assert slow.get(f"/v1/agent/{plain['id']}/files").json()["data"] == []
    assert slow.get(f"/v1/agent/{early['id']}/files").json()["data"] == []
    finish(slow, early["id"])
    assert len(slow.get(f"/v1/agent/{early['id']}/files").json()["data"]) == 1


def test_the_sdk_polls_cancels_and_reads_files(slow_server: LoopbackServer) -> None:
    with Perplexity(api_key=slow_server.api_key, base_url=slow_server.url) as sdk:
        run: Any = sdk.responses.create(
            preset="fast", input=QUESTION, background=True, tools=[{"type": "sandbox"}]
        )
        other = sdk.responses.create(preset="fast", input=QUESTION, background=True)
        cancelled = sdk.responses.cancel(other.id)
        while run.status in {"queued", "in_progress"}:
            run = sdk.responses.retrieve(run.id)
        (file,) = sdk.responses.files.list(run.id).data
        content = sdk.responses.files.content(file.id, response_id=run.id).read()

    assert run.status == "completed"
    assert cancelled.status == "cancelling"
    assert len(content) == file.bytes


def stored(number: int, padding: int = 0) -> StoredRun:
    begun = {"id": f"resp_{number}", "store": True, "status": "in_progress"}
    return StoredRun(begun, {**begun, "status": "completed", "output": ["x" * padding]})


def test_the_oldest_runs_are_forgotten() -> None:
    store = RunStore()
    for number in range(MOST_RUNS + 1):
        store.add(stored(number))

    assert store.find("resp_0") is None
    assert store.find("resp_1") is not None


def test_large_runs_leave_less_room() -> None:
    store = RunStore()
    for number in range(4):
        store.add(stored(number, MOST_BYTES // 3))

    assert [store.find(f"resp_{n}") is not None for n in range(4)] == [False, False, True, True]
