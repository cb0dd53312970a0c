"""Records on answer nodes, and a `Response` whose numbers lead to its source nodes."""

from __future__ import annotations

import json
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import MetadataMode, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from dsh_web import Citation, InvalidRequestError, WebSearchResult, WebSearchSource
from dsh_web.citations import normalize_citations
from llama_index_dsh_web import WebSearchRetriever
from llama_index_dsh_web.citations import answer_response, citations_of

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


def record(marker, position, url=None, *, kind="web", index=None):
    return Citation(
        provider="fake",
        source_type=kind,
        source_index=index,
        url=url,
        title=None if url is None else f"Title of {url}",
        marker_span=(position, position + len(marker)),
        claim_span=(0, 0),
        raw_marker=marker,
        resolved=url is not None,
    )


def source(url, **fields):
    return WebSearchSource(url=url, snippet=f"on {url}", **fields)


def cited_as(content, *citations, sources=(A, B, C), **fields):
    return WebSearchResult(
        provider="fake",
        content=content,
        sources=tuple(map(source, sources)),
        citations=citations,
        citation_contract="perplexity-agent/2026-10",
        **fields,
    )


CITED = cited_as(
    "First [web:4], then [web:2].",
    record("[web:4]", 6, C, index=4),
    record("[web:2]", 20, A, index=2),
)


def urls(response):
    return [found.node.metadata["url"] for found in response.source_nodes]


# -- the retriever's answer node -------------------------------------------------------------------


async def test_the_answer_node_carries_its_records(runtime, provider, retrieve):
    provider.result = CITED

    answer, *sources = await retrieve(WebSearchRetriever(runtime=runtime, include_answer=True), "q")

    assert CITED.citations == citations_of(answer.node)
    assert answer.node.metadata["citation_contract"] == "perplexity-agent/2026-10"
    assert [(), (), ()] == [citations_of(found.node) for found in sources]


async def test_no_model_and_no_embedding_is_shown_the_records(runtime, provider, retrieve):
    provider.result = CITED

    (answer, *_) = await retrieve(WebSearchRetriever(runtime=runtime, include_answer=True), "q")

    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "citation" not in answer.node.get_content(mode)


async def test_a_source_node_is_the_same_whatever_cites_it(runtime, provider, retrieve):
    provider.result = CITED
    cited = await retrieve(WebSearchRetriever(runtime=runtime), "q")
    provider.result = cited_as("Uncited.")

    uncited = await retrieve(WebSearchRetriever(runtime=runtime), "q")

    assert [found.node.hash for found in uncited] == [found.node.hash for found in cited]
    assert uncited == cited


async def test_an_answer_node_fits_into_stores_with_flat_metadata(runtime, provider, retrieve):
    provider.result = CITED
    (answer, *_) = await retrieve(WebSearchRetriever(runtime=runtime, include_answer=True), "q")

    stored = node_to_metadata_dict(answer.node, flat_metadata=True)
    loaded = metadata_dict_to_node(json.loads(json.dumps(stored)))

    assert CITED.citations == citations_of(loaded)
    assert CITED.citations == citations_of(pickle.loads(pickle.dumps(answer.node)))
    assert CITED.citations == citations_of(TextNode.from_json(answer.node.to_json()))


@pytest.mark.parametrize("stored", ["", "[3]", '{"a": 1}', 7, ["x"]])
def test_metadata_that_holds_no_records_is_an_error_of_ours(stored):
    with pytest.raises(InvalidRequestError, match="citations"):
        citations_of(TextNode(text="", metadata={"citations": stored}))


# -- the response ----------------------------------------------------------------------------------


def test_each_number_of_the_response_is_the_position_of_its_node():
    response = answer_response(CITED)

    assert isinstance(response, Response)
    assert str(response) == "First [3], then [1]."
    assert [A, B, C] == urls(response)
    assert [1, None, 3] == [f.node.metadata.get("citation_number") for f in response.source_nodes]
    assert [1.0, 1 / 2, 1 / 3] == [found.score for found in response.source_nodes]


def test_only_the_cited_nodes_are_in_order_of_first_use():
    response = answer_response(CITED, cited_only=True, score_from_rank=False)

    assert str(response) == "First [1], then [2]."
    assert [C, A] == urls(response)
    assert [1, 2] == [found.node.metadata["citation_number"] for found in response.source_nodes]
    assert [None, None] == [found.score for found in response.source_nodes]


def test_numbers_that_are_positions_already_leave_the_text_as_it_is():
    result = cited_as("So [1]. And [3].", record("[1]", 3, A, index=1), record("[3]", 12, C))

    assert result.content == answer_response(result).response


def test_a_marker_of_several_sources_becomes_one_for_each():
    marker = "[web:9, 4, 7]"
    members = [record(marker, 3, C), record(marker, 3, index=4), record(marker, 3, A)]
    result = cited_as(f"So {marker}.", *members)

    assert str(answer_response(result)) == "So [3][4?][1]."


