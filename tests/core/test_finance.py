"""Market data, people and pictures of an Agent run."""

import json

import pytest

from dsh_web import PerplexityAgentProvider, WebFinance, WebSearchResult
from dsh_web.seam import WebImage
from tests.core.perplexity import KEY, agent_body, ask, found, page, said
from tests.flows import reply

MARKET = {"mode": "finance"}


def result_of(*items: object, **fields: object) -> WebSearchResult:
    provider = PerplexityAgentProvider(api_key=KEY)
    return ask(provider, reply(agent_body(*items)), **fields)[1]


def looked_up(*results: object, **fields: object) -> dict:
    return {"type": "finance_results", "tickers": None, "results": list(results), **fields}


def quote(**fields: object) -> dict:
    return {"category": "quote", "content": "ACME stands at 12.5.", **fields}


def test_market_data_has_category_content_tickers_and_pages():
    record = quote(tickers=["ACME"], sources=["https://market.example/acme"])

    expected = WebFinance(
        category="quote",
        content="ACME stands at 12.5.",
        tickers=("ACME",),
        urls=("https://market.example/acme",),
    )
    assert (expected,) == result_of(looked_up(record)).finance


@pytest.mark.parametrize("tickers", [None, [], "ACME", 5, {}, [None, 5, "", " "]])
def test_tickers_that_are_no_list_of_texts_are_none(tickers):
    assert () == result_of(looked_up(quote(tickers=tickers))).finance[0].tickers


@pytest.mark.parametrize("name", ["tickers", "sources", "category"])
def test_an_optional_field_may_be_missing(name):
    record = quote(tickers=["ACME"], sources=["https://market.example/"])
    del record[name]

    assert 1 == len(result_of(looked_up(record)).finance)


@pytest.mark.parametrize("sources", [None, [], "https://a.example/", [None, "ftp://a.example", 5]])
def test_sources_without_a_web_address_are_left_out(sources):
    assert () == result_of(looked_up(quote(sources=sources))).finance[0].urls


def test_json_text_stays_the_text_that_was_sent():
    text = '{"price": 12.5, "currency": "USD"}'

    assert text == result_of(looked_up(quote(content=text))).finance[0].content


@pytest.mark.parametrize("content", [{"price": 12.5, "währung": "€"}, [1, "two"]])
def test_json_that_was_not_wrapped_into_text_is_written_out(content):
    record = result_of(looked_up(quote(content=content))).finance[0]

    assert content == json.loads(record.content)
    assert "\\u" not in record.content


@pytest.mark.parametrize("content", [None, "", "  ", 5, True, {}, []])
def test_a_record_without_content_is_left_out(content):
    result = result_of(looked_up(quote(content=content), quote()))

    assert ["ACME stands at 12.5."] == [record.content for record in result.finance]


@pytest.mark.parametrize("entry", [None, 5, "text", []])
def test_an_entry_that_is_no_object_does_not_lose_the_others(entry):
    assert 1 == len(result_of(looked_up(entry, quote()), said("a")).finance)


@pytest.mark.parametrize("results", [None, {}, "text", 5])
def test_a_look_up_without_a_list_has_no_records(results):
    item = {"type": "finance_results", "results": results}

    assert () == result_of(item, said("a")).finance


def test_all_look_ups_are_kept_in_order():
    result = result_of(
        looked_up(quote(content="1"), quote(content="2")),
        {"type": "skill_loaded", "name": "finance"},
        looked_up(quote(content="3")),
    )

    assert ["1", "2", "3"] == [record.content for record in result.finance]


def test_a_look_up_of_market_data_counts_as_reaching_the_web():
    assert () == result_of(looked_up(quote()), said("a"), **MARKET).warnings


def test_an_answer_without_any_look_up_warns():
    assert "no web search was run" in result_of(said("a"), **MARKET).warnings[0]


def test_a_look_up_is_counted_as_a_search():
    usage = {"tool_calls_details": {"finance_search": {"invocation": 2}}}
    body = agent_body(looked_up(quote()), said("a"), usage=usage)

    assert 2 == ask(PerplexityAgentProvider(api_key=KEY), reply(body))[1].usage.searches


def test_market_data_survives_being_stored():
    result = result_of(looked_up(quote(tickers=["ACME"])), said("a"))

    assert result == WebSearchResult.model_validate_json(result.model_dump_json())


def test_people_become_sources():
    people = {
        "type": "people_search_results",
        "queries": ["who"],
        "results": [page(3, "https://people.example/ada", title="Ada")],
    }
    result = result_of(people, said("Ada. [web:3]"), mode="people")

    source = result.sources[0]
    assert ("https://people.example/ada", "Ada", (3,)) == (source.url, source.title, source.ids)
    assert () == result.warnings


def test_people_and_pages_share_one_list_without_repeats():
    people = {"type": "people_search_results", "results": [page(1), page(2)]}
    result = result_of(people, found(page(7, "https://site1.example/")), said("a"))

    assert [(1, 7), (2,)] == [source.ids for source in result.sources]


def test_people_may_be_missing_everything_but_the_address():
    people = {"type": "people_search_results", "results": [{"url": "https://people.example/"}, {}]}
    result = result_of(people, said("a"))

    assert 1 == len(result.sources)
    assert ("1 source entry without a usable http(s) address left out",) == result.warnings


def pictures(*results: object) -> dict:
    return {"type": "image_search_results", "queries": ["q"], "results": list(results)}


def test_a_picture_has_every_field_that_was_sent():
    record = {
        "image_url": "https://pictures.example/1.png",
        "origin_url": "https://pictures.example/",
        "title": "One",
        "width": 640,
        "height": 480,
    }

    expected = WebImage(
        url="https://pictures.example/1.png",
        page_url="https://pictures.example/",
        title="One",
        width=640,
        height=480,
    )
    assert (expected,) == result_of(pictures(record), said("a")).images


@pytest.mark.parametrize("url", [None, "", 5, "data:image/png;base64,AAAA", "javascript:void(0)"])
def test_a_picture_without_a_web_address_is_left_out(url):
    good = {"image_url": "https://pictures.example/1.png"}

    assert 1 == len(result_of(pictures({"image_url": url}, None, good), said("a")).images)


def test_a_failed_search_for_pictures_changes_nothing_else():
    item = {"type": "image_search_results", "error": "no luck"}
    result = result_of(item, found(page(1)), said("a"))

    assert ((), 1) == (result.images, len(result.sources))
