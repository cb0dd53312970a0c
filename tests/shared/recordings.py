"""Recorded responses: served byte for byte, compared with what was counted in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from . import not_yet
from .calls import MODES, Mode, environment, measured_call
from .case_files import Recording
from .checks.compare import Complaint, differs, missing_from
from .expectations import Verdict
from .network_watch import watch_network
from .outcome import NotMeasuredError
from .stage import PROVIDERS, STUB_KEY, web_error_in
from .stub_server import Reply, StubServer

SURFACES: Final = {
    "sonar": ("sonar",),
    "agent": ("agent",),
    "search": ("search",),
    "sonar-stream": ("sonar",),
    "agent-stream": ("agent",),
    "parallel-search": ("parallel_search",),
    # Chat wraps Task: answer and basis are the same, see `_as_chat`.
    "parallel-task": ("parallel_chat",),
}
"""`api` of a recording to the surfaces whose providers must read it."""
ERRORS: Final = {
    "perplexity": ("sonar", "agent", "search"),
    "parallel": ("parallel_search", "parallel_chat"),
}
"""Vendor to its surfaces: an error can meet any of them, and all must read it alike."""

WITHOUT_PROVIDER: Final = {
    "parallel/parallel-findall": "FindAll lists entities, not pages: no provider asks for it",
    "parallel/parallel-extract": "read in test_recorded_extraction.py, as an extraction",
}
"""`<provider>/<api>` of recordings that nothing here reads, with the reason."""


def surfaces_of(recording: Recording) -> tuple[str, ...]:
    """Return the surfaces whose providers must read a recording; an empty one if none does."""
    if recording.api == "errors":
        return ERRORS.get(recording.provider, ("",))
    return SURFACES.get(recording.api, ("",))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One recording, one provider, one mode."""

    recording: Recording
    surface: str
    mode: Mode

    @property
    def id(self) -> str:
        """The file, for errors the surface, and the mode."""
        name = self.recording.file
        is_shared = self.recording.api == "errors" and self.surface
        return "-".join(filter(None, (name, self.surface if is_shared else "", self.mode)))


@dataclass(frozen=True, slots=True)
class Reading:
    """What the provider made of a recording."""

    recording: Recording
    status: int
    """Sent with the body."""
    result: Any
    error: Any
    deltas: str | None = None
    """The text of a stream, joined; None if it was none."""
    told: tuple[Any, ...] = ()
    """The sources that a stream told before its end."""

    @property
    def answer(self) -> Any:
        """The result.

        Raises:
            NotMeasuredError: There was an error instead.
        """
        if self.result is None:
            raise NotMeasuredError(f"no result to compare: {self.error!r}")
        return self.result

    @property
    def content(self) -> str:
        """The answer text."""
        return self.answer.content or ""

    @property
    def listed(self) -> list[Any]:
        """The sources that stood in a result list, as far as they were heard of."""
        sources = self.told if self.result is None else self.result.sources
        return [source for source in sources if source.origin != "page"]


def recorded_runs_of(recording: Recording) -> list[RecordedRun]:
    """Return every run of a recording; one of an unknown api runs too, and fails."""
    surfaces = surfaces_of(recording) if _skipped_api(recording) is None else ("",)
    return [RecordedRun(recording, surface, mode) for surface in surfaces for mode in MODES]


def reason_to_skip(recording: Recording) -> str | None:
    """Return why no provider reads the recording, or why it belongs to a later milestone."""
    return _skipped_api(recording)


def _skipped_api(recording: Recording) -> str | None:
    name = f"{recording.provider}/{recording.api}"
    return WITHOUT_PROVIDER.get(name) or not_yet.RECORDED_APIS.get(name)


def run_recording(run: RecordedRun) -> Verdict:
    """Return how the provider's reading differs from what was counted."""
    recording = run.recording
    verdict = Verdict()
    if run.surface not in PROVIDERS:
        verdict.complaints.append(f"unknown api: {recording.provider}/{recording.api}")
        return verdict
    reading = _read(run)
    is_error = recording.api == "errors" or _is_cut_off(recording)
    if is_error and getattr(reading.error, "code", None) != "WEB_PROVIDER_ERROR":
        verdict.complaints.append(f"expected WEB_PROVIDER_ERROR, got {reading.error!r}")
    for key, want in recording.expected.items():
        if key in not_yet.RECORDED_KEYS:
            verdict.skipped[key] = not_yet.RECORDED_KEYS[key]
        elif key not in CHECKS and key not in ABOUT_THE_FILE:
            verdict.complaints.append(f"unknown expectation key: {key}")
        elif key in CHECKS:
            try:
                complaint = CHECKS[key](want, reading)
            except NotMeasuredError as reason:
                complaint = str(reason)
            if complaint:
                verdict.complaints.append(f"{key}: {complaint}")
    return verdict