@pytest.mark.parametrize(
    ("marker", "kind", "index", "shown"),
    [
        ("[9]", "web", 9, "[9?]"),
        ("[9]", "numeric", 9, "[9?]"),
        ("[file:2]", "file", 2, "[file:2?]"),
    ],
)
def test_a_marker_that_leads_nowhere_cannot_be_taken_for_a_node(marker, kind, index, shown):
    result = cited_as(f"So {marker}.", record(marker, 3, kind=kind, index=index))

    assert str(answer_response(result)) == f"So {shown}."


def test_a_link_without_a_marker_becomes_a_number_behind_its_claim():
    result = cited_as("Tides turn. More.", record("", 10, B))

    assert str(answer_response(result)) == "Tides turn[2]. More."


def test_a_cited_page_that_was_cut_gets_a_node_after_all_others():
    result = cited_as("So [1][2].", record("[1]", 3, B), record("[2]", 6, A), sources=(A,))

    response = answer_response(result)

    assert str(response) == "So [2][1]."
    assert [A, B] == urls(response)
    assert response.source_nodes[1].node.metadata["title"] == f"Title of {B}"
    assert [B, A] == urls(answer_response(result, cited_only=True))


def test_a_page_with_two_passages_has_the_number_of_the_first():
    result = cited_as("So [5].", record("[5]", 3, B)).model_copy(
        update={"sources": (source(A), source(B), WebSearchSource(url=B, snippet="more"))}
    )

    response = answer_response(result)

    assert str(response) == "So [2]."
    assert [None, 2, 2] == [f.node.metadata.get("citation_number") for f in response.source_nodes]


def test_the_number_is_hidden_from_models_and_retrieved_nodes_do_not_have_it():
    (node, *_) = (found.node for found in answer_response(CITED).source_nodes)

    assert "citation_number" not in node.get_content(MetadataMode.LLM)
    assert "citation_number" not in node.get_content(MetadataMode.EMBED)


def test_a_result_without_an_answer_is_a_response_of_none_with_its_nodes():
    response = answer_response(WebSearchResult(provider="fake", sources=(source(A),)))

    assert response.response is None
    assert [A] == urls(response)
    assert answer_response(WebSearchResult(provider="fake")).source_nodes == []


def test_the_metadata_hold_the_result_with_the_answer_as_it_was():
    result = CITED.model_copy(update={"raw": {"secret": 1}})

    metadata = json.loads(json.dumps(answer_response(result).metadata))

    assert (1, "web_answer") == (metadata["schema"], metadata["kind"])
    assert CITED == WebSearchResult.model_validate(metadata["result"])


def test_a_response_can_be_pickled():
    response = answer_response(CITED)

    assert response == pickle.loads(pickle.dumps(response))


PARTS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]), max_size=6),
        st.sampled_from([A, B, C, "https://cut.example/", None]),
        st.integers(0, 40),
    ),
    max_size=8,
)


@given(PARTS, st.booleans())
def test_every_number_leads_to_the_page_that_its_marker_cited(parts, cited_only):
    content, citations = "", []
    for text, url, index in parts:
        content += text
        marker = f"[web:{index}]"
        citations.append(record(marker, len(content), url, index=index))
        content += marker

    response = answer_response(cited_as(content or None, *citations), cited_only=cited_only)

    shown = re.findall(r"\[(\d+)(\??)\]", response.response or "")
    expected = [url for _, url, _ in parts]
    nodes = urls(response)
    assert expected == [None if open_ else nodes[int(number) - 1] for number, open_ in shown]


ANSWERS = st.lists(
    st.sampled_from(
        [
            "Tides turn",
            ". ",
            "\n\n",
            "- ",
            "`a[1]`",
            "[web:4]",
            "[2, web:7]",
            "[1]",
            "[9]",
            "[file:2]",
        ]
    ),
    max_size=12,
).map("".join)


@given(ANSWERS, st.booleans())
def test_a_response_reads_back_to_the_pages_that_the_answer_cited(content, cited_only):
    sources = [WebSearchSource(url=url, ids=(number,)) for url, number in ((A, 7), (B, 2), (C, 4))]
    contract = "perplexity-agent/2026-10"
    citations = normalize_citations(content, sources, contract=contract, provider="fake")
    result = WebSearchResult(
        provider="fake",
        content=content,
        sources=tuple(sources),
        citations=citations,
        citation_contract=contract,
    )

    response = answer_response(result, cited_only=cited_only)

    read = normalize_citations(response.response, urls(response))
    assert [r.url for r in citations if r.resolved] == [r.url for r in read if r.resolved]
    assert [] == [r.raw_marker for r in read if not r.resolved]
