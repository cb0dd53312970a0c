import pytest

from dsh_web import PerplexityAgentProvider, ProviderError, UnsupportedFilterError, WebSearchRequest
from tests.core.perplexity import EMPTY_AGENT, KEY, agent_body, ask, found, page, said
from tests.flows import play, reply

NO_SEARCH = "no web search was run: the answer comes from the model's memory"


def agent(**settings: object) -> PerplexityAgentProvider:
    return PerplexityAgentProvider(api_key=KEY, **settings)


def body_for(provider: PerplexityAgentProvider | None = None, **fields: object) -> dict:
    return ask(provider or agent(), EMPTY_AGENT, **fields)[0]


def tool_for(provider: PerplexityAgentProvider | None = None, **fields: object) -> dict:
    return body_for(provider, **fields)["tools"][0]


def result_of(*items: object, **fields: object):
    return ask(agent(), reply(agent_body(*items, **fields)))[1]


def error_of(data: object) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(agent(), reply(data))
    return caught.value


# -- what is sent ------------------------------------------------------------------------------


def test_the_plain_request_is_exactly_this():
    expected = {
        "input": "Who maintains the tz database?",
        "effort": "fast",
        "tools": [{"type": "web_search", "search_type": "fast"}],
        "tool_choice": {"type": "web_search"},
    }
    assert expected == body_for(query="Who maintains the tz database?")


def test_the_request_goes_to_the_agent_path():
    steps, _ = play(agent().search_flow(WebSearchRequest(query="q")), EMPTY_AGENT)

    assert ("POST", "https://api.perplexity.ai/v1/agent") == (steps[0].method, steps[0].url)


@pytest.mark.parametrize(
    "query", [" padded ", "line\n\nline", "日本 🎉 é", 'quo"te \\ back', "\x00\x1f", "a\u2028b"]
)
def test_the_query_is_sent_verbatim(query):
    assert query == body_for(query="." + query)["input"][1:]


def test_a_lone_surrogate_in_the_query_is_replaced_and_the_rest_sent():
    assert "a?b" == body_for(query="a\ud800b")["input"]


@pytest.mark.parametrize("effort", ["low", "medium", "high", "xhigh", "low@2026-10-16.0"])
def test_an_effort_is_sent_and_only_fast_searches_the_fast_way(effort):
    body = body_for(agent(effort=effort))

    assert (effort, [{"type": "web_search"}]) == (body["effort"], body["tools"])


def test_a_pinned_fast_effort_searches_the_fast_way():
    assert "fast" == tool_for(agent(effort="fast@2026-10-16.0"))["search_type"]


def test_the_older_word_for_effort_can_be_sent_instead():
    body = body_for(agent(effort="low", effort_field="preset"))

    assert ("low", False) == (body["preset"], "effort" in body)


def test_a_bare_model_gets_steps_enough_to_search_and_answer():
    body = body_for(agent(effort=None, model="openai/gpt-6-luna"))

    assert ("openai/gpt-6-luna", 3, False) == (body["model"], body["max_steps"], "effort" in body)


def test_a_model_beside_an_effort_keeps_the_efforts_steps():
    assert "max_steps" not in body_for(agent(model="openai/gpt-6-luna"))


def test_the_answer_bound_is_sent_when_set():
    assert 99 == body_for(agent(max_tokens=99))["max_output_tokens"]


@pytest.mark.parametrize("instructions", ["Be brief.", ""])
def test_instructions_are_sent_when_set_even_when_empty(instructions):
    assert instructions == body_for(agent(instructions=instructions))["instructions"]


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"max_results": 5}, {"max_results": 5}),
        ({"max_results": 500}, {"max_results": 50}),
        ({"context_size": "high"}, {"search_context_size": "high"}),
        ({"country": "nz"}, {"user_location": {"country": "NZ"}}),
        ({"max_tokens_per_page": 100}, {"max_tokens_per_page": 100}),
        ({"max_tokens": 1000}, {"max_tokens": 1000}),
        ({"recency": "week"}, {"filters": {"search_recency_filter": "week"}}),
        (
            {"published_after": "2026-01-02", "published_before": "2026-03-04"},
            {
                "filters": {
                    "search_after_date_filter": "01/02/2026",
                    "search_before_date_filter": "03/04/2026",
                }
            },
        ),
        (
            {"updated_after": "2026-01-02", "updated_before": "2026-03-04"},
            {
                "filters": {
                    "last_updated_after_filter": "01/02/2026",
                    "last_updated_before_filter": "03/04/2026",
                }
            },
        ),
        (
            {"include_domains": ["a.example", ".gov"]},
            {"filters": {"search_domain_filter": ["a.example", ".gov"]}},
        ),
        (
            {"exclude_domains": ["a.example"]},
            {"filters": {"search_domain_filter": ["-a.example"]}},
        ),
    ],
    ids=str,
)
def test_a_filter_has_this_form_on_the_wire(fields, sent):
    assert {"type": "web_search", "search_type": "fast", **sent} == tool_for(**fields)