def _is_cut_off(recording: Recording) -> bool:
    return recording.expected.get("terminator", "") is None


def _read(run: RecordedRun) -> Reading:
    recording = run.recording
    status = status_of(recording)
    is_json = PurePosixPath(recording.file).suffix == ".json"
    kind = "application/json" if is_json else "text/html"
    body = _as_chat(recording) if recording.api == "parallel-task" else recording.body
    reply = Reply(status, {"content-type": kind}, (body,))
    is_stream = recording.api.endswith("-stream")
    if is_stream:
        head = {"content-type": "text/event-stream"}
        reply = Reply(status, head, (event_stream_of(recording),), is_stream=True)
    with StubServer(lambda request: reply) as server, environment({}), watch_network():
        runtime = _runtime_for(run.surface, server.url)
        reading = _heard if is_stream else _searched
        try:
            return reading(run, runtime, status)
        finally:
            runtime.close()


def _as_chat(recording: Recording) -> bytes:
    """Return a Task run as the chat completion that would hold the same output.

    No recording of Chat itself is known. Content that is an object is a text of JSON there.
    """
    recorded = json.loads(recording.body)
    output = recorded.get("output")
    if output is None:  # the run as it was created, which Chat never shows
        return recording.body
    content = output["content"]
    if not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False)
    is_over = recorded.get("run", {}).get("status") == "completed"
    choice = {
        "index": 0,
        "finish_reason": "stop" if is_over else None,
        "message": {"role": "assistant", "content": content},
    }
    return json.dumps({"choices": [choice], "basis": output["basis"]}).encode()


def _runtime_for(surface: str, url: str) -> Any:
    import dsh_web

    make_provider = getattr(dsh_web, PROVIDERS[surface])
    runtime = dsh_web.WebRuntime()
    runtime.register_search_provider(make_provider(api_key=STUB_KEY, base_url=url, max_retries=0))
    return runtime


def _searched(run: RecordedRun, runtime: Any, status: int) -> Reading:
    call = measured_call(run.mode, lambda: runtime.search("q"), lambda: runtime.asearch("q"))
    return Reading(run.recording, status, call.value, web_error_in(call.error))


def _heard(run: RecordedRun, runtime: Any, status: int) -> Reading:
    from dsh_web import SourcesFound

    events: list[Any] = []
    streams: list[Any] = []

    def sync() -> None:
        streams.append(runtime.stream("q"))
        events.extend(streams[0])

    async def make() -> None:
        streams.append(runtime.astream("q"))
        async for event in streams[0]:
            events.append(event)  # noqa: PERF401 - those before a failure count too

    call = measured_call(run.mode, sync, make)
    found = [event.sources for event in events if isinstance(event, SourcesFound)]
    told = tuple(source for sources in found for source in sources)
    error = web_error_in(call.error)
    return Reading(run.recording, status, streams[0].result, error, streams[0].text, told)


def event_stream_of(recording: Recording) -> bytes:
    """Return the bytes of a recorded stream, with its envelope put back if that is missing."""
    if not recording.file.endswith(".chunks.txt"):
        return recording.body
    lines = [line for line in recording.body.split(b"\n") if line.strip()]
    return b"".join(b"data: " + line + b"\n\n" for line in lines)


def status_of(recording: Recording) -> int:
    """Return the HTTP status of a recording: noted, else in an error's body or file name."""
    noted = re.search(r"HTTP (\d{3})", recording.notes)
    if noted:
        return int(noted.group(1))
    if recording.api != "errors":
        return 200
    code = _error_code(recording.body)
    named = re.search(r"(?<!\d)([45]\d\d)(?!\d)", PurePosixPath(recording.file).name)
    if code is not None:
        return code
    # A gateway's answer when nothing says otherwise.
    return int(named.group(1)) if named else 502


def _error_code(body: bytes) -> int | None:
    try:
        code = json.loads(body)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None
    return code if isinstance(code, int) and 400 <= code < 600 else None


