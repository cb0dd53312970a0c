import pytest

from dsh_web import PerplexitySonarProvider, ProviderError, WebSearchRequest
from tests.core.perplexity import EMPTY_SONAR, KEY, ask, sonar_body
from tests.flows import play, reply


def sonar(**settings: object) -> PerplexitySonarProvider:
    return PerplexitySonarProvider(api_key=KEY, **settings)


def body_for(provider: PerplexitySonarProvider | None = None, **fields: object) -> dict:
    return ask(provider or sonar(), EMPTY_SONAR, **fields)[0]


def result_of(content: object = "Bees dance.[1]", **fields: object):
    return ask(sonar(), reply(sonar_body(content, **fields)))[1]


def listed(number: int, **fields: object) -> dict:
    return {"url": f"https://site{number}.example/", "title": f"Title {number}", **fields}


def test_the_plain_request_is_exactly_this():
    expected = {
        "model": "sonar",
        "messages": [{"role": "user", "content": "Why do bees dance?"}],
        "max_tokens": 1024,
    }
    assert expected == body_for(query="Why do bees dance?")


def test_the_request_goes_to_the_chat_path():
    steps, _ = play(sonar().search_flow(WebSearchRequest(query="q")), EMPTY_SONAR)

    assert "https://api.perplexity.ai/chat/completions" == steps[0].url


@pytest.mark.parametrize("query", [" padded ", "line\nline", "日本 🎉", '"phrase" \\'])
def test_the_query_is_the_sole_message_verbatim(query):
    assert [{"role": "user", "content": query}] == body_for(query=query)["messages"]


def test_model_and_bound_are_settings():
    body = body_for(sonar(model="sonar-pro", max_tokens=7))

    assert ("sonar-pro", 7) == (body["model"], body["max_tokens"])


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"max_results": 5}, {}),
        ({"recency": "day"}, {"search_recency_filter": "day"}),
        ({"published_after": "2026-01-02"}, {"search_after_date_filter": "01/02/2026"}),
        ({"published_before": "2026-01-02"}, {"search_before_date_filter": "01/02/2026"}),
        ({"updated_after": "2026-01-02"}, {"last_updated_after_filter": "01/02/2026"}),
        ({"updated_before": "2026-01-02"}, {"last_updated_before_filter": "01/02/2026"}),
        ({"include_domains": ["a.example"]}, {"search_domain_filter": ["a.example"]}),
        ({"exclude_domains": ["a.example"]}, {"search_domain_filter": ["-a.example"]}),
        ({"languages": ["en"]}, {"search_language_filter": ["en"]}),
        ({"country": "NZ"}, {"web_search_options": {"user_location": {"country": "NZ"}}}),
        ({"context_size": "low"}, {"web_search_options": {"search_context_size": "low"}}),
        ({"mode": "academic"}, {"search_mode": "academic"}),
        ({"mode": "sec"}, {"search_mode": "sec"}),
        ({"mode": "web"}, {}),
    ],
    ids=str,
)
def test_a_filter_has_this_form_on_the_wire(fields, sent):
    plain = body_for()

    assert {**plain, **sent} == body_for(**fields)


def test_a_configured_recency_is_sent_when_the_request_has_none():
    assert "month" == body_for(sonar(search_recency="month"))["search_recency_filter"]


def test_the_requests_recency_wins_over_the_configured_one():
    body = body_for(sonar(search_recency="month"), recency="hour")

    assert "hour" == body["search_recency_filter"]


def test_the_requests_dates_displace_the_configured_recency():
    body = body_for(sonar(search_recency="month"), published_before="2026-01-02")

    assert "search_recency_filter" not in body


