"""What the three Perplexity providers share, checked for each of them."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    InvalidRequestError,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    ProviderError,
    WebError,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web.flow import TransportError
from tests.core.perplexity import (
    EMPTY_AGENT,
    EMPTY_SEARCH,
    EMPTY_SONAR,
    KEY,
    agent_body,
    ask,
    found,
    page,
    refused,
    said,
    search_body,
    sonar_body,
)
from tests.flows import play, reply

EMPTY = {
    PerplexityAgentProvider: EMPTY_AGENT,
    PerplexitySearchProvider: EMPTY_SEARCH,
    PerplexitySonarProvider: EMPTY_SONAR,
}
PATH = {
    PerplexityAgentProvider: "/v1/agent",
    PerplexitySearchProvider: "/search",
    PerplexitySonarProvider: "/chat/completions",
}
ALL = list(EMPTY)
each_provider = pytest.mark.parametrize("kind", ALL, ids=[kind.id for kind in ALL])


def error_of(kind: type, response: Any, **settings: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(kind(api_key=KEY, max_retries=0, **settings), response)
    return caught.value


# -- the request -------------------------------------------------------------------------------


@each_provider
@pytest.mark.parametrize(
    ("base", "root"),
    [
        ("https://gw.example", "https://gw.example"),
        ("https://gw.example/", "https://gw.example"),
        ("https://gw.example//", "https://gw.example"),
        ("http://127.0.0.1:8080/pplx/", "http://127.0.0.1:8080/pplx"),
    ],
)
def test_exactly_one_slash_joins_base_url_and_path(kind, base, root):
    provider = kind(api_key=KEY, base_url=base)
    steps, _ = play(provider.search_flow(WebSearchRequest(query="q")), EMPTY[kind])

    assert root + PATH[kind] == steps[0].url


@each_provider
def test_the_base_url_may_come_from_the_environment(kind, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_BASE_URL", "https://gw.example")

    assert "https://gw.example" == kind(api_key=KEY).base_url


@each_provider
def test_the_base_url_argument_wins_over_the_environment(kind, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_BASE_URL", "https://gw.example")

    assert "https://mine.example" == kind(api_key=KEY, base_url="https://mine.example").base_url


@each_provider
@pytest.mark.parametrize(
    "base",
    [
        "api.perplexity.ai",
        "ftp://gw.example",
        "https://",
        "https://gw example",
        "https://gw.example/\n",
        "https://gw.example:99999",
        "https://gw.example:0",
        "https://gw.example?key=1",
        "https://gw.example#x",
        "https://[broken",
        " ",
        5,
    ],
)
def test_a_base_url_that_cannot_be_read_makes_it_unavailable(kind, base):
    assert (
        "is not an http or https address" in kind(api_key=KEY, base_url=base).unavailable_reason()
    )


@each_provider
def test_the_headers_say_json_and_the_products_own_name(kind):
    steps, _ = play(kind(api_key=KEY).search_flow(WebSearchRequest(query="q")), EMPTY[kind])

    headers = dict(steps[0].headers)
    agent = headers.pop("user-agent")
    assert {"accept": "application/json", "content-type": "application/json"} == headers
    assert agent.startswith("dsh-web/")


@each_provider
def test_the_body_is_utf8_json(kind):
    provider = kind(api_key=KEY)
    steps, _ = play(provider.search_flow(WebSearchRequest(query="日本 🎉")), EMPTY[kind])

    assert "日本 🎉".encode() in steps[0].body


@each_provider
@given(query=st.text(min_size=1).filter(str.strip))
def test_any_query_is_sent_as_it_is_up_to_lone_surrogates(kind, query):
    provider = kind(api_key=KEY)
    steps, _ = play(provider.search_flow(WebSearchRequest(query=query)), EMPTY[kind])
    sent = json.loads(steps[0].body)
    text = sent.get("query") or sent.get("input") or sent["messages"][0]["content"]

    assert query.encode("utf-8", "replace").decode() == text


@each_provider
def test_the_callers_extra_body_is_not_changed(kind):
    extra = {"custom": {"a": 1}}
    ask(kind(api_key=KEY, extra_body=extra), EMPTY[kind])

    assert {"custom": {"a": 1}} == extra


# -- vendor rules ------------------------------------------------------------------------------


@each_provider
@pytest.mark.parametrize("name", ["published_after", "published_before"])
def test_recency_beside_publication_dates_is_refused(kind, name):
    error = refused(kind(api_key=KEY), recency="day", **{name: "2026-01-02"})

    assert (
        "recency cannot be combined with published_after or published_before: use one or the other"
        == error.message
    )


@each_provider
def test_recency_beside_update_dates_is_sent(kind):
    body, _ = ask(kind(api_key=KEY), EMPTY[kind], recency="day", updated_after="2026-01-02")

    assert "last_updated_after_filter" in json.dumps(body)


@each_provider
def test_allowed_beside_denied_domains_are_refused(kind):
    error = refused(kind(api_key=KEY), include_domains="a.example", exclude_domains="b.example")

    assert (
        "include_domains and exclude_domains cannot be combined: use one of them" == error.message
    )


@each_provider
@pytest.mark.parametrize("name", ["include_domains", "exclude_domains"])
def test_more_than_twenty_domains_are_refused(kind, name):
    error = refused(kind(api_key=KEY), **{name: [f"d{n}.example" for n in range(21)]})

    assert "21 domains are too many: Perplexity takes at most 20" == error.message


@each_provider
def test_twenty_domains_are_sent(kind):
    domains = [f"d{n}.example" for n in range(20)]
    body, _ = ask(kind(api_key=KEY), EMPTY[kind], include_domains=domains)

    assert json.dumps(domains) in json.dumps(body)


@each_provider
def test_a_domain_that_is_too_long_is_refused(kind):
    error = refused(kind(api_key=KEY), include_domains="a." * 127 + "example")

    assert "is longer than 253 characters" in error.message


@each_provider
def test_a_refusal_names_the_provider_and_is_an_invalid_request(kind):
    error = refused(kind(api_key=KEY), include_domains="a.example", exclude_domains="b.example")

    assert (kind.id, "WEB_INVALID_REQUEST", InvalidRequestError) == (
        error.provider,
        error.code,
        type(error),
    )


# -- errors ------------------------------------------------------------------------------------

INVALID_KEY = {"error": {"message": "Invalid key.", "type": "invalid_api_key", "code": 401}}
MISSING_FIELD = {"detail": [{"loc": ["body", "query"], "msg": "Field required", "type": "x"}]}


@each_provider
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (INVALID_KEY, "Invalid key."),
        ({"error": {"message": "  padded  "}}, "padded"),
        ({"error": {"message": "", "type": "invalid_api_key"}}, "invalid_api_key"),
        ({"error": {"message": None, "type": "t"}, "detail": "d"}, "t"),
        (MISSING_FIELD, "Field required"),
        ({"detail": [{"msg": "One"}, {"msg": "Two"}, {"loc": []}, None, {"msg": 3}]}, "One; Two"),
        ({"detail": "Not found"}, "Not found"),
        ({"error": "text"}, "text"),
        ({"message": "text"}, "text"),
        ({"error": {"code": 5}, "message": "text"}, "text"),
        ({"error": "first", "detail": "second", "message": "third"}, "first"),
        ({"detail": "second", "message": "third"}, "second"),
        (agent_body(status="failed", error={"code": "x", "message": "run failed"}), "run failed"),
    ],
    ids=str,
)
def test_an_http_error_keeps_the_providers_own_message(kind, data, message):
    assert message == error_of(kind, reply(data, status=401)).message


@each_provider
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b"<html><title>401</title></html>",
        b"<!DOCTYPE html>\n<html>",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b'{"error": {}}',
        b'{"error": null, "detail": [], "message": " "}',
        b'{"detail": [{"loc": []}]}',
    ],
)
def test_an_http_error_without_a_message_tells_its_status(kind, body):
    error = error_of(kind, reply(body=body, status=502))

    assert "Perplexity API error (HTTP 502)" == error.message


@each_provider
def test_a_page_for_people_is_no_message(kind):
    response = reply(body=b"Bad Gateway", status=502, content_type="text/html; charset=utf-8")

    assert "Perplexity API error (HTTP 502)" == error_of(kind, response).message


@each_provider
def test_plain_text_is_the_message(kind):
    assert (
        "upstream timed out"
        == error_of(kind, reply(body=b"upstream timed out\n", status=504)).message
    )


@each_provider
def test_a_long_plain_text_is_cut(kind):
    assert "x" * 200 == error_of(kind, reply(body=b"x" * 5000, status=500)).message


@each_provider
def test_an_error_carries_status_request_id_and_wait(kind):
    response = reply({"error": "slow down"}, status=429, x_request_id="r-1", retry_after="7")
    error = error_of(kind, response)

    assert ("WEB_PROVIDER_ERROR", kind.id, 429, "r-1", 7.0, True) == (
        error.code,
        error.provider,
        error.status_code,
        error.request_id,
        error.retry_after,
        error.retryable,
    )


@each_provider
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_an_error_that_will_not_go_away_is_not_retryable(kind, status):
    assert not error_of(kind, reply({}, status=status)).retryable


@each_provider
@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_never_followed(kind, status):
    error = error_of(kind, reply(body=b"", status=status, location="https://evil.example/"))

    assert (
        "Perplexity search request failed: the server answered with a redirect "
        f"(HTTP {status}), which is never followed"
    ) == error.message


@each_provider
def test_a_redirect_error_does_not_repeat_the_target(kind):
    error = error_of(kind, reply(body=b"", status=302, location="https://evil.example/"))

    assert "evil" not in str(error.to_dict())


@each_provider
def test_a_transport_failure_has_the_seams_words(kind):
    error = error_of(kind, TransportError("connection reset by peer"))

    assert ("Perplexity search request failed: connection reset by peer", False) == (
        error.message,
        error.retryable,
    )


@each_provider
def test_a_transport_failure_is_the_cause(kind):
    failure = TransportError("connection reset by peer")

    assert failure is error_of(kind, failure).__cause__


@each_provider
def test_an_unreachable_server_is_worth_another_try(kind):
    assert error_of(kind, TransportError("refused", is_connect_failure=True)).retryable


@each_provider
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "EOF while parsing a value at line 1 column 0"),
        (b"not json", "expected ident at line 1 column 2"),
        (b"<html>", "expected value at line 1 column 1"),
        (b"[]", "it is not a JSON object"),
        (b"null", "it is not a JSON object"),
        (b'"text"', "it is not a JSON object"),
        (b"5", "it is not a JSON object"),
    ],
)
def test_a_body_that_is_no_json_object_is_unprocessable(kind, body, reason):
    error = error_of(kind, reply(body=body, x_request_id="r-1"))

    assert (f"Perplexity returned an unprocessable response body: {reason}", 200, "r-1") == (
        error.message,
        error.status_code,
        error.request_id,
    )


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (PerplexityAgentProvider, agent_body(output="text")),
        (PerplexityAgentProvider, agent_body(output={})),
        (PerplexityAgentProvider, agent_body("text")),
        (PerplexityAgentProvider, agent_body(found("text"))),
        (PerplexityAgentProvider, agent_body({"type": "message", "content": 5})),
        (PerplexityAgentProvider, agent_body({"type": "search_results", "results": {}})),
        (PerplexitySearchProvider, {"results": "text"}),
        (PerplexitySearchProvider, {"results": {}}),
        (PerplexitySearchProvider, {"results": [5]}),
        (PerplexitySearchProvider, {"results": [{"url": 5}]}),
        (PerplexitySonarProvider, sonar_body(5)),
        (PerplexitySonarProvider, {"choices": "text"}),
        (PerplexitySonarProvider, {"choices": ["text"]}),
        (PerplexitySonarProvider, {"choices": [{"message": "text"}]}),
        (PerplexitySonarProvider, {"citations": "text"}),
        (PerplexitySonarProvider, {"citations": [5]}),
    ],
    ids=str,
)
def test_nothing_readable_beside_a_wrong_type_is_unprocessable(kind, data):
    error = error_of(kind, reply(data))

    assert error.message.startswith("Perplexity returned an unprocessable response body: ")


@each_provider
@pytest.mark.parametrize(
    ("data", "message", "status"),
    [
        ({"error": {"message": "over quota", "type": "t", "code": 402}}, "over quota", 402),
        ({"error": {"message": "over quota", "code": "402"}}, "over quota", 200),
        ({"error": {"message": "over quota", "code": 42}}, "over quota", 200),
        ({"error": {"message": "over quota", "code": True}}, "over quota", 200),
        ({"error": "over quota"}, "over quota", 200),
        ({"error": {"type": "quota"}}, "quota", 200),
        ({"error": {"code": 500}}, "Perplexity API error (HTTP 200)", 500),
        ({"error": True}, "Perplexity API error (HTTP 200)", 200),
    ],
    ids=str,
)
def test_an_error_envelope_under_200_is_an_error_with_the_status_that_it_names(
    kind, data, message, status
):
    error = error_of(kind, reply(data, x_request_id="r-1"))

    assert (message, status, "r-1") == (error.message, error.status_code, error.request_id)


@each_provider
def test_a_transient_status_is_tried_again(kind):
    provider = kind(api_key=KEY)
    flow = provider.search_flow(WebSearchRequest(query="q"))
    steps, _ = play(flow, reply({}, status=503), True, EMPTY[kind])

    assert steps[0] == steps[2]


@each_provider
def test_the_number_of_retries_is_a_setting(kind):
    with pytest.raises(ProviderError, match="HTTP 503"):
        play(
            kind(api_key=KEY, max_retries=1).search_flow(WebSearchRequest(query="q")),
            *[reply({}, status=503), True, reply({}, status=503)],
        )


@each_provider
@pytest.mark.parametrize("retries", [-1, 1.5, True, "2"])
def test_a_number_of_retries_that_makes_no_sense_makes_it_unavailable(kind, retries):
    reason = kind(api_key=KEY, max_retries=retries).unavailable_reason()

    assert f"max_retries must be 0 or more, not {retries!r}" == reason


# -- lenient reading ---------------------------------------------------------------------------

GOOD = {
    PerplexityAgentProvider: agent_body(
        found(page(1, date="2026-09-30", last_updated="2026-10-01"), page(2)),
        {"type": "fetch_url_results", "contents": [{"url": "https://p.example/", "title": "P"}]},
        {"type": "image_search_results", "results": [{"image_url": "https://i.example/1.png"}]},
        said("Text.[1]"),
        incomplete_details=None,
        usage={
            "input_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 2},
            "tool_calls_details": {"search_web": {"invocation": 1}},
            "cost": {"total_cost": 0.1},
        },
    ),
    PerplexitySearchProvider: search_body(page(1, date="2026-09-30"), page(2)),
    PerplexitySonarProvider: sonar_body(
        "Text.[1]",
        citations=["https://site1.example/", "https://site2.example/"],
        search_results=[page(1), page(2)],
        related_questions=["Why?"],
        images=[{"image_url": "https://i.example/1.png", "width": 5}],
        usage={"prompt_tokens": 1, "cost": {"total_cost": 0.1}},
    ),
}


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Return the path of every value inside `value`."""
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [spot for name, inner in members for spot in [(*at, name), *places(inner, (*at, name))]]