# -- what was counted --------------------------------------------------------------------------


def _answer_chars(want: int | None, reading: Reading) -> Complaint:
    if "content_keys" in reading.recording.expected:
        return None  # an object, which has no characters to count
    if reading.deltas is not None:
        # Where the counted deltas are not the whole answer, ours go on to its end.
        is_whole = reading.recording.expected.get("deltas_match_final") is not False
        got = len(reading.deltas)
        return differs(want, got) if is_whole else _at_least(want or 0, got)
    if reading.result is None:
        return None if want is None else f"no answer: {reading.error!r}"
    got = reading.result.content
    if want is None or got is None:
        return differs(want, None if got is None else len(got))
    # A package may keep leading reasoning apart; then the rest is the answer.
    apart = reading.recording.expected.get("answer_chars_after_think")
    return None if apart is not None and len(got) == apart else differs(want, len(got))


def _chars_after_think(want: int, reading: Reading) -> Complaint:
    _, mark, rest = reading.content.partition("</think>")
    return differs(want, len(rest.lstrip() if mark else reading.content))


def _has_think(want: bool, reading: Reading) -> Complaint:
    apart = reading.recording.expected.get("answer_chars_after_think")
    is_apart = len(reading.content) == apart
    return differs(want, is_apart or reading.content.lstrip().startswith("<think>"))


def _n_sources(want: int, reading: Reading) -> Complaint:
    # Only the Agent's list is free of repeats; the other APIs number by position.
    distinct = reading.recording.expected.get("n_distinct_urls")
    is_agent = reading.recording.api.startswith("agent")
    return differs(distinct if is_agent and distinct is not None else want, len(reading.listed))


def _n_citation_entries(want: int, reading: Reading) -> Complaint:
    """Each page that entries of the basis cite is one citation of a text, and none of JSON."""
    is_text = reading.recording.expected.get("content_type") == "text"
    pages = len(reading.listed)
    return differs(pages if is_text else 0, len(reading.answer.citations)) or _at_least(pages, want)


def _content_type(want: str, reading: Reading) -> Complaint:
    return _answer_is_json(want == "json", reading)


def _content_keys(want: list[str], reading: Reading) -> Complaint:
    return differs(sorted(want), sorted(json.loads(reading.content)))


def _n_distinct_urls(want: int, reading: Reading) -> Complaint:
    return differs(want, len({source.url for source in reading.listed}))


def _first_source_url(want: str | None, reading: Reading) -> Complaint:
    return differs(want, reading.listed[0].url if reading.listed else None)


def _n_entries(want: int, reading: Reading) -> Complaint:
    left_out = want - len(reading.listed)
    is_said = any(str(left_out) in warning for warning in reading.answer.warnings)
    return None if left_out == 0 or is_said else f"{left_out} entries left out without a warning"


def _error_message(want: str | None, reading: Reading) -> Complaint:
    if reading.error is None:
        return "there was no error"
    return None if want is None else missing_from(str(reading.error), want)


def _error_code_is_status(want: Any, reading: Reading) -> Complaint:
    if not isinstance(want, int):
        return None  # a word of the vendor's, which the seam does not carry
    return differs(want, getattr(reading.error, "status_code", None))


def _unreadable(want: bool, reading: Reading) -> Complaint:
    """A body without a message of its own: the status must survive it."""
    if not want:
        return None
    error = reading.error
    return differs(reading.status, getattr(error, "status_code", None)) or missing_from(
        str(error), str(reading.status)
    )


def _html_title(want: str, reading: Reading) -> Complaint:
    complaint = _unreadable(True, reading)
    return complaint or ("markup in the message" if "<" in str(reading.error) else None)


def _status(want: str, reading: Reading) -> Complaint:
    """The run's status decides, not HTTP 200."""
    if want == "queued" and reading.recording.provider == "parallel":
        return None if reading.result is None or not reading.content else "it has no answer yet"
    if want in ("completed", "incomplete"):
        reason = {"completed": "stop", "incomplete": "length"}[want]
        return differs(reason, reading.answer.finish_reason)
    got = getattr(reading.error, "code", None)
    return None if got == "WEB_PROVIDER_ERROR" else f"{want} must be an error, got {reading.result}"


def _answer_is_json(want: bool, reading: Reading) -> Complaint:
    try:
        json.loads(reading.content)
    except ValueError:
        return differs(want, False)
    return differs(want, True)


