import copy
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from dsh_web import (
    InvalidRequestError,
    ParallelSearchProvider,
    ProviderError,
    UnsupportedFilterError,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
)
from dsh_web.flow import ReadClock, Sleep, TransportError
from tests.core.parallel import BASE, EMPTY_FOUND, KEY, found_body, hit
from tests.core.perplexity import ask, refused
from tests.flows import play, reply, sent_json

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC).timestamp()


def provider(**settings: Any) -> ParallelSearchProvider:
    return ParallelSearchProvider(api_key=KEY, **settings)


def sent(*, query: str = "q", now: float | None = None, **fields: Any) -> dict[str, Any]:
    """Return the body that a call sends; settings of the provider are in `settings`."""
    settings = fields.pop("settings", {})
    flow = provider(**settings).search_flow(WebSearchRequest(query=query, **fields))
    steps, _ = play(flow, *([] if now is None else [now]), EMPTY_FOUND)
    return sent_json(steps[-1])


def result_of(*results: object, request: Any = None, **fields: object) -> WebSearchResult:
    _, result = ask(provider(), reply(found_body(*results, **fields)), **(request or {}))
    return result


def error_of(response: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(provider(max_retries=0), response)
    return caught.value


# -- the request -------------------------------------------------------------------------------


def test_keywords_are_sent_as_the_one_search_query():
    expected = {
        "search_queries": ["tidal power"],
        "mode": "basic",
        "advanced_settings": {"max_results": 10},
    }
    assert expected == sent(query="tidal power")


def test_a_question_is_sent_as_objective_and_as_search_query():
    body = sent(query="Which tidal plant is the largest?")

    expected = ("Which tidal plant is the largest?", ["Which tidal plant is the largest?"])
    assert expected == (body["objective"], body["search_queries"])


def test_a_cut_query_is_warned_of_in_the_result():
    query = "how the tides of the bay were measured " * 8
    _, result = ask(provider(), EMPTY_FOUND, query=query)

    assert "the first 198 of the query were sent" in result.warnings[0]


def test_objective_and_search_queries_of_the_call_win_over_those_of_the_provider():
    settings = {"objective": "Ours.", "search_queries": ["ours"]}
    body = sent(settings=settings, objective="Theirs.", search_queries=["theirs"])

    assert ("Theirs.", ["theirs"]) == (body["objective"], body["search_queries"])


def test_objective_and_search_queries_of_the_provider_hold_for_every_call():
    body = sent(settings={"objective": "Ours.", "search_queries": "ours"})

    assert ("Ours.", ["ours"]) == (body["objective"], body["search_queries"])


@pytest.mark.parametrize(("asked", "shown"), [(None, 10), (1, 1), (20, 20), (50, 20)])
def test_the_number_of_results_is_always_sent_and_never_above_what_the_api_takes(asked, shown):
    assert shown == sent(max_results=asked)["advanced_settings"]["max_results"]


def test_every_setting_has_its_place_in_the_body():
    policy = {"max_age_seconds": 600, "timeout_seconds": 30.0, "disable_cache_fallback": True}
    body = sent(
        settings={
            "mode": "fast",
            "max_chars_total": 9000,
            "max_chars_per_result": 1500,
            "client_model": "some-model",
            "session_id": "s1",
            "fetch_policy": policy,
        }
    )

    assert {
        "search_queries": ["q"],
        "mode": "fast",
        "max_chars_total": 9000,
        "client_model": "some-model",
        "session_id": "s1",
        "advanced_settings": {
            "max_results": 10,
            "fetch_policy": policy,
            "excerpt_settings": {"max_chars_per_result": 1500},
        },
    } == body


def test_the_key_travels_in_a_header_that_nothing_prints():
    steps, _ = play(provider().search_flow(WebSearchRequest(query="q")), EMPTY_FOUND)
    wire = steps[0]

    assert (f"{BASE}/v1/search", "POST", None) == (wire.url, wire.method, wire.bearer)
    assert ["x-api-key"] == list(wire.secret_headers)
    assert KEY == wire.secret_headers["x-api-key"].reveal()
    assert KEY not in repr(wire)


def test_an_extra_body_is_merged_into_the_objects_that_are_there():
    extra = {"advanced_settings": {"max_results": 3, "new": 1}, "other": 2}
    body = sent(country="NZ", settings={"extra_body": extra})

    assert 2 == body["other"]
    assert {"max_results": 3, "new": 1, "location": "nz"} == body["advanced_settings"]


@pytest.mark.parametrize(
    ("extra", "fields", "lost"),
    [
        ({"advanced_settings": {"location": "us"}}, {"country": "NZ"}, "advanced_settings.loc"),
        ({"advanced_settings": None}, {"country": "NZ"}, "'advanced_settings'"),
        ({"search_queries": ["x"]}, {"search_queries": ["y"]}, "'search_queries'"),
    ],
)
def test_an_extra_body_cannot_take_a_filter_out_unseen(extra, fields, lost):
    error = refused(provider(extra_body=extra), **fields)

    assert lost in error.message
    assert "carries a filter that is set" in error.message


def test_a_query_that_fits_only_beside_an_objective_can_have_an_extra_body():
    extra = {"advanced_settings": {"max_results": 3}}
    body = sent(query="why? " * 1100, objective="To know.", settings={"extra_body": extra})

    assert ("To know.", 3) == (body["objective"], body["advanced_settings"]["max_results"])


# -- filters -----------------------------------------------------------------------------------


def test_the_first_day_of_publication_is_sent_as_it_is():
    body = sent(published_after="2026-10-31")

    assert {"after_date": "2026-10-31"} == body["advanced_settings"]["source_policy"]


@pytest.mark.parametrize(
    ("recency", "day"),
    [
        ("hour", "2026-12-01"),
        ("day", "2026-11-30"),
        ("week", "2026-11-24"),
        ("month", "2026-10-31"),
        ("year", "2025-11-30"),
    ],
)
def test_a_recency_window_is_sent_as_its_first_day(recency, day):
    body = sent(recency=recency, now=NOON)

    assert {"after_date": day} == body["advanced_settings"]["source_policy"]


def test_the_clock_is_read_only_for_a_recency_window():
    flow = provider().search_flow(WebSearchRequest(query="q", recency="day"))
    steps, _ = play(flow, NOON, EMPTY_FOUND)

    assert ReadClock() == steps[0]


@pytest.mark.parametrize(("after", "day"), [("2026-11-01", "2026-11-24"), ("2026-11-29",) * 2])
def test_of_a_window_and_a_day_the_later_holds(after, day):
    body = sent(recency="week", published_after=after, now=NOON)

    assert {"after_date": day} == body["advanced_settings"]["source_policy"]


@pytest.mark.parametrize("name", ["include_domains", "exclude_domains"])
def test_sites_suffixes_and_parts_of_a_site_are_sent(name):
    sites = ["a.example", ".gov", "b.example/Docs/x"]
    body = sent(**{name: sites})

    assert {name: sites} == body["advanced_settings"]["source_policy"]


@pytest.mark.parametrize("name", ["include_domains", "exclude_domains"])
@pytest.mark.parametrize(
    ("site", "message"),
    [
        (
            "www.gov.uk",
            "'www.gov.uk': Parallel would drop the 'www.' and take the whole of 'gov.uk': "
            "name other sites, or use another provider",
        ),
        ("gov", "'gov' is no site: give '.gov' for every site under that suffix"),
    ],
)
def test_a_site_that_parallel_would_widen_is_refused_with_what_to_change(name, site, message):
    assert message == refused(provider(), **{name: [site]}).message


def test_a_part_of_a_site_is_refused_in_the_mode_that_takes_none():
    error = refused(provider(mode="turbo"), include_domains=["a.example/docs"])

    assert (
        "'a.example/docs': Parallel's mode 'turbo' takes no part of a site: name the site "
        "'a.example', or use the mode 'fast', 'basic' or 'advanced'"
    ) == error.message


def test_allowed_beside_denied_sites_are_refused():
    error = refused(provider(), include_domains=["a.example"], exclude_domains=["b.example"])

    assert (
        "include_domains and exclude_domains cannot be combined, Parallel would ignore the "
        "latter: use one of them"
    ) == error.message


def test_two_hundred_sites_are_sent_and_one_more_is_refused():
    sites = [f"s{number}.example" for number in range(201)]
    policy = sent(include_domains=sites[:200])["advanced_settings"]["source_policy"]

    assert 200 == len(policy["include_domains"])
    assert (
        "201 domains are too many: Parallel takes at most 200"
        == refused(provider(), include_domains=sites).message
    )


@pytest.mark.parametrize(
    ("url", "site", "is_within"),
    [
        ("https://a.example/", "a.example", True),
        ("https://Docs.A.example:8443/x", "a.example", True),
        ("https://nota.example/", "a.example", False),
        ("https://x.gov/", ".gov", True),
        ("https://gov.example/", ".gov", False),
        ("https://a.example/blog", "a.example/blog", True),
        ("https://a.example/blog/x?y=1", "a.example/blog", True),
        ("https://a.example/blogroll", "a.example/blog", False),
        ("https://a.example/Blog/x", "a.example/blog", False),
        ("https://münchen.example/", "münchen.example", True),
    ],
)
def test_a_page_that_a_filter_rules_out_is_warned_of(url, site, is_within):
    answer = reply(found_body(hit(1) | {"url": url}))
    _, allowed = ask(provider(), answer, include_domains=[site])
    _, denied = ask(provider(), answer, exclude_domains=[site])

    text = "1 source that {} rules out came back: Parallel did not keep to the filter"
    assert (() if is_within else (text.format("include_domains"),)) == allowed.warnings
    assert ((text.format("exclude_domains"),) if is_within else ()) == denied.warnings
    assert [url] == [source.url for source in allowed.sources]


def test_a_country_is_sent_in_small_letters():
    assert "nz" == sent(country="NZ")["advanced_settings"]["location"]


@pytest.mark.parametrize(
    ("fields", "filter_name"),
    [
        ({"published_before": "2026-01-01"}, "published_before"),
        ({"updated_after": "2026-01-01"}, "updated_after"),
        ({"updated_before": "2026-01-01"}, "updated_before"),
        ({"languages": ["en"]}, "languages"),
        ({"context_size": "low"}, "context_size"),
        ({"max_tokens": 5}, "max_tokens"),
        ({"max_tokens_per_page": 5}, "max_tokens_per_page"),
        ({"mode": "academic"}, "mode=academic"),
        ({"mode": "sec"}, "mode=sec"),
        ({"mode": "people"}, "mode=people"),
        ({"mode": "finance"}, "mode=finance"),
    ],
)
def test_what_parallel_has_nothing_like_is_refused_before_sending(fields, filter_name):
    runtime = WebRuntime()
    runtime.register_search_provider(provider())

    with pytest.raises(UnsupportedFilterError) as caught:
        runtime.search("q", **fields)
    assert f"Parallel does not support the filter {filter_name}" in caught.value.message


def test_a_call_is_explained_with_the_day_that_would_be_sent():
    runtime = WebRuntime()
    runtime.register_search_provider(provider())
    shown = runtime.explain("q", recency="week", country="NZ")

    assert {"recency": "approximate", "country": "approximate"} == shown.filters
    assert "[masked]" == shown.headers["x-api-key"]
    policy = shown.body["advanced_settings"]["source_policy"]
    assert datetime.fromisoformat(policy["after_date"]) < datetime.now()
    assert 0.005 == shown.estimated_cost_usd


# -- the result --------------------------------------------------------------------------------


def test_a_source_has_every_field_that_was_sent():
    source = result_of(hit(1, "First part.", "Second part.")).sources[0]

    assert {
        "url": "https://site1.example/",
        "title": "Title 1",
        "snippet": "First part.\n\nSecond part.",
        "excerpts": ("First part.", "Second part."),
        "published_at": "2026-03-01",
        "updated_at": None,
        "ids": (),
        "origin": "result",
    } == source.model_dump()


@pytest.mark.parametrize("excerpts", [None, [], "text", [None, 3, " "]])
def test_a_page_without_a_readable_excerpt_is_still_a_source(excerpts):
    entry = hit(1, title=None, publish_date=None) | {"excerpts": excerpts}
    source = result_of(entry).sources[0]

    assert (None, (), None, None) == (
        source.snippet,
        source.excerpts,
        source.title,
        source.published_at,
    )


def test_a_broken_entry_does_not_lose_the_others():
    result = result_of(hit(1), {"url": "ftp://x"}, 7, hit(2, title=5, publish_date=6))

    assert ["https://site1.example/", "https://site2.example/"] == [s.url for s in result.sources]
    assert ("2 source entries without a usable http(s) address left out",) == result.warnings


def test_a_search_has_no_answer_and_carries_the_vendors_id():
    result = result_of(hit(1))

    assert (None, "search_1", "parallel") == (result.content, result.request_id, result.provider)


@pytest.mark.parametrize(
    ("warnings", "expected"),
    [
        (None, ()),
        (
            [
                {"type": "input_validation_warning", "message": "max_results lowered to 20"},
                {"type": "warning", "message": "location not supported", "detail": {"l": "uk"}},
            ],
            (
                "Parallel: max_results lowered to 20 (input_validation_warning)",
                "Parallel: location not supported (warning)",
            ),
        ),
        ([{"message": "no type"}, {"type": "alone"}], ("Parallel: no type", "Parallel: alone")),
        ([5, {}, {"message": 3}], ()),
    ],
)
def test_what_the_vendor_warns_of_is_in_the_result(warnings, expected):
    assert expected == result_of(hit(1), warnings=warnings).warnings


@pytest.mark.parametrize(
    ("usage", "searches", "cost"),
    [
        ([{"name": "sku_search", "count": 1}], 1, 0.005),
        (
            [
                {"name": "sku_search", "count": 1},
                {"name": "sku_search_additional_results", "count": 7},
            ],
            1,
            0.012,
        ),
        ([{"name": "sku_search", "count": 2}, {"name": "sku_new", "count": 9}], 2, 0.010),
        ([], 1, 0.005),
        (None, 1, 0.005),
        ([{"name": "sku_search", "count": "x"}, {"name": 3, "count": 1}], 1, 0.005),
        ([{"name": "sku_search", "count": -5}], 1, 0.005),
    ],
)
def test_the_counters_become_searches_and_an_estimated_cost(usage, searches, cost):
    found = result_of(hit(1), usage=usage).usage

    assert (searches, cost, True) == (found.searches, found.cost_usd, found.cost_is_estimate)


@pytest.mark.parametrize(
    ("mode", "most", "cost"),
    [("turbo", 10, 0.001), ("fast", 12, 0.003), ("basic", 10, 0.005), ("advanced", 20, 0.015)],
)
def test_a_request_is_priced_by_its_mode_and_its_results_beyond_ten(mode, most, cost):
    request = WebSearchRequest(query="q", max_results=most)

    assert cost == pytest.approx(provider(mode=mode).estimated_cost(request))


@pytest.mark.parametrize("body", [{}, {"results": None}, {"results": []}])
def test_an_empty_list_is_a_result_without_sources(body):
    _, result = ask(provider(), reply(body))

    assert () == result.sources


@pytest.mark.parametrize("body", [[], "x", {"results": "x"}, {"results": [1]}])
def test_a_body_that_makes_no_sense_is_an_error(body):
    assert error_of(reply(body)).message.startswith(
        "Parallel returned an unprocessable response body: "
    )


def test_a_stored_body_is_read_without_sending():
    result = provider().read_body(found_body(hit(1)), include_raw=True)

    assert ("https://site1.example/", "search_1") == (result.sources[0].url, result.request_id)
    assert found_body(hit(1)) == result.raw


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"type": "error", "error": {"ref_id": "r1", "message": "Bad mode"}}, "Bad mode"),
        ({"error": {"message": "Bad mode"}}, "Bad mode"),
        (
            {"detail": [{"loc": ["body", "mode"], "msg": "Bad mode", "type": "enum"}]},
            "Bad mode",
        ),
        ({"error": {"message": "Bad mode", "type": "x", "code": 7}}, "Bad mode"),
        ({}, "Parallel API error (HTTP 422)"),
    ],
)
def test_every_shape_of_an_error_keeps_the_vendors_message(body, message):
    error = error_of(reply(body, status=422))

    assert (message, 422, False, "parallel") == (
        error.message,
        error.status_code,
        error.retryable,
        error.provider,
    )