def replaced(data: Any, place: tuple, new: Any) -> Any:
    changed = copy.deepcopy(data)
    holder = changed
    for name in place[:-1]:
        holder = holder[name]
    if new is MISSING:
        del holder[place[-1]]
    else:
        holder[place[-1]] = new
    return changed


MISSING = object()
WRONG = [MISSING, None, True, 0, -1, 1.5, 10**400, "", "text", [], {}, [None], [[]], {"a": []}]
one_value_wrong = [
    pytest.param(kind, place, id=f"{kind.id}:{'.'.join(map(str, place))}")
    for kind in ALL
    for place in places(GOOD[kind])
]


def outcome_of(kind: type, data: Any) -> WebSearchResult | WebError:
    try:
        return ask(kind(api_key=KEY), reply(data), include_raw=True)[1]
    except ProviderError as error:
        return error


@pytest.mark.parametrize(("kind", "place"), one_value_wrong)
def test_any_one_wrong_value_is_a_result_or_a_provider_error(kind, place):
    outcomes = [outcome_of(kind, replaced(GOOD[kind], place, value)) for value in WRONG]

    assert len(WRONG) == len([o for o in outcomes if isinstance(o, WebSearchResult | WebError)])


OPTIONAL = {
    PerplexityAgentProvider: ["id", "model", "usage", "error", "incomplete_details", "object"],
    PerplexitySearchProvider: ["id", "server_time"],
    PerplexitySonarProvider: ["id", "model", "usage", "images", "related_questions", "object"],
}
optional_fields = [(kind, name) for kind in ALL for name in OPTIONAL[kind]]


