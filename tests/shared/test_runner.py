"""The runner itself, on invented cases: what it must refuse, accept and skip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from . import not_yet
from .case_files import Case, expand_repeats, read_cases, shared_folder
from .checks import CHECKS
from .expectations import Verdict
from .network_watch import watch_network
from .recordings import CHECKS as RECORDED_CHECKS
from .recordings import SURFACES as RECORDED_SURFACES
from .recordings import WITHOUT_PROVIDER
from .runner import Run, reason_to_skip, run_case, runs_of
from .stub_server import Reply, queries_in
from .surfaces import SURFACES
from .surfaces.lifecycle import SCENARIOS

REPOSITORY = Path(__file__).resolve().parents[2]
ONE_PAGE = {
    "results": [{"title": "Tide table", "url": "https://sea.example/t", "snippet": "High."}]
}
ANSWER = {
    "choices": [{"message": {"content": "Low at noon."}}],
    "citations": ["https://sea.example/t"],
}


def verdict_of(surface: str, given: dict[str, Any], expect: dict[str, Any]) -> Verdict:
    """Return the verdict on an invented case, run sync."""
    case = Case("x-1", surface, expand_repeats(given), expect)
    return run_case(runs_of(case)[0])


def searched(expect: dict[str, Any], **given: Any) -> list[str]:
    """Return the complaints about a Search case that finds one page."""
    return verdict_of(
        "search", {"query": "q", "http": {"json": ONE_PAGE}, **given}, expect
    ).complaints


def answered(expect: dict[str, Any]) -> list[str]:
    """Return the complaints about a Sonar case with a short answer."""
    return verdict_of("sonar", {"query": "q", "http": {"json": ANSWER}}, expect).complaints


def test_a_right_expectation_holds() -> None:
    assert searched({"error": None, "sources_urls": ["https://sea.example/t"], "requests": 1}) == []


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("error", "WEB_PROVIDER_ERROR"),
        ("error_in", ["WEB_TIMEOUT", "invalid_args"]),
        ("content", "text"),
        ("sources", []),
        ("sources", [{"url": "https://sea.example/t", "title": "Tide table"}]),
        ("sources_urls", []),
        ("sources_urls_set", ["https://sea.example/t", "https://land.example/"]),
        ("sources_count", 2),
        ("source_0", {"snippet_contains_in_order": ["High", "Low"]}),
        ("source_1", {"title": None}),
        ("truncated", True),
        ("truncated", 0),
        ("requests", 2),
        ("requests_max", 0),
        ("queries_sent", ["p"]),
        ("request", {"method": "GET"}),
        ("request", {"header": {"accept": "text/html"}}),
        ("request", {"header_present": "x-api-key"}),
        ("request", {"body_subset": {"query": "p"}}),
        ("connected_only_to", []),
        ("tool_text_links", []),
        ("tool_text_source_items", 0),
        ("tool_text_max_chars", 10),
        ("tool_text_contains_all", ["Low."]),
        ("seconds_max", -1),
        ("pending_tasks_after", 1),
        ("open_connections", 1),
        ("returned_result", False),
    ],
)
def test_a_wrong_expectation_fails_with_its_key(key: str, wrong: Any) -> None:
    complaints = searched({key: wrong})

    assert len(complaints) == 1
    assert complaints[0].startswith(f"{key}: ")


PAGE = {
    "url": "http://ok.example/",
    "dns": {"ok.example": ["93.184.216.34"]},
    "routes": {
        "http://ok.example/": {
            "headers": {"content-type": "text/html"},
            "body": "<p>High <a href='/noon'>at noon</a>.</p>",
        }
    },
}


def fetched(expect: dict[str, Any], **given: Any) -> list[str]:
    """Return the complaints about a case that fetches one page."""
    return verdict_of("fetch", {**PAGE, **given}, expect).complaints


def test_a_right_expectation_of_a_page_holds() -> None:
    expect = {
        "error": None,
        "status_code": 200,
        "kind": "html",
        "markdown_contains": ["High"],
        "markdown_links": ["http://ok.example/noon"],
        "requests": 1,
        "connected_only_to": ["93.184.216.34"],
        "truncated": False,
        "proxy_connections": 0,
    }
    # A placeholder in the input is what makes the runner start the proxy.
    assert fetched(expect, env={"HTTP_PROXY": "$LOOPBACK_PROXY"}) == []


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("error", "WEB_BLOCKED_URL"),
        ("status_code", 404),
        ("kind", "pdf"),
        ("page_count", 1),
        ("markdown_contains", ["Low"]),
        ("markdown_contains_if_ok", ["Low"]),
        ("markdown_excludes", ["High"]),
        ("markdown_links", []),
        ("decoded_bytes_max", 10),
        ("peak_memory_mb_max", 0),
        ("truncated", True),
        ("requests", 0),
        ("connected_only_to", []),
        ("no_request_to", ["ok.example"]),
    ],
)
def test_a_wrong_expectation_of_a_page_fails_with_its_key(key: str, wrong: Any) -> None:
    complaints = fetched({key: wrong})

    assert len(complaints) == 1
    assert complaints[0].startswith(f"{key}: ")


def test_each_of_several_addresses_is_compared() -> None:
    urls = ["http://ok.example/", "http://ok.example/missing"]
    given = {**PAGE, "urls": urls}
    del given["url"]

    complaints = verdict_of("fetch", given, {"each": {"status_code": 200}}).complaints

    assert complaints == ["each: [1] status_code: expected 200, got 404"]


@pytest.mark.parametrize(
    ("given", "name"), [({"limits": {"colour": 1}}, "colour"), ({"colour": 1}, "colour")]
)
def test_an_unknown_word_of_a_fetch_fails_with_its_name(given: dict[str, Any], name: str) -> None:
    (complaint,) = fetched({"error": None}, **given)

    assert complaint.startswith("unknown")
    assert complaint.endswith(name)


def test_a_host_whose_answers_change_is_asked_in_turn() -> None:
    moving = {"ok.example": [["93.184.216.34"], ["10.0.0.1"]]}
    route = {"http://ok.example/": {"status": 302, "headers": {"location": "/x"}}}

    told = {"error_in": ["WEB_BLOCKED_URL", "WEB_REDIRECT_BLOCKED", None], "requests_max": 2}
    assert fetched(told | {"connected_only_to": ["93.184.216.34"]}, dns=moving, routes=route) == []


@pytest.mark.parametrize("variant", ["langchain", "llama_index"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_tool_that_fetches_can_be_called(mode: Any, variant: str) -> None:
    given = {"tool": "web_fetch", "args": {"url": '{"url": "http://ok.example/"}'}}
    page = {"headers": {"content-type": "text/plain"}, "body": "High at noon."}
    right = {"error": None, "requests": 1, "content_contains": ["High at noon."]}
    fault = {"error": "invalid_args", "requests": 0, "error_message_contains": "url must be a"}

    def complaints(given: dict[str, Any], expect: dict[str, Any]) -> list[str]:
        case = Case("x-1", "tool_args", given, expect)
        return run_case(Run(case, variant, mode)).complaints

    assert complaints({**given, "http": page}, right) == []
    assert complaints({**given, "args": {"url": ""}}, fault) == []


def test_an_unknown_key_fails_with_its_name() -> None:
    assert searched({"error": None, "colour": "red"}) == ["unknown expectation key: colour"]


def test_an_unknown_key_among_alternatives_fails_though_another_alternative_holds() -> None:
    complaints = answered({"content": "Low at noon.", "or": {"colour": "red"}})

    assert complaints == ["unknown expectation key: colour"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"options": {"colour": 1}}, "colour"),
        ({"colour": 1}, "colour"),
        ({"http": {"json": ONE_PAGE, "colour": 1}}, "colour"),
    ],
)
def test_an_unknown_word_of_the_input_fails_with_its_name(given: dict[str, Any], name: str) -> None:
    complaints = searched({"error": None}, **given)

    assert len(complaints) == 1
    assert complaints[0].startswith("unknown")
    assert complaints[0].endswith(name)


def test_an_unknown_surface_fails_with_its_name() -> None:
    assert verdict_of("telepathy", {}, {"error": None}).complaints == ["unknown surface: telepathy"]


def test_an_unknown_part_of_a_request_fails_with_its_name() -> None:
    assert "unknown part of a request: colour" in searched({"request": {"colour": 1}})[0]


def test_a_known_key_that_a_surface_cannot_measure_fails() -> None:
    assert searched({"ticks_min": 1})[0].startswith("ticks_min: ")


@pytest.mark.parametrize(
    ("first", "second", "is_right"),
    [
        ({"content": "Low at noon.", "sources_count": 1}, {"content": "?"}, True),
        ({"content": "?"}, {"content": "Low at noon."}, True),
        ({"content": "?"}, {"content": "Low at noon.", "sources_count": 1}, True),
        ({"content": "?"}, {"content": "Low at noon.", "sources_count": 2}, False),
        (
            {"content": "?", "sources_count": 1},
            {"content": "Low at noon.", "sources_count": 2},
            False,
        ),
        ({"content": "?", "sources_count": 2}, {"content": "Low at noon."}, False),
    ],
)
def test_an_alternative_counts_only_as_a_whole(
    first: dict[str, Any], second: dict[str, Any], is_right: bool
) -> None:
    assert (answered({**first, "or": second}) == []) is is_right


def test_a_later_milestones_key_is_skipped_and_the_others_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(not_yet, "KEYS", {"mood": "moods come later"})
    expect = {"content": "?", "mood": "good"}

    verdict = verdict_of("sonar", {"query": "q", "http": {"json": ANSWER}}, expect)

    assert verdict.skipped == {"mood": "moods come later"}
    assert [text.partition(":")[0] for text in verdict.complaints] == ["content"]


def test_an_error_is_compared_in_all_its_parts() -> None:
    refusal = {
        "status": 429,
        "headers": {"Retry-After": "3"},
        "json": {"error": {"message": "later"}},
    }

    def complaints(**expect: Any) -> list[str]:
        given = {"query": "q", "http": refusal, "options": {"retries": 0}}
        return verdict_of("agent", given, {"error": "WEB_PROVIDER_ERROR", **expect}).complaints

    assert complaints(status_code=429, retry_after=3, error_message_contains="later") == []
    assert complaints(error_not="WEB_TIMEOUT", error_message_excludes=["sooner"], requests=1) == []
    for key, wrong in {
        "status_code": 500,
        "retry_after": 4,
        "error_message_contains": ["later", "sooner"],
        "error_message_contains_any": ["sooner"],
        "error_message_excludes": "later",
        "error_not": "WEB_PROVIDER_ERROR",
        "visible_error_type_not": "ProviderError",
        "raises": "asyncio.CancelledError",
        "returned_result": True,
    }.items():
        assert complaints(**{key: wrong})[0].startswith(f"{key}: ")


def test_a_secret_in_a_named_place_is_found_and_an_unknown_place_refused() -> None:
    given = {"query": "q", "http": {"json": ANSWER}, "secret": "Low at noon."}
    given = {**given, "surface": "sonar", "api_key": "another-key"}

    (found,) = verdict_of("errors", given, {"secret_absent_from": ["result"]}).complaints
    (refused,) = verdict_of("errors", given, {"secret_absent_from": ["cellar"]}).complaints

    assert "the secret is in 'result'" in found
    assert "'cellar' was not looked at" in refused


def test_one_id_twice_is_refused_and_one_id_for_each_capability_is_not() -> None:
    duplicate = {"error": "WEB_DUPLICATE_PROVIDER"}
    each = [{"kind": "search", "id": "a"}, {"kind": "fetch", "id": "a"}]

    for said in (True, "a", {"kind": "fetch", "id": "a"}, ["a", "a"]):
        assert verdict_of("errors", {"register_twice": said}, duplicate).complaints == []
    assert verdict_of("errors", {"register_twice": each}, {"error": None}).complaints == []


def test_a_look_up_outside_of_loopback_is_seen_and_stopped() -> None:
    expect = {"error": "WEB_PROVIDER_ERROR", "no_request_to": ["far.example"]}
    given = {"surface": "search", "base_url": "http://far.example", "options": {"retries": 0}}

    (complaint,) = verdict_of("errors", given, expect).complaints

    assert complaint.startswith("no_request_to: asked: ['far.example']")


def test_nothing_is_watched_after_the_block() -> None:
    import socket

    with watch_network() as traffic:
        pass
    socket.getaddrinfo("127.0.0.1", 1)

    assert traffic.looked_up == []


def test_repeats_are_expanded_at_any_depth() -> None:
    assert expand_repeats({"a": [{"$repeat": ["xy", 3]}]}) == {"a": ["xyxyxy"]}


def test_a_query_is_found_in_every_kind_of_body() -> None:
    bodies = [{"input": "q"}, {"query": "q"}, {"messages": [{"content": "p"}, {"content": "q"}]}]

    assert [queries_in(body) for body in [*bodies, {"query": ["q", "r"]}]] == [
        *[["q"]] * 3,
        ["q", "r"],
    ]


def test_writes_end_at_the_given_offsets(tmp_path: Path) -> None:
    cut = Reply.from_case({"body": "abcdef", "flush_at": [2, 5]}, tmp_path)
    bytewise = Reply.from_case({"body": "abc", "flush_at": "every_byte"}, tmp_path)

    assert cut.writes == (b"ab", b"cde", b"f")
    assert bytewise.writes == (b"a", b"b", b"c")


def test_nothing_is_both_put_off_and_switched_on() -> None:
    assert not set(not_yet.SURFACES) & set(SURFACES)
    assert not set(not_yet.KEYS) & set(CHECKS)
    assert not set(not_yet.SCENARIOS) & set(SCENARIOS)
    assert not set(not_yet.RECORDED_KEYS) & set(RECORDED_CHECKS)
    assert not set(not_yet.RECORDED_APIS) & {
        f"{vendor}/{api}" for api in RECORDED_SURFACES for vendor in ("perplexity", "parallel")
    }


def test_every_key_of_the_shared_cases_is_known_also_where_the_case_is_skipped() -> None:
    cases = read_cases(shared_folder())
    if not cases:
        pytest.skip(f"no shared cases in {shared_folder()}")
    known = {*CHECKS, *not_yet.KEYS, "or"}

    used = {key for case in cases for key in case.expect if not key.startswith("source_")}

    assert used <= known
    assert all(case.surface in SURFACES for case in cases if reason_to_skip(case) is None)


# -- whole folders -----------------------------------------------------------------------------


def states_of(folder: Path, tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Return test name to state and message of a run over `folder` in a process of its own."""
    report = tmp_path / "report.xml"
    here = Path(__file__).parent
    files = [str(here / name) for name in ("test_cases.py", "test_recorded.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    subprocess.run(
        [*command, f"--junitxml={report}"],
        cwd=REPOSITORY,
        env={**os.environ, "DSH_WEB_SHARED": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
        timeout=100,
    )
    states: dict[str, tuple[str, str]] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        name = case.attrib["name"].partition("[")[2].rstrip("]")
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                states[name] = (child.tag, child.attrib.get("message", ""))
        states.setdefault(name, ("passed", ""))
    return states


def test_a_missing_folder_skips_everything_and_says_why(tmp_path: Path) -> None:
    states = states_of(tmp_path / "nowhere", tmp_path)

    assert {state for state, _ in states.values()} == {"skipped"}
    assert all("DSH_WEB_SHARED" in message for _, message in states.values())


def test_any_folder_of_the_same_shape_is_run(tmp_path: Path) -> None:
    cases = [
        ("right", "search", {"error": None, "sources_count": 1}),
        ("wrong", "search", {"error": None, "sources_count": 2}),
        ("unknown-key", "search", {"error": None, "colour": "red"}),
        ("unknown-surface", "telepathy", {"error": None}),
        ("either", "search", {"sources_count": 2, "or": {"sources_count": 1}}),
    ]
    lines = [
        {"id": name, "surface": surface, "input": {"query": "q", "http": {"body_file": "files/b"}}}
        | {"expect": expect}
        for name, surface, expect in cases
    ]
    (tmp_path / "cases" / "files").mkdir(parents=True)
    (tmp_path / "cases" / "files" / "b").write_text(json.dumps(ONE_PAGE))
    (tmp_path / "cases" / "cases.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "b.json").write_text(json.dumps(ONE_PAGE))
    recorded = [
        {"file": "b.json", "provider": "perplexity", "api": "search", "expected": {key: value}}
        for key, value in (("n_sources", 1), ("n_sources", 2), ("colour", 1))
    ]
    recorded.append({"provider": "parallel", "api": "parallel-findall", "expected": {}})
    for number, line in enumerate(recorded):
        line["file"] = f"b{number}.json"
        (tmp_path / "recorded" / f"b{number}.json").write_text(json.dumps(ONE_PAGE))
    (tmp_path / "recorded" / "index.jsonl").write_text("\n".join(map(json.dumps, recorded)))

    states = states_of(tmp_path, tmp_path)

    for mode in ("sync", "async"):
        assert states[f"right-{mode}"][0] == "passed"
        assert states[f"either-{mode}"][0] == "passed"
        assert "sources_count: expected 2, got 1" in states[f"wrong-{mode}"][1]
        assert "unknown expectation key: colour" in states[f"unknown-key-{mode}"][1]
        assert "unknown surface: telepathy" in states[f"unknown-surface-{mode}"][1]
        assert states[f"b0.json-{mode}"][0] == "passed"
        assert "n_sources: expected 2, got 1" in states[f"b1.json-{mode}"][1]
        assert "unknown expectation key: colour" in states[f"b2.json-{mode}"][1]
        reason = WITHOUT_PROVIDER["parallel/parallel-findall"]
        assert states[f"b3.json-{mode}"] == ("skipped", reason)