def test_an_error_in_plain_text_keeps_its_text():
    assert "upstream said no" == error_of(reply(body=b"upstream said no", status=502)).message


def test_the_reference_of_an_error_is_its_request_id():
    body = {"type": "error", "error": {"ref_id": "search_9", "message": "No"}}

    assert "search_9" == error_of(reply(body, status=402)).request_id


def test_an_error_under_http_200_is_an_error():
    body = {"type": "error", "error": {"ref_id": "search_9", "message": "No"}}
    error = error_of(reply(body))

    assert ("No", "search_9") == (error.message, error.request_id)


def test_a_message_that_echoes_the_key_is_masked():
    body = {"type": "error", "error": {"ref_id": KEY, "message": f"key {KEY} is wrong"}}
    error = error_of(reply(body, status=401))

    assert ("key [masked] is wrong", "[masked]") == (error.message, error.request_id)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again(status):
    flow = provider().search_flow(WebSearchRequest(query="q"))
    steps, _ = play(flow, reply({}, status=status), True, EMPTY_FOUND)

    assert isinstance(steps[1], Sleep)
    assert steps[0] == steps[2]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_what_stays_wrong_is_not_tried_again(status):
    with pytest.raises(ProviderError):
        play(provider().search_flow(WebSearchRequest(query="q")), reply({}, status=status))