@pytest.mark.parametrize(
    ("kind", "name"), optional_fields, ids=[f"{k.id}:{n}" for k, n in optional_fields]
)
@pytest.mark.parametrize("wrong", [MISSING, None, 5, "text", [5], {"a": 5}], ids=repr)
def test_a_bad_optional_field_never_loses_the_sources(kind, name, wrong):
    result = outcome_of(kind, replaced(GOOD[kind], (name,), wrong))

    assert result.sources[0].url == "https://site1.example/"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@each_provider
@given(data=st.data())
def test_any_one_mutated_value_is_a_result_or_a_provider_error(kind, data):
    place = data.draw(st.sampled_from(places(GOOD[kind])))
    outcome = outcome_of(kind, replaced(GOOD[kind], place, data.draw(json_values)))

    assert isinstance(outcome, WebSearchResult | ProviderError)


@each_provider
@given(body=st.binary())
def test_any_bytes_are_a_result_or_a_provider_error(kind, body):
    provider = kind(api_key=KEY)
    try:
        _, outcome = ask(provider, reply(body=body))
    except ProviderError as error:
        outcome = error

    assert isinstance(outcome, WebSearchResult | ProviderError)


@each_provider
def test_unknown_fields_at_every_level_change_nothing(kind):
    extended = copy.deepcopy(GOOD[kind])
    for place in [(), *places(GOOD[kind])]:
        holder = extended
        for name in place:
            holder = holder[name]
        if isinstance(holder, dict):
            holder["unheard_of"] = {"deep": [1]}

    plain, more = outcome_of(kind, GOOD[kind]), outcome_of(kind, extended)
    assert plain.model_copy(update={"raw": None}) == more.model_copy(update={"raw": None})