def test_extra_body_is_merged_last():
    body = body_for(sonar(extra_body={"temperature": 0.1, "max_tokens": 9}))

    assert (0.1, 9) == (body["temperature"], body["max_tokens"])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"model": " "}, "model must be a non-empty text"),
        ({"max_tokens": 0}, "max_tokens must be a positive whole number, not 0"),
        ({"max_tokens": None}, "max_tokens must be a positive whole number, not None"),
        (
            {"search_recency": "decade"},
            "search_recency must be one of hour, day, week, month, year",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_makes_it_unavailable(settings, reason):
    assert reason == sonar(**settings).unavailable_reason()


def test_the_answer_is_the_first_choices_content():
    assert "Bees dance.[1]" == result_of().content


@pytest.mark.parametrize("content", [None, "", [], [None, {}]])
def test_an_absent_answer_is_none(content):
    assert result_of(content, citations=["https://a.example/"]).content is None


@pytest.mark.parametrize("choices", [[{}], [{"message": None}], [{"message": {}}], [], None])
def test_a_choice_without_a_message_has_no_answer(choices):
    result = result_of(choices=choices, citations=["https://a.example/"])

    assert (None, 1) == (result.content, len(result.sources))


def test_content_parts_are_joined():
    parts = [{"type": "text", "text": "One "}, {"type": "image"}, {"type": "text", "text": "two."}]

    assert "One two." == result_of(parts).content


def test_listed_results_are_the_sources():
    entry = listed(1, snippet="Text.", date="2026-05-01", last_updated="2026-06-01")
    source = result_of(search_results=[entry], citations=["https://site1.example/"]).sources[0]

    expected = {
        "url": "https://site1.example/",
        "title": "Title 1",
        "snippet": "Text.",
        "published_at": "2026-05-01",
        "updated_at": "2026-06-01",
        "excerpts": (),
        "ids": (1,),
        "origin": "result",
    }
    assert expected == source.model_dump()


def test_citations_alone_are_url_only_sources():
    sources = result_of(citations=["https://a.example/1", "https://b.example/2"]).sources

    assert [("https://a.example/1", None, (1,)), ("https://b.example/2", None, (2,))] == [
        (source.url, source.title, source.ids) for source in sources
    ]


def test_citations_that_are_null_leave_the_results_numbered_by_position():
    result = result_of(search_results=[listed(5), listed(6)], citations=None)

    assert [(1,), (2,)] == [source.ids for source in result.sources]


def test_a_skipped_entry_still_counts_for_the_numbers():
    result = result_of(search_results=[listed(1), {"url": ""}, listed(3)])

    assert [(1,), (3,)] == [source.ids for source in result.sources]


def test_a_skipped_citation_still_counts_for_the_numbers():
    result = result_of(citations=["https://a.example/", None, "mailto:x", "https://b.example/"])

    assert [(1,), (4,)] == [source.ids for source in result.sources]


def test_the_numbers_are_the_positions_in_the_citations():
    result = result_of(
        search_results=[listed(1), listed(2)],
        citations=["https://site2.example/", "https://site1.example/"],
    )

    assert [(2,), (1,)] == [source.ids for source in result.sources]


def test_an_attachment_without_an_address_is_left_out_and_counted():
    attachment = {"url": "", "title": "upload.pdf", "source": "attachment", "snippet": "Text."}
    result = result_of(search_results=[listed(1), attachment])

    assert (1, ("1 source entry without a usable http(s) address left out",)) == (
        len(result.sources),
        result.warnings,
    )


@pytest.mark.parametrize("nested", [True, False])
def test_a_gateways_annotations_are_sources_when_nothing_else_is(nested):
    fields = {"url": "https://a.example/", "title": "A"}
    note = {"type": "url_citation"} | ({"url_citation": fields} if nested else fields)
    choice = {"message": {"content": "x[1]", "annotations": [note]}, "finish_reason": "stop"}
    source = result_of(choices=[choice]).sources[0]

    assert ("https://a.example/", "A", (1,)) == (source.url, source.title, source.ids)


def test_annotations_do_not_repeat_what_the_citations_say():
    note = {"type": "url_citation", "url_citation": {"url": "https://b.example/"}}
    choice = {"message": {"content": "x[1]", "annotations": [note]}}
    result = result_of(choices=[choice], citations=["https://a.example/"])

    assert ["https://a.example/"] == [source.url for source in result.sources]


def test_an_answer_cut_by_the_token_limit_warns():
    choice = {"message": {"content": "Cut"}, "finish_reason": "length"}
    result = result_of(choices=[choice])

    assert ("length", ("the answer was cut at the token limit",)) == (
        result.finish_reason,
        result.warnings,
    )


def test_usage_is_read():
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 11,
        "total_tokens": 20,
        "reasoning_tokens": 3,
        "num_search_queries": 2,
        "cost": {"total_cost": 0.00502},
    }

    expected = {
        "input_tokens": 9,
        "output_tokens": 11,
        "total_tokens": 20,
        "reasoning_tokens": 3,
        "searches": 2,
        "cost_usd": 0.00502,
    }
    assert expected | {"cost_is_estimate": False} == result_of(usage=usage).usage.model_dump()


@pytest.mark.parametrize(
    ("cost", "known"), [(0.5, 0.5), ({}, None), (None, None), ("0.5", None), (True, None)]
)
def test_a_cost_is_an_amount_or_unknown(cost, known):
    assert known == result_of(usage={"prompt_tokens": 1, "cost": cost}).usage.cost_usd


def test_related_questions_and_pictures_are_read():
    result = result_of(
        related_questions=["Why?", "", None, 5],
        images=[{"image_url": "https://i.example/1.png", "width": "640"}, None],
    )

    assert (("Why?",), ["https://i.example/1.png"]) == (
        result.related_questions,
        [image.url for image in result.images],
    )


def test_a_think_block_stays_part_of_the_answer():
    assert "<think>hm</think>Yes." == result_of("<think>hm</think>Yes.").content


def test_the_retirement_is_explained_with_what_to_use_instead():
    answer = {
        "error": {
            "message": "Chat completions are not available.",
            "type": "chat_completions_not_available",
            "code": 403,
        }
    }
    with pytest.raises(ProviderError) as caught:
        ask(sonar(), reply(answer, status=403))

    assert (
        "Chat completions are not available. Perplexity retired Sonar on 2026-09-27: use the "
        "provider 'perplexity' (answers) or 'perplexity-search' (sources only) instead"
    ) == caught.value.message


def test_another_403_is_not_called_a_retirement():
    answer = {"error": {"message": "Key is blocked", "type": "forbidden", "code": 403}}
    with pytest.raises(ProviderError, match=r"^Key is blocked$"):
        ask(sonar(), reply(answer, status=403))