def test_the_servers_own_word_on_trying_again_overrules_the_status():
    flow = provider().search_flow(WebSearchRequest(query="q"))
    play(flow, reply({}, status=400, x_should_retry="true"), True, EMPTY_FOUND)

    error = error_of(reply({}, status=503, x_should_retry="false"))
    assert not error.retryable


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error(status):
    error = error_of(reply({}, status=status, location="https://other.example/"))

    assert (
        "Parallel search request failed: the server answered with a redirect "
        f"(HTTP {status}), which is never followed"
    ) == error.message


def test_a_failure_below_http_names_the_vendor():
    with pytest.raises(ProviderError) as caught:
        play(
            provider().search_flow(WebSearchRequest(query="q")),
            TransportError(f"reset while sending {KEY}"),
        )

    assert "Parallel search request failed: reset while sending [masked]" == caught.value.message


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"mode": "agentic"}, "mode must be one of turbo, fast, basic, advanced, not 'agentic'"),
        ({"max_chars_total": 0}, "max_chars_total must be a positive whole number, not 0"),
        ({"max_chars_per_result": 1.5}, "max_chars_per_result must be a positive whole number"),
        ({"client_model": " "}, "client_model must be a non-empty text"),
        ({"session_id": "s" * 1001}, "session_id must have at most 1000 characters"),
        ({"objective": ""}, "objective must be a non-empty text"),
        ({"objective": "o" * 5001}, "the objective is 5,001 characters long"),
        ({"search_queries": ["a", " "]}, "each of search_queries must be a non-empty text"),
        ({"search_queries": [3]}, "each of search_queries must be a non-empty text"),
        ({"search_queries": list("abcdef")}, "6 search_queries are too many"),
        ({"fetch_policy": {"max_age": 1}}, "fetch_policy takes max_age_seconds, "),
        ({"fetch_policy": {"max_age_seconds": 599}}, "max_age_seconds must be 600 or more"),
        ({"base_url": "api.parallel.ai"}, "is not an http or https address"),
        ({"max_retries": -1}, "max_retries must be 0 or more"),
    ],
)
def test_a_setting_that_cannot_work_makes_the_provider_unavailable(settings, reason):
    assert reason in (provider(**settings).unavailable_reason() or "")