def _at_least(want: int, got: int) -> Complaint:
    return None if got >= want else f"expected at least {want}, got {got}"


def _frames_of(recording: Recording) -> list[Any]:
    from dsh_web.sse import SseReader

    reader = SseReader()
    sent = [*reader.feed(event_stream_of(recording)), *reader.finish()]
    return [json.loads(event.data) for event in sent]


def _terminator(want: str | None, reading: Reading) -> Complaint:
    """Without one the stream is an error; with one it is a result."""
    return differs(want is None, reading.result is None)


def _deltas_match(want: bool, reading: Reading) -> Complaint:
    """Whatever the vendor's own deltas do, ours add up to the answer."""
    return None if reading.result is None else differs(reading.content, reading.deltas)


def _objects(want: list[str], reading: Reading) -> Complaint:
    return differs(want, sorted({frame["object"] for frame in _frames_of(reading.recording)}))


def _n_markers(want: int | None, reading: Reading) -> Complaint:
    """None: the numbers point at a list in the text, and mean nothing that can be counted."""
    # A leading block of reasoning cites nothing; where it was counted, the rest was counted too.
    if want is None or "n_markers_after_think" in reading.recording.expected:
        return None
    return differs(want, _cited(reading))


def _cited(reading: Reading) -> int:
    return (
        0 if reading.result is None else sum(bool(r.raw_marker) for r in reading.answer.citations)
    )


def _unresolved_markers(want: int | None, reading: Reading) -> Complaint:
    if want is None or reading.result is None:
        return None
    return differs(want, sum(not record.resolved for record in reading.result.citations))


def _marker_kinds(want: list[str], reading: Reading) -> Complaint:
    expected = reading.recording.expected
    if reading.result is None or expected.get("n_markers") is None:
        return None
    is_typed = [":" in r.raw_marker for r in reading.result.citations if r.raw_marker]
    got = sorted({"web" if typed else "number" for typed in is_typed})
    counted = want if expected.get("n_markers_after_think", True) else []
    return differs(sorted(counted), got)


def _n_excerpts(want: int, reading: Reading) -> Complaint:
    return differs(want, sum(len(source.excerpts) for source in reading.listed))


def _usage(want: Mapping[str, Any], reading: Reading) -> Complaint:
    usage = reading.answer.usage
    return differs(dict(want), {name: getattr(usage, name, None) for name in want})


CHECKS: Final[Mapping[str, Callable[[Any, Reading], Complaint]]] = {
    "answer_chars": _answer_chars,
    "answer_chars_after_think": _chars_after_think,
    "answer_is_json": _answer_is_json,
    "has_think": _has_think,
    "n_sources": _n_sources,
    "n_distinct_urls": _n_distinct_urls,
    "n_entries": _n_entries,
    "first_source_url": _first_source_url,
    "error_message": _error_message,
    "error_code": _error_code_is_status,
    "not_json": _unreadable,
    "empty_body": _unreadable,
    "html_title": _html_title,
    "status": _status,
    "model": lambda want, reading: differs(want, reading.answer.model),
    "finish_reason": lambda want, reading: differs(want, reading.answer.finish_reason),
    "usage": _usage,
    "n_markers": _n_markers,
    "n_markers_after_think": lambda want, reading: differs(want, _cited(reading)),
    "unresolved_markers": _unresolved_markers,
    "marker_kinds": _marker_kinds,
    "n_excerpts": _n_excerpts,
    "n_citation_entries": _n_citation_entries,
    "content_type": _content_type,
    "content_keys": _content_keys,
    "terminator": _terminator,
    "deltas_match_final": _deltas_match,
    "n_frames": lambda want, reading: differs(want, len(_frames_of(reading.recording))),
    "objects": _objects,
}
"""Expectation key to the function that compares it."""

ABOUT_THE_FILE: Final = {
    "error_type": "the seam has its own codes",
    "item_types": "describes the body; items that the provider does not know are skipped",
    "n_finance_results": "finance results are not web sources",
    "n_finance_sources": "finance results are not web sources",
    "n_basis": "entries of the basis; their pages are counted",
    "n_citations": "the flat list beside search_results",
    "sources_from": "says where the counts come from",
    "reasoning_chars": "reasoning beside the answer is not part of it",
}
"""Keys that say something of the file which no result shows, with the reason."""
