import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import Citation, WebFinance, WebSearchResult, WebSearchSource
from dsh_web.passages import Passage, passages

URL = "https://a.example/x"


def passages_of(*sources: WebSearchSource, **fields: object) -> list[Passage]:
    include_answer = bool(fields.pop("include_answer", False))
    result = WebSearchResult(**{"provider": "p", "sources": sources, **fields})
    return list(passages(result, include_answer=include_answer))


def only(**fields: object) -> Passage:
    return passages_of(WebSearchSource(**{"url": URL, **fields}))[0]


def test_the_text_is_the_snippet():
    assert "Text." == only(snippet="Text.").text


def test_a_bare_address_has_its_label_as_text():
    assert "a.example" == only(origin="link").text


def test_metadata_is_exactly_what_is_known():
    passage = only(title="T", snippet="Text.", published_at="2026-05-01", updated_at="today")

    expected = {
        "source": URL,
        "url": URL,
        "title": "T",
        "published_at": "2026-05-01",
        "updated_at": "today",
        "provider": "p",
        "chunk_id": passage.id,
    }
    assert expected == passage.metadata


def test_what_is_unknown_is_not_in_the_metadata():
    assert {"source", "url", "provider", "chunk_id"} == set(only().metadata)


@pytest.mark.parametrize(
    "fields",
    [
        {"request_id": "r-2"},
        {"model": "m"},
        {"usage": {"searches": 3}},
        {"warnings": ["w"]},
        {"finish_reason": "length"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_nothing_that_changes_from_call_to_call_is_in_a_passage(fields):
    found = WebSearchSource(url=URL, snippet="Text.")

    assert passages_of(found) == passages_of(found, **fields)


def test_the_rank_is_not_in_a_passage():
    found = WebSearchSource(url=URL, snippet="Text.")
    other = WebSearchSource(url="https://b.example/")

    assert passages_of(found, other)[0] == passages_of(other, found)[1]


def test_ids_differ_by_text():
    assert only(snippet="One.").id != only(snippet="Two.").id


def test_ids_differ_by_address():
    assert only(url="https://a.example/1").id != only(url="https://a.example/2").id


def test_an_address_and_a_text_cannot_run_into_each_other():
    assert (
        only(url="https://a.example/", snippet="bc").id
        != only(url="https://a.example/b", snippet="c").id
    )


def test_all_passages_of_a_page_share_its_page_id():
    assert only(snippet="One.").page_id == only(snippet="Two.").page_id


def test_an_id_stays_the_same_in_every_process_and_release():
    assert "449c029b284634525e8d8d8057fa0bae" == only(snippet="Text.").id


def test_a_title_does_not_change_the_id():
    assert only(snippet="Text.").id == only(snippet="Text.", title="Other").id


def test_passages_keep_the_order_of_the_sources():
    found = [WebSearchSource(url=f"https://a.example/{number}") for number in range(3)]

    assert [source.url for source in found] == [p.metadata["url"] for p in passages_of(*found)]


def test_the_answer_comes_first_when_asked_for():
    answer = passages_of(WebSearchSource(url=URL), content="Yes.", include_answer=True)[0]

    expected = {"source": "p", "provider": "p", "kind": "answer", "chunk_id": answer.id}
    assert ("Yes.", expected) == (answer.text, answer.metadata)


def test_the_answer_is_left_out_otherwise():
    assert 1 == len(passages_of(WebSearchSource(url=URL), content="Yes."))


@pytest.mark.parametrize("content", [None, ""])
def test_no_answer_adds_no_passage(content):
    assert [] == passages_of(content=content, include_answer=True)


@given(url=st.text(), snippet=st.none() | st.text(), title=st.none() | st.text())
def test_any_source_has_an_id_and_only_texts_in_its_metadata(url, snippet, title):
    passage = only(url=url, snippet=snippet, title=title)

    assert (32, {str}) == (len(passage.id), {type(value) for value in passage.metadata.values()})


def test_market_data_becomes_passages_where_there_are_no_pages():
    record = WebFinance(category="quote", content="EXM 3.00", urls=("https://f.example/exm",))
    (passage,) = passages(WebSearchResult(provider="p", finance=(record,)))

    assert ("EXM 3.00", "https://f.example/exm", "finance") == (
        passage.text,
        passage.metadata["url"],
        passage.metadata["kind"],
    )


def test_an_answer_carries_its_records_and_a_source_none():
    record = Citation(
        provider="p",
        source_type="web",
        source_index=1,
        url=URL,
        marker_span=(3, 6),
        claim_span=(0, 2),
        raw_marker="[1]",
        resolved=True,
    )

    answer, found = passages_of(
        WebSearchSource(url=URL, snippet="Text."),
        content="So [1].",
        citations=(record,),
        citation_contract="markers/1",
        include_answer=True,
    )

    assert ((record,), "markers/1") == (answer.citations, answer.metadata["citation_contract"])
    assert () == found.citations
    assert "citation_contract" not in found.metadata
