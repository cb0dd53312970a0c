"""Answers that follow a JSON schema: asked for, sent, read back, and refused."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import respx
from pydantic import BaseModel, RootModel

from dsh_web import (
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    ProviderError,
    TextDelta,
    UnsupportedFilterError,
    WebError,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web.structured import parse_answer, schema_of
from tests.core.perplexity import (
    EMPTY_AGENT,
    EMPTY_SONAR,
    KEY,
    agent_body,
    ask,
    found,
    page,
    said,
    sonar_body,
)
from tests.flows import frames

ROOT = Path(__file__).resolve().parents[2]


class Tide(BaseModel):
    """When the water is high."""

    place: str
    metres: float


class Node(BaseModel):
    name: str
    parts: list["Node"] = []


SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "metres": {"type": "number"}},
    "required": ["place", "metres"],
}
VALUE = {"place": "Saint-Malo", "metres": 12.5}
TEXT = json.dumps(VALUE)


def mismatch(content: str | None, schema: Any = SCHEMA) -> WebError:
    with pytest.raises(ProviderError) as caught:
        parse_answer(content, schema)
    return caught.value


# -- the schema ----------------------------------------------------------------------------------


def test_a_class_becomes_its_schema():
    request = WebSearchRequest(query="q", response_format=Tide)

    assert Tide.model_json_schema() == request.response_format


def test_a_schema_stays_as_it_is():
    assert SCHEMA == WebSearchRequest(query="q", response_format=SCHEMA).response_format


def test_a_later_change_of_the_schema_does_not_reach_the_request():
    schema = json.loads(json.dumps(SCHEMA))
    request = WebSearchRequest(query="q", response_format=schema)
    schema["properties"]["place"]["type"] = "null"

    assert SCHEMA == request.response_format


def test_a_class_that_refers_to_itself_has_an_object_at_its_root():
    schema = schema_of(Node)

    assert "object" == schema["type"]
    assert {"name": "a", "parts": [{"name": "b"}]} == parse_answer(
        '{"name": "a", "parts": [{"name": "b"}]}', schema
    )
    assert "parts[0]" in str(mismatch('{"name": "a", "parts": [{}]}', schema))


@pytest.mark.parametrize("bad", [5, "object", [SCHEMA], dict, Tide(place="a", metres=1), object()])
def test_what_is_no_schema_is_refused(bad):
    with pytest.raises(InvalidRequestError, match="pydantic class or a JSON schema"):
        WebSearchRequest(query="q", response_format=bad)


@pytest.mark.parametrize("bad", [{}, {"type": "array"}, {"type": ["object"]}, RootModel[list[int]]])
def test_a_root_that_is_no_object_is_refused(bad):
    with pytest.raises(InvalidRequestError, match="at its root"):
        WebSearchRequest(query="q", response_format=bad)


@pytest.mark.parametrize(
    "bad", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}, {(1, 2): 3}], ids=str
)
def test_a_schema_that_is_no_json_is_refused(bad):
    with pytest.raises(InvalidRequestError, match="response_format is no JSON"):
        WebSearchRequest(query="q", response_format={"type": "object", **bad})


@pytest.mark.parametrize(
    "bad", [{"properties": 5}, {"required": "place"}, {"properties": {"a": {"type": "text"}}}]
)
def test_a_schema_that_breaks_the_rules_is_refused_before_anything_is_sent(bad):
    with pytest.raises(InvalidRequestError, match="response_format is no JSON schema"):
        WebSearchRequest(query="q", response_format={"type": "object", **bad})


def test_a_class_without_a_json_form_is_refused():
    class Opaque(BaseModel):
        kind: type

    with pytest.raises(InvalidRequestError, match="Opaque has no JSON schema"):
        WebSearchRequest(query="q", response_format=Opaque)


# -- on the wire ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        (PerplexityAgentProvider(api_key=KEY), EMPTY_AGENT),
        (PerplexitySonarProvider(api_key=KEY), EMPTY_SONAR),
    ],
    ids=["agent", "sonar"],
)
@pytest.mark.parametrize(
    ("response_format", "name"),
    [
        (Tide, "Tide"),
        (SCHEMA, "answer"),
        ({**SCHEMA, "title": "High water, 2026 (m)"}, "High_water__2026__m_"),
        ({**SCHEMA, "title": "x" * 99}, "x" * 64),
    ],
    ids=["class", "schema", "title", "long title"],
)
def test_the_schema_is_sent_under_a_name(provider, answer, response_format, name):
    body, _ = ask(provider, answer, response_format=response_format)

    schema = schema_of(response_format)
    expected = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
    assert expected == body["response_format"]


# -- reading the answer --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\n  {TEXT}\n",
        f"\ufeff{TEXT}",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\n",
        f"```json\r\n{TEXT}\r\n```",
        f"<think>High tides?</think>{TEXT}",
        f"<think>\nFirst {{}} then\n</think>\n\n```json\n{TEXT}\n```",
        f"<think>The tag </think> ends it.</think>{TEXT}",
        f" <think></think> {TEXT}",
    ],
    ids=range(10),
)
def test_the_value_is_read_from(text):
    assert VALUE == parse_answer(text, SCHEMA)


def test_a_tag_inside_the_value_is_kept():
    value = {"place": "<think>a</think>", "metres": 1}

    assert value == parse_answer(json.dumps(value), SCHEMA)
    assert value == parse_answer(f"<think>Hm.</think>{json.dumps(value)}", SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "The tide is high.",
        TEXT[:-1],
        f"{TEXT} {TEXT}",
        f"Here: {TEXT}",
        "```json\n",
        "<think>for ever",
        "[" * 100_000,
        '{"place": "a", "metres": NaN}',
        '{"place": "a", "metres": -Infinity}',
        '{"place": "a", "metres": ' + "9" * 5000 + "}",
    ],
    ids=range(10),
)
def test_an_answer_that_is_no_json_is_an_error_that_keeps_it(text):
    error = mismatch(text)

    assert str(error).startswith("the answer does not match response_format: it is not JSON (")
    assert (text, "WEB_PROVIDER_ERROR", True) == (error.content, error.code, error.retryable)
    assert text == error.to_dict()["content"]


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_no_answer_is_an_error(text):
    error = mismatch(text)

    assert "the answer does not match response_format: it is empty" == str(error)
    assert text == error.content


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"place": "a"}, "at $: 'metres' is a required property"),
        ({"place": 5, "metres": 1}, "at $.place: 5 is not of type 'string'"),
        ([VALUE], "at $: [{'place': 'Saint-Malo', 'metres': 12.5}] is not of type 'object'"),
        (None, "at $: None is not of type 'object'"),
    ],
    ids=str,
)
def test_an_answer_of_another_shape_is_an_error_that_says_where(value, fault):
    error = mismatch(json.dumps(value))

    assert f"the answer does not match response_format: {fault}" == str(error)
    assert (json.dumps(value), True) == (error.content, error.retryable)


def test_a_long_value_does_not_flood_the_message():
    assert 300 > len(str(mismatch(json.dumps({"place": "x", "metres": "9" * 5000}))))


def test_half_a_character_in_the_value_is_replaced():
    value = parse_answer('{"place": "\\ud800!", "metres": 1}', SCHEMA)

    json.dumps(value, ensure_ascii=False).encode()
    assert value["place"].endswith("!")


@pytest.mark.parametrize(
    "bad",
    [
        {"properties": {"place": {"$ref": "#/$defs/nowhere"}}},
        {"properties": {"place": {"$ref": "https://schemas.example/place.json"}}},
        {"properties": {"place": {"pattern": "("}}},
        {"$ref": "#"},
    ],
    ids=["no such definition", "remote", "no regex", "itself"],
)
def test_a_schema_that_cannot_check_anything_is_the_requests_fault(bad):
    schema = {"type": "object", **bad}
    with pytest.raises(InvalidRequestError) as caught:
        parse_answer(TEXT, schema_of(schema))

    # Some are found out before the call, the others keep the answer that was paid for.
    assert caught.value.content in (None, TEXT)


# -- through the runtime -------------------------------------------------------------------------


def runtime_with(provider: Any, **settings: Any) -> WebRuntime:
    runtime = WebRuntime(**settings)
    runtime.register_search_provider(provider)
    return runtime


AGENT = "https://api.perplexity.ai/v1/agent"


def agent_answer(text: str, **fields: object) -> dict[str, Any]:
    return agent_body(found(page(1)), said(text), **fields)


@pytest.fixture
def runtime() -> WebRuntime:
    return runtime_with(PerplexityAgentProvider(api_key=KEY, max_retries=0))


@pytest.fixture
def wire():
    with respx.mock as mock:
        yield mock.post(AGENT)


@pytest.fixture(params=["sync", "async"])
def search(request: pytest.FixtureRequest):
    async def search(runtime: WebRuntime, **fields: Any) -> WebSearchResult:
        if request.param == "async":
            return await runtime.asearch("q", **fields)
        return runtime.search("q", **fields)

    return search


async def test_the_value_travels_in_the_result_beside_the_text(runtime, wire, search):
    wire.respond(json=agent_answer(TEXT))
    result = await search(runtime, response_format=Tide)

    assert (VALUE, TEXT) == (result.parsed, result.content)
    assert Tide(**VALUE) == Tide.model_validate(result.parsed)


async def test_without_a_schema_nothing_is_parsed(runtime, wire, search):
    wire.respond(json=agent_answer(TEXT))

    assert (await search(runtime)).parsed is None


async def test_a_result_with_its_value_survives_being_stored(runtime, wire, search):
    wire.respond(json=agent_answer(TEXT))
    result = await search(runtime, response_format=SCHEMA)

    assert result == WebSearchResult.model_validate_json(result.model_dump_json())
    assert result == WebSearchResult.model_validate(result.model_dump(mode="json"))


def test_a_request_with_its_schema_survives_being_stored():
    request = WebSearchRequest(query="q", response_format=Tide)

    assert request == WebSearchRequest.model_validate_json(request.model_dump_json())


async def test_a_mismatch_names_provider_and_request(runtime, wire, search):
    wire.respond(json=agent_answer("no"))
    with pytest.raises(ProviderError) as caught:
        await search(runtime, response_format=Tide)

    error = caught.value
    assert ("perplexity", "resp_1", "no") == (error.provider, error.request_id, error.content)


async def test_an_answer_that_was_cut_says_so(runtime, wire, search):
    cut = agent_answer(
        TEXT[:9], status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    wire.respond(json=cut)
    with pytest.raises(ProviderError, match="the answer was cut at the token limit") as caught:
        await search(runtime, response_format=Tide)

    assert TEXT[:9] == caught.value.content


async def test_a_mismatch_is_never_kept_for_the_next_call(wire, search):
    runtime = runtime_with(PerplexityAgentProvider(api_key=KEY), cache={}, coalesce=True)
    wire.side_effect = [
        respx.MockResponse(json=agent_answer("no")),
        respx.MockResponse(json=agent_answer(TEXT)),
    ]
    with pytest.raises(ProviderError):
        await search(runtime, response_format=Tide)
    good = await search(runtime, response_format=Tide)
    again = await search(runtime, response_format=Tide)

    assert (VALUE, False) == (good.parsed, good.cached)
    assert (VALUE, True) == (again.parsed, again.cached)


async def test_nobody_can_change_the_value_that_others_get(wire, search):
    runtime = runtime_with(PerplexityAgentProvider(api_key=KEY), cache={})
    wire.respond(json=agent_answer(TEXT))
    for _ in range(3):
        result = await search(runtime, response_format=Tide, include_raw=True)
        assert (VALUE, "resp_1") == (result.parsed, result.raw["id"])
        result.parsed.clear()
        result.raw.clear()


async def test_sonar_answers_can_be_structured(search):
    runtime = runtime_with(PerplexitySonarProvider(api_key=KEY))
    with respx.mock:
        respx.post("https://api.perplexity.ai/chat/completions").respond(
            json=sonar_body(f"<think>Hm.</think>\n{TEXT}")
        )
        result = await search(runtime, response_format=Tide)

    assert VALUE == result.parsed
    assert result.content.startswith("<think>")


async def test_a_provider_without_answers_refuses_a_schema(search):
    runtime = runtime_with(PerplexitySearchProvider(api_key=KEY))
    with pytest.raises(UnsupportedFilterError) as caught:
        await search(runtime, response_format=Tide)

    assert (
        "Perplexity does not support response_format: choose another provider, "
        'or set on_unsupported="warn"'
    ) == str(caught.value)
    assert "perplexity-search" == caught.value.provider


async def test_a_provider_without_answers_can_warn_instead(search):
    runtime = runtime_with(PerplexitySearchProvider(api_key=KEY))
    with respx.mock:
        route = respx.post("https://api.perplexity.ai/search").respond(
            json={"id": "s", "results": [page(1)]}
        )
        result = await search(runtime, response_format=Tide, on_unsupported="warn")

    assert ("Perplexity does not support response_format; it was left out",) == result.warnings
    assert (None, {"query": "q"}) == (result.parsed, json.loads(route.calls[0].request.content))


# -- streamed ------------------------------------------------------------------------------------


def streamed(text: str) -> bytes:
    halves = [text[: len(text) // 2], text[len(text) // 2 :]]
    deltas = [{"type": "response.output_text.delta", "delta": half} for half in halves]
    done = {"type": "response.completed", "response": agent_answer(text)}
    return frames(*deltas, done)


@pytest.fixture(params=["sync", "async"])
def events(request: pytest.FixtureRequest):
    async def events(runtime: WebRuntime, seen: list[Any]) -> None:
        if request.param == "async":
            async with runtime.astream("q", response_format=Tide) as stream:
                seen.extend([event async for event in stream])
        else:
            with runtime.stream("q", response_format=Tide) as stream:
                seen.extend(stream)

    return events


async def test_a_streamed_answer_is_parsed_at_its_end(runtime, wire, events):
    wire.respond(content=streamed(TEXT), content_type="text/event-stream")
    seen: list[Any] = []
    await events(runtime, seen)

    assert VALUE == seen[-1].result.parsed
    assert TEXT == "".join(event.text for event in seen if isinstance(event, TextDelta))
    assert "json_schema" == json.loads(wire.calls[0].request.content)["response_format"]["type"]


async def test_a_streamed_mismatch_comes_instead_of_the_last_event(runtime, wire, events):
    wire.respond(content=streamed("high water"), content_type="text/event-stream")
    with pytest.raises(ProviderError) as caught:
        await events(runtime, [])

    assert ("high water", True) == (caught.value.content, caught.value.retryable)
    assert 0 == runtime.usage.failed_calls


# -- without the library that checks schemas -----------------------------------------------------


def without_jsonschema(program: str) -> str:
    """Return what `program` prints where the package is not installed."""
    blocker = """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "jsonschema":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Blocker())
    """
    source = textwrap.dedent(blocker) + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_without_the_library_only_the_root_object_is_checked():
    printed = without_jsonschema(
        """
        from dsh_web import WebError, WebSearchRequest
        from dsh_web.structured import parse_answer

        schema = {"type": "object", "required": ["place"], "properties": {"place": {"type": 5}}}
        schema = WebSearchRequest(query="q", response_format=schema).response_format
        for text in ['{"place": 5}', '{"metres": 1}', "[]", "no"]:
            try:
                print(parse_answer(text, schema))
            except WebError as error:
                print(error, "|", error.content, error.retryable)
        print(parse_answer("{}", {"type": "object", "required": True}))
        """
    )

    lines = printed.splitlines()
    assert "{'place': 5}" == lines[0]
    assert (
        "the answer does not match response_format: it lacks 'place' | {\"metres\": 1} True"
        == lines[1]
    )
    assert (
        "the answer does not match response_format: it is not a JSON object | [] True" == (lines[2])
    )
    assert lines[3].startswith("the answer does not match response_format: it is not JSON")
    assert "{}" == lines[4]