def test_without_a_key_the_provider_names_its_variable():
    assert (
        "no API key: set PARALLEL_API_KEY or pass api_key"
        == ParallelSearchProvider().unavailable_reason()
    )


def test_key_and_address_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PARALLEL_API_KEY", f" {KEY}\n")
    monkeypatch.setenv("PARALLEL_BASE_URL", "https://gw.example/x/")
    made = ParallelSearchProvider()
    steps, _ = play(made.search_flow(WebSearchRequest(query="q")), EMPTY_FOUND)

    assert made.available()
    assert "https://gw.example/x/v1/search" == steps[0].url
    assert KEY == steps[0].secret_headers["x-api-key"].reveal()


def test_perplexitys_key_does_not_open_parallel(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)

    assert not ParallelSearchProvider().available()


def test_a_pickled_provider_carries_no_key():
    pickled = pickle.dumps(provider(mode="fast", fetch_policy={"max_age_seconds": 600}))
    made = pickle.loads(pickled)

    assert KEY.encode() not in pickled
    assert ("fast", {"max_age_seconds": 600}, False) == (
        made.mode,
        made.fetch_policy,
        made.available(),
    )


def test_a_setting_cannot_change_after_construction():
    made = provider()

    with pytest.raises(AttributeError, match="mode cannot change"):
        made.mode = "fast"
    assert made is copy.deepcopy(made)
    assert KEY not in json.dumps(repr(made))


def test_a_caller_cannot_change_the_fetch_policy_from_outside():
    policy = {"max_age_seconds": 600}
    made = provider(fetch_policy=policy)
    policy["max_age_seconds"] = 1
    made.fetch_policy["max_age_seconds"] = 2

    assert {"max_age_seconds": 600} == made.fetch_policy


# -- several queries ---------------------------------------------------------------------------


def test_queries_are_searched_one_by_one_unless_joint_ones_are_asked_for():
    assert (1, 5) == (
        provider().most_joint_queries,
        provider(joint_queries=True).most_joint_queries,
    )


def test_joint_queries_are_one_request():
    request = WebSearchRequest(query="tides", max_results=8)
    flow = provider(joint_queries=True).search_many_flow(["tides", "Why waves?"], request)
    steps, result = play(flow, reply(found_body(hit(1), hit(2))))

    body = sent_json(steps[0])
    assert ("Why waves?", ["tides", "Why waves?"]) == (body["objective"], body["search_queries"])
    assert 2 == len(result.sources)


def test_a_refusal_of_the_query_names_the_provider():
    error = refused(provider(), search_queries=["b" * 201])

    assert isinstance(error, InvalidRequestError)
    assert "parallel" == error.provider
