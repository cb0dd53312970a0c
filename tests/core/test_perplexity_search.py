import pytest

from dsh_web import PerplexitySearchProvider, WebSearchRequest
from tests.core.perplexity import EMPTY_SEARCH, KEY, ask, page, refused, search_body
from tests.flows import play, reply


def search(**settings: object) -> PerplexitySearchProvider:
    return PerplexitySearchProvider(api_key=KEY, **settings)


def body_for(provider: PerplexitySearchProvider | None = None, **fields: object) -> dict:
    return ask(provider or search(), EMPTY_SEARCH, **fields)[0]


def result_of(*results: object, **fields: object):
    return ask(search(), reply(search_body(*results, **fields)))[1]


def hit(number: int, **fields: object) -> dict:
    return {
        "url": f"https://site{number}.example/",
        "title": f"Title {number}",
        "snippet": "Text.",
        "date": None,
        "last_updated": None,
        **fields,
    }


def test_the_plain_request_is_only_the_query():
    assert {"query": "tidal power"} == body_for(query="tidal power")


def test_the_request_goes_to_the_search_path():
    steps, _ = play(search().search_flow(WebSearchRequest(query="q")), EMPTY_SEARCH)

    assert ("POST", "https://api.perplexity.ai/search") == (steps[0].method, steps[0].url)


@pytest.mark.parametrize("query", [" padded ", "line\nline", "日本 🎉", '"phrase" \\'])
def test_the_query_is_sent_verbatim(query):
    assert query == body_for(query=query)["query"]


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"max_results": 5}, {"max_results": 5}),
        ({"max_results": 21}, {"max_results": 20}),
        ({"recency": "hour"}, {"search_recency_filter": "hour"}),
        (
            {"published_after": "2026-01-02", "published_before": "2026-03-04"},
            {
                "search_after_date_filter": "01/02/2026",
                "search_before_date_filter": "03/04/2026",
            },
        ),
        (
            {"updated_after": "2026-01-02", "updated_before": "2026-03-04", "recency": "year"},
            {
                "last_updated_after_filter": "01/02/2026",
                "last_updated_before_filter": "03/04/2026",
                "search_recency_filter": "year",
            },
        ),
        ({"include_domains": ["a.example"]}, {"search_domain_filter": ["a.example"]}),
        ({"exclude_domains": ["a.example"]}, {"search_domain_filter": ["-a.example"]}),
        ({"country": "nz"}, {"country": "NZ"}),
        ({"languages": ["en", "fr"]}, {"search_language_filter": ["en", "fr"]}),
        ({"context_size": "low"}, {"search_context_size": "low"}),
        ({"mode": "web"}, {}),
        ({"mode": "academic"}, {"search_mode": "academic"}),
        ({"mode": "sec"}, {"search_mode": "sec"}),
        ({"mode": "people"}, {"search_type": "people"}),
        (
            {"max_tokens": 900, "max_tokens_per_page": 100},
            {"max_tokens": 900, "max_tokens_per_page": 100},
        ),
    ],
    ids=str,
)
def test_a_filter_has_this_form_on_the_wire(fields, sent):
    assert {"query": "q", **sent} == body_for(**fields)


def test_extra_body_is_merged_last():
    body = body_for(search(extra_body={"display_server_time": True, "max_results": 3}))

    assert {"query": "q", "display_server_time": True, "max_results": 3} == body


def test_ten_languages_are_sent():
    languages = [f"a{letter}" for letter in "abcdefghij"]

    assert languages == body_for(languages=languages)["search_language_filter"]


def test_more_than_ten_languages_are_refused():
    error = refused(search(), languages=[f"a{letter}" for letter in "abcdefghijk"])

    assert "11 languages are too many: use 10 at most" == error.message


@pytest.mark.parametrize("name", ["max_tokens", "max_tokens_per_page"])
def test_a_context_size_beside_a_token_budget_is_refused(name):
    error = refused(search(), context_size="low", **{name: 5})

    assert (
        "context_size cannot be combined with max_tokens or max_tokens_per_page: "
        "it is a preset for the two"
    ) == error.message


def test_there_is_never_an_answer():
    assert result_of(hit(1)).content is None


def test_a_source_has_every_field_that_was_sent():
    source = result_of(hit(1, date="2026-08-30", last_updated="2026-10-01")).sources[0]

    expected = {
        "url": "https://site1.example/",
        "title": "Title 1",
        "snippet": "Text.",
        "published_at": "2026-08-30",
        "updated_at": "2026-10-01",
        "excerpts": (),
        "ids": (),
        "origin": "result",
    }
    assert expected == source.model_dump()


def test_sources_are_in_the_providers_order():
    urls = [source.url for source in result_of(hit(3), hit(1), hit(2)).sources]

    assert ["https://site3.example/", "https://site1.example/", "https://site2.example/"] == urls


@pytest.mark.parametrize("name", ["title", "snippet", "date", "last_updated"])
@pytest.mark.parametrize("bad", [None, "", " ", 5, True, [], {}])
def test_an_optional_field_that_is_no_text_is_absent(name, bad):
    kept = {"date": "published_at", "last_updated": "updated_at"}.get(name, name)
    source = result_of(hit(1, **{name: bad})).sources[0]

    assert getattr(source, kept) is None


@pytest.mark.parametrize("name", ["title", "snippet", "date", "last_updated"])
def test_an_optional_field_may_be_missing(name):
    entry = hit(1)
    del entry[name]

    assert 1 == len(result_of(entry).sources)


def test_unknown_fields_are_ignored():
    result = result_of(hit(1, score=0.5, favicon={}), usage={"x": 1}, mood="fine")

    assert 1 == len(result.sources)


@pytest.mark.parametrize("nothing", [[], None])
def test_no_hits_are_an_empty_result(nothing):
    assert () == ask(search(), reply({"id": "s", "results": nothing}))[1].sources


@pytest.mark.parametrize("entry", [None, 5, "text", {}, {"url": ""}, {"url": "ftp://a.example"}])
def test_one_bad_entry_does_not_lose_the_others_and_is_counted(entry):
    result = result_of(hit(1), entry, hit(2))

    assert (2, ("1 source entry without a usable http(s) address left out",)) == (
        len(result.sources),
        result.warnings,
    )


def test_grouped_hits_are_interleaved_by_rank_and_each_url_counts_once():
    result = result_of([hit(1), hit(2)], [hit(1), hit(3), hit(4)])

    assert [1, 2, 3, 4] == [int(source.url[12]) for source in result.sources]


def test_a_url_that_one_list_repeats_stays_where_the_provider_put_it():
    assert 2 == len(result_of(hit(1), hit(1)).sources)


def test_the_providers_id_is_the_request_id():
    assert "search-1" == result_of(hit(1)).request_id


def test_a_bad_id_gives_way_to_the_header():
    response = reply(search_body(hit(1), id=5), x_request_id="h-1")

    assert "h-1" == ask(search(), response)[1].request_id


def test_the_raw_body_is_kept_on_request():
    data = search_body(page(1), extra={"kept": [1]})

    assert data == ask(search(), reply(data), include_raw=True)[1].raw


def test_the_raw_body_is_not_kept_otherwise():
    assert result_of(hit(1)).raw is None