@each_provider
def test_raw_is_the_decoded_body(kind):
    assert GOOD[kind] == outcome_of(kind, GOOD[kind]).raw


@each_provider
def test_an_empty_object_is_an_empty_result(kind):
    result = outcome_of(kind, {})

    assert (None, ()) == (result.content, result.sources)


@each_provider
def test_a_setting_cannot_change_under_a_running_call(kind):
    with pytest.raises(AttributeError, match="base_url cannot change"):
        kind(api_key=KEY).base_url = "https://evil.example"


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("key", [123, b"bytes-key-0123456789", ["k"]])
def test_a_key_of_a_wrong_type_makes_the_provider_unavailable(kind, key):
    provider = kind(api_key=key)

    assert not provider.available()
    assert "api_key must be a text or a function" in provider.unavailable_reason()


@pytest.mark.parametrize("kind", [PerplexityAgentProvider, PerplexitySonarProvider])
@pytest.mark.parametrize("model", [5, "", "  ", ["sonar"]])
def test_a_model_that_is_no_text_makes_the_provider_unavailable(kind, model):
    provider = kind(api_key=KEY, model=model)

    assert "model must be a non-empty text" == provider.unavailable_reason()


@pytest.mark.parametrize("kind", EMPTY)
def test_extra_fields_cannot_be_changed_from_outside(kind):
    extra = {"nested": {"a": 1}}
    provider = kind(api_key=KEY, extra_body=extra)

    extra["nested"]["a"] = 2
    provider.extra_body["nested"]["a"] = 3

    assert {"nested": {"a": 1}} == provider.extra_body


def test_numbers_that_are_no_json_do_not_spoil_the_raw_body():
    body = b'{"id": "s", "results": [], "odd": NaN, "worse": -Infinity}'
    _, result = ask(PerplexitySearchProvider(api_key=KEY), reply(body=body), include_raw=True)

    assert {"id": "s", "results": [], "odd": None, "worse": None} == result.raw
    assert result == WebSearchResult.model_validate_json(result.model_dump_json())


def test_sonar_falls_back_to_citations_when_no_listed_result_is_usable():
    body = sonar_body(
        search_results=[{"title": "Upload", "url": ""}], citations=["https://a.example/"]
    )
    _, result = ask(PerplexitySonarProvider(api_key=KEY), reply(body))

    assert ["https://a.example/"] == [source.url for source in result.sources]
