"""Whatever a server answers, a fetch ends with a result or with a `WebError`."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    HttpFetchProvider,
    HttpHead,
    OpenStream,
    ReadChunk,
    Resolve,
    TransportError,
    WebError,
    WebFetchRequest,
    WebFetchResult,
)

header_text = st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=60)
types = st.sampled_from(
    ["text/html", "text/html; charset=gbk", "application/json", "text/xml", "application/pdf"]
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "content-type": types | header_text,
        "content-length": st.integers(0, 10**30).map(str) | header_text,
        "location": header_text | st.sampled_from(["/a", "//b", "?", "http://ok.example/b", ""]),
    },
)
heads = st.builds(HttpHead, st.integers(100, 599), headers)
failures = st.builds(TransportError, st.text(max_size=30))
pieces = st.lists(st.binary(min_size=1, max_size=300) | failures, max_size=5)
answers = st.lists(st.tuples(heads | failures, pieces), min_size=1, max_size=4)


def ended(provider: HttpFetchProvider, url: str, script: list[Any]) -> WebFetchResult | WebError:
    """Play a fetch by hand against `script`, the last answer of which repeats."""
    flow = provider.fetch_flow(WebFetchRequest(url=url))
    outcome: Any = None
    body: list[Any] = []
    try:
        while True:
            step = flow.throw(outcome) if isinstance(outcome, Exception) else flow.send(outcome)
            if isinstance(step, OpenStream):
                outcome, rest = script[0] if len(script) == 1 else script.pop(0)
                body = list(rest)
            elif isinstance(step, ReadChunk):
                outcome = body.pop(0) if body else b""
            elif isinstance(step, Resolve):
                try:
                    outcome = step.function()
                except WebError as error:
                    outcome = error
            else:
                raise AssertionError(f"an unexpected step: {step!r}")
    except StopIteration as stop:
        result: WebFetchResult = stop.value
        return result
    except WebError as error:
        return error


@given(answers)
def test_any_answer_ends_in_a_result_or_a_web_error(script: list[Any]) -> None:
    end = ended(
        HttpFetchProvider(max_body_chars=50, max_response_bytes=400), "http://ok.example/", script
    )

    if isinstance(end, WebFetchResult):
        assert len(end.body.content) <= 50
        assert end.url.startswith("http://ok.example/")
        assert end == WebFetchResult.model_validate_json(end.model_dump_json())
    else:
        assert end.code.startswith("WEB_")


@given(st.text(max_size=100))
def test_so_does_any_url(rest: str) -> None:
    good = (HttpHead(200, {"content-type": "text/plain"}), [b"x"])
    end = ended(HttpFetchProvider(), f"http://{rest}", [good])

    assert isinstance(end, WebFetchResult) or end.code in ("WEB_INVALID_URL", "WEB_BLOCKED_URL")