@pytest.mark.parametrize(
    ("mode", "tool"), [("people", "people_search"), ("finance", "finance_search")]
)
def test_a_corpus_of_its_own_is_a_tool_of_its_own(mode, tool):
    body = body_for(mode=mode)

    assert ([{"type": tool}], "required") == (body["tools"], body["tool_choice"])


def test_a_configured_recency_is_sent_when_the_request_has_none():
    assert {"search_recency_filter": "day"} == tool_for(agent(search_recency="day"))["filters"]


def test_the_requests_recency_wins_over_the_configured_one():
    filters = tool_for(agent(search_recency="day"), recency="year")["filters"]

    assert {"search_recency_filter": "year"} == filters


def test_the_requests_dates_displace_the_configured_recency():
    filters = tool_for(agent(search_recency="day"), published_after="2026-01-02")["filters"]

    assert {"search_after_date_filter": "01/02/2026"} == filters


def test_extra_body_is_merged_last():
    body = body_for(agent(extra_body={"temperature": 0, "effort": "low"}))

    assert (0, "low") == (body["temperature"], body["effort"])


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"effort": None}, "either effort or model must be set"),
        (
            {"effort": "extreme"},
            "effort must be one of fast, low, medium, high, xhigh, or pinned like "
            "'fast@2026-10-16.0'",
        ),
        ({"max_tokens": 0}, "max_tokens must be a positive whole number, not 0"),
        ({"max_tokens": True}, "max_tokens must be a positive whole number, not True"),
        ({"max_tokens": 1.5}, "max_tokens must be a positive whole number, not 1.5"),
        ({"effort_field": "level"}, "effort_field must be 'effort' or 'preset'"),
        (
            {"search_recency": "decade"},
            "search_recency must be one of hour, day, week, month, year",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_makes_it_unavailable(settings, reason):
    assert reason == agent(**settings).unavailable_reason()


@pytest.mark.parametrize("effort", ["fast@", "@1", "fast@a b", "", 5])
def test_an_effort_must_be_spelled_right(effort):
    assert not agent(effort=effort).available()


# -- what is read ------------------------------------------------------------------------------


def test_sources_keep_the_providers_numbers_whatever_their_gaps():
    result = result_of(found(page(11), page(12)), found(page(31)), said("x [web:31]"))

    assert [(11,), (12,), (31,)] == [source.ids for source in result.sources]


def test_a_source_has_every_field_that_was_sent():
    entry = page(7, "https://a.example/x", date="2026-09-30", last_updated="2026-10-01")
    source = result_of(found(entry), said("x")).sources[0]

    expected = {
        "url": "https://a.example/x",
        "title": "Title 7",
        "snippet": "Text.",
        "published_at": "2026-09-30",
        "updated_at": "2026-10-01",
        "excerpts": (),
        "ids": (7,),
        "origin": "result",
    }
    assert expected == source.model_dump()


def test_a_repeated_url_is_one_source_with_both_numbers():
    result = result_of(
        found(page(1, "https://a.example/", title="First"), page(2)),
        found(page(3, "https://a.example/", title="Later")),
        said("x"),
    )

    assert [("First", (1, 3)), ("Title 2", (2,))] == [(s.title, s.ids) for s in result.sources]


def test_a_url_that_is_merely_alike_is_another_source():
    result = result_of(found(page(1, "https://a.example"), page(2, "https://a.example/")))

    assert ["https://a.example", "https://a.example/"] == [s.url for s in result.sources]


def test_a_fetched_page_is_a_source_without_a_number():
    fetched = {
        "type": "fetch_url_results",
        "contents": [{"url": "https://p.example/", "title": "Page", "snippet": "Long text."}],
    }
    source = result_of(fetched, said("x [web:0]")).sources[0]

    assert ("https://p.example/", (), "page") == (source.url, source.ids, source.origin)


def test_fetching_a_page_counts_as_having_searched():
    fetched = {"type": "fetch_url_results", "contents": [{"url": "https://p.example/"}]}

    assert () == result_of(fetched, said("x")).warnings


def test_a_fetched_page_that_was_also_found_is_one_source():
    fetched = {"type": "fetch_url_results", "contents": [{"url": "https://site1.example/"}]}

    assert [(1,)] == [s.ids for s in result_of(found(page(1)), fetched, said("x")).sources]


def test_people_are_sources_too():
    people = {"type": "people_search_results", "results": [page(4)]}

    assert [(4,)] == [source.ids for source in result_of(people, said("x")).sources]


def test_the_answer_is_all_text_parts_of_all_messages():
    assert "One two. Three." == result_of(said("One ", "two."), said(" Three.")).content


def test_other_parts_of_a_message_are_no_answer():
    message = said("Yes.")
    message["content"] += [{"type": "refusal", "refusal": "No."}, {"type": "output_text"}, None, 5]

    assert "Yes." == result_of(message).content


def test_items_of_unknown_types_are_skipped():
    strange = [{"type": "hologram", "results": [page(9)]}, {}, {"type": None}, {"type": ["x"]}]
    result = result_of(*strange, found(page(1)), said("x"))

    assert ([(1,)], "x") == ([source.ids for source in result.sources], result.content)


def test_items_that_are_no_objects_are_skipped():
    assert "x" == result_of(None, 5, "text", ["list"], said("x")).content


def test_an_answer_without_any_search_warns():
    assert (NO_SEARCH,) == result_of(said("From memory.")).warnings


def test_a_search_that_found_nothing_is_still_a_search():
    assert () == result_of(found(), said("Nothing there.")).warnings


def test_sources_without_an_answer_are_a_result():
    result = result_of(found(page(1)))

    assert (None, 1) == (result.content, len(result.sources))


def test_an_empty_answer_is_none():
    assert result_of(found(page(1)), said("")).content is None


def test_a_completed_run_stopped():
    assert "stop" == result_of(said("x")).finish_reason


def test_the_model_that_answered_is_kept():
    assert "openai/gpt-6-luna" == result_of(said("x")).model


def test_the_providers_id_is_the_request_id():
    assert "resp_1" == result_of(said("x")).request_id


def test_without_a_body_id_the_header_names_the_request():
    response = reply(agent_body(said("x"), id=None), x_request_id="h-1")

    assert "h-1" == ask(agent(), response)[1].request_id


@pytest.mark.parametrize("details", [{"reason": "max_output_tokens"}, None, {}, 5])
def test_an_incomplete_run_is_a_result_that_warns(details):
    result = result_of(found(page(1)), said("Cut"), status="incomplete", incomplete_details=details)

    assert ("length", ("the answer was cut at the token limit",)) == (
        result.finish_reason,
        result.warnings,
    )


def test_another_reason_for_being_incomplete_is_told():
    result = result_of(
        found(page(1)), status="incomplete", incomplete_details={"reason": "cancelled"}
    )

    assert ("the answer is incomplete: cancelled",) == result.warnings


def test_an_incomplete_run_without_output_is_still_a_result():
    result = result_of(status="incomplete", incomplete_details={"reason": "max_output_tokens"})

    assert (None, "length") == (result.content, result.finish_reason)


def test_a_failed_run_raises_with_its_message():
    error = error_of(
        agent_body(
            status="failed", error={"code": "boom", "message": "model overloaded", "type": "x"}
        )
    )

    assert ("WEB_PROVIDER_ERROR", "model overloaded", 200, None) == (
        error.code,
        error.message,
        error.status_code,
        error.request_id,
    )


@pytest.mark.parametrize("status", ["failed", "cancelled"])
@pytest.mark.parametrize("reason", [None, {}, {"message": None}, 5])
def test_a_run_that_ended_badly_without_a_message_says_how(status, reason):
    error = error_of(agent_body(said("partial"), status=status, error=reason))

    assert f"the run ended with status {status!r}" == error.message


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_an_unfinished_run_is_an_error_that_says_so(status):
    error = error_of(agent_body(status=status))

    assert (
        f"the run is not finished (status {status!r}): send it without background" == error.message
    )


@pytest.mark.parametrize("status", ["requires_action", "paused_for_tea"])
def test_an_unknown_status_is_kept_as_the_finish_reason(status):
    assert status == result_of(said("x"), status=status).finish_reason


@pytest.mark.parametrize("status", [None, 5, [], {}])
def test_a_status_of_a_wrong_type_counts_as_absent(status):
    assert ("x", "stop") == (
        (result := result_of(said("x"), status=status)).content,
        result.finish_reason,
    )


def test_usage_is_read():
    result = result_of(
        found(page(1)),
        said("x"),
        usage={
            "input_tokens": 3271,
            "output_tokens": 80,
            "total_tokens": 3351,
            "output_tokens_details": {"reasoning_tokens": 20},
            "tool_calls_details": {
                "search_web": {"invocation": 2, "cost_usd": 0.001},
                "search_people": {"invocation": 1},
                "fetch_url": {"invocation": 9},
            },
            "cost": {"currency": "USD", "total_cost": 0.00485},
        },
    )

    expected = {
        "input_tokens": 3271,
        "output_tokens": 80,
        "total_tokens": 3351,
        "reasoning_tokens": 20,
        "searches": 3,
        "cost_usd": 0.00485,
    }
    assert expected | {"cost_is_estimate": False} == result.usage.model_dump()


@pytest.mark.parametrize("usage", [None, {}, [], "none", 5])
def test_no_usage_is_none(usage):
    assert result_of(said("x"), usage=usage).usage is None


@pytest.mark.parametrize("bad", ["12", True, 1.5, None, [], {}, float("nan"), 10**400])
def test_a_count_of_a_wrong_type_is_unknown(bad):
    usage = result_of(said("x"), usage={"input_tokens": bad, "output_tokens": 8}).usage

    assert (None, 8) == (usage.input_tokens, usage.output_tokens)


def test_pictures_are_read():
    images = {
        "type": "image_search_results",
        "results": [
            {
                "image_url": "https://i.example/1.png",
                "origin_url": "https://p.example/",
                "width": 640,
                "height": 480,
                "title": "A bee",
            },
            {"image_url": "ftp://i.example/2.png"},
            {"image_url": None},
        ],
    }

    expected = {
        "url": "https://i.example/1.png",
        "page_url": "https://p.example/",
        "title": "A bee",
        "width": 640,
        "height": 480,
    }
    assert [expected] == [image.model_dump() for image in result_of(images, said("x")).images]


@pytest.mark.parametrize("bad", [True, "11", 1.0, None, [1]])
def test_a_number_of_a_wrong_type_is_no_number(bad):
    assert () == result_of(found(page(1, id=bad)), said("x")).sources[0].ids


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "https://a.example",
        5,
        [],
        {},
        {"url": None},
        {"url": ""},
        {"url": 5},
        {"url": "ftp://a.example/"},
        {"url": "javascript:alert(1)"},
        {"url": "/relative"},
        {"url": "https://"},
        {"url": "https://["},
    ],
    ids=repr,
)
def test_one_bad_entry_does_not_lose_the_others_and_is_counted(entry):
    result = result_of(found(page(1), entry, page(3)), said("x"))

    assert ([(1,), (3,)], ("1 source entry without a usable http(s) address left out",)) == (
        [source.ids for source in result.sources],
        result.warnings,
    )


def test_several_bad_entries_are_one_warning():
    result = result_of(found({}, None, page(3)), said("x"))

    assert ("2 source entries without a usable http(s) address left out",) == result.warnings


# -- combinations ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["people", "finance"])
@pytest.mark.parametrize(
    "fields",
    [
        {"recency": "week"},
        {"include_domains": "a.example"},
        {"updated_after": "2026-01-02"},
        {"country": "NZ"},
        {"context_size": "low"},
        {"max_tokens": 5},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_corpus_that_takes_no_filters_refuses_them(mode, fields):
    with pytest.raises(UnsupportedFilterError, match=next(iter(fields))):
        next(agent().search_flow(WebSearchRequest(query="q", mode=mode, **fields)))


def test_a_filter_that_a_corpus_does_not_take_is_a_warning_on_request():
    _, result = ask(
        agent(),
        reply(agent_body(found(page(1)), said("x"))),
        mode="people",
        recency="week",
        on_unsupported="warn",
    )

    assert (
        "Perplexity does not support the filter recency with mode=people; it was left out",
    ) == result.warnings
