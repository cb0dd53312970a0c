"""Citation records in documents, in artifacts and as LangChain's own annotations."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

import langchain_dsh_web.citations
from dsh_web import Citation, InvalidRequestError, WebSearchResult, WebSearchSource
from langchain_dsh_web import WebSearchRetriever, WebSearchTool
from langchain_dsh_web.citations import (
    answer_block,
    citations_of,
    from_annotations,
    from_blocks,
    to_annotations,
    with_urls,
)

RESOLVED = Citation(
    provider="fake",
    source_type="web",
    source_index=1,
    url="https://a.example/",
    title="A",
    marker_span=(17, 24),
    claim_span=(0, 16),
    raw_marker="[web:1]",
    resolved=True,
)
UNRESOLVED = Citation(
    provider="fake",
    source_type="file",
    source_index=9,
    marker_span=(25, 33),
    claim_span=(25, 25),
    raw_marker="[file:9]",
    resolved=False,
)
CITED = WebSearchResult(
    provider="fake",
    content="The tide is high [web:1].[file:9]",
    sources=(
        WebSearchSource(url="https://a.example/", title="A", snippet="Text A"),
        WebSearchSource(url="https://b.example/", snippet="Text B"),
    ),
    citations=(RESOLVED, UNRESOLVED),
    citation_contract="perplexity-agent/2026-10",
)

spans = st.tuples(st.integers(0, 99), st.integers(0, 99)).map(lambda pair: (min(pair), max(pair)))
records = st.builds(
    Citation,
    provider=st.text(),
    source_type=st.text(),
    source_index=st.none() | st.integers(),
    url=st.none() | st.text(),
    title=st.none() | st.text(),
    marker_span=spans,
    claim_span=spans,
    raw_marker=st.text(),
    resolved=st.booleans(),
    confidence=st.sampled_from(["high", "low"]),
    answer_index=st.integers(0, 3),
)


def citing(*citations: Citation) -> WebSearchResult:
    return CITED.model_copy(update={"citations": citations})


# -- documents and artifacts -----------------------------------------------------------------------


async def test_the_answer_document_carries_its_records(invoke, runtime_of):
    retriever = WebSearchRetriever(runtime=runtime_of(lambda _: CITED), include_answer=True)

    answer, *sources = await invoke(retriever, "q")

    assert (RESOLVED, UNRESOLVED) == citations_of(answer)
    assert answer.metadata["citation_contract"] == "perplexity-agent/2026-10"
    assert [(17, 24), (25, 33)] == [record.marker_span for record in citations_of(answer)]
    assert answer.page_content[17:24] == "[web:1]"
    assert [(), ()] == [citations_of(document) for document in sources]


async def test_a_source_document_is_the_same_whatever_cites_it(invoke, runtime_of):
    plain = citing().model_copy(update={"citation_contract": None, "content": "Uncited."})

    cited = await invoke(WebSearchRetriever(runtime=runtime_of(lambda _: CITED)), "q")
    uncited = await invoke(WebSearchRetriever(runtime=runtime_of(lambda _: plain)), "q")

    assert uncited == cited


async def test_an_answer_that_cites_nothing_has_no_empty_metadata(invoke, runtime_of):
    plain = citing().model_copy(update={"content": "Plain words.", "citation_contract": None})
    retriever = WebSearchRetriever(runtime=runtime_of(lambda _: plain), include_answer=True)

    answer, *_ = await invoke(retriever, "q")

    expected = {"source", "title", "provider", "kind", "chunk_id", "citation_contract"}
    assert expected == answer.metadata.keys()


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
async def test_the_records_of_a_document_survive_storage(invoke, runtime_of):
    retriever = WebSearchRetriever(runtime=runtime_of(lambda _: CITED), include_answer=True)
    answer, *_ = await invoke(retriever, "q")

    pickled = pickle.loads(pickle.dumps(answer))
    dumped = loads(dumps(answer), allowed_objects=[Document])

    assert json.loads(json.dumps(answer.metadata)) == answer.metadata
    assert answer == pickled == dumped
    assert CITED.citations == citations_of(dumped)


@pytest.mark.parametrize("stored", ["text", [{"provider": "p"}], [3], None])
def test_metadata_that_holds_no_records_is_an_error_of_ours(stored):
    document = Document(page_content="", metadata={"citations": stored})

    with pytest.raises(InvalidRequestError, match="citations"):
        citations_of(document)


async def test_the_artifact_and_its_records_agree(invoke, runtime_of):
    call = {"type": "tool_call", "id": "c", "name": "web_search", "args": {"queries": ["q"]}}

    message = await invoke(WebSearchTool(runtime=runtime_of(lambda _: CITED)), call)

    assert message.artifact["schema"] == 1
    stored = json.loads(json.dumps(message.artifact["result"]))
    found = WebSearchResult.model_validate(stored)
    assert found.request is not None
    assert found.request.query == "q"
    assert found.model_copy(update={"request": None}) == CITED
    for record in stored["citations"]:
        start, end = record["marker_span"]
        assert stored["content"][start:end] == record["raw_marker"]
    assert message.content.startswith(stored["content"])


# -- annotations -----------------------------------------------------------------------------------


def test_an_annotation_marks_the_claim_and_names_the_source():
    annotation, unresolved = to_annotations(CITED)

    assert {
        "type": "citation",
        "url": "https://a.example/",
        "title": "A",
        "start_index": 0,
        "end_index": 16,
        "extras": {
            "provider": "fake",
            "source_type": "web",
            "source_index": 1,
            "marker_span": [17, 24],
            "claim_span": [0, 16],
            "raw_marker": "[web:1]",
            "resolved": True,
            "confidence": "high",
            "answer_index": 0,
        },
    } == annotation
    assert "url" not in unresolved
    assert (25, 33) == (unresolved["start_index"], unresolved["end_index"])


@given(st.lists(records, max_size=4))
def test_records_come_back_from_annotations_and_json(citations):
    annotations = to_annotations(citing(*citations))

    assert tuple(citations) == from_annotations(annotations)
    assert tuple(citations) == from_annotations(json.loads(json.dumps(annotations)))


def test_the_answer_is_a_standard_text_block():
    block = answer_block(CITED)

    assert block is not None
    assert (block["type"], block["text"]) == ("text", CITED.content)
    assert block["extras"] == {
        "provider": "fake",
        "citation_contract": "perplexity-agent/2026-10",
    }
    message = AIMessage(content_blocks=[block])
    assert CITED.content == message.text
    assert [block] == message.content_blocks
    assert (CITED.content, CITED.citations) == from_blocks(message.content_blocks)


def test_a_result_without_an_answer_has_no_block():
    assert answer_block(WebSearchResult(provider="fake")) is None


async def test_an_answer_block_survives_a_checkpointer(invoke):
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(content_blocks=[answer_block(CITED)])]}

    graph = StateGraph(MessagesState).add_node("answer", answer)
    graph.add_edge(START, "answer").add_edge("answer", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    await invoke(compiled, {"messages": [("user", "?")]}, thread)

    stored = compiled.get_state(thread).values["messages"][-1]

    assert CITED.citations == from_blocks(stored.content_blocks)[1]


# -- annotations of models -------------------------------------------------------------------------

ANTHROPIC_MESSAGE = AIMessage(
    content=[
        {"type": "text", "text": "Hm. "},
        {
            "type": "text",
            "text": "The tide is high.",
            "citations": [
                {
                    "type": "search_result_location",
                    "cited_text": "High tide at noon.",
                    "source": "https://a.example/",
                    "title": "A",
                    "search_result_index": 0,
                    "start_block_index": 0,
                    "end_block_index": 1,
                }
            ],
        },
    ],
    response_metadata={"model_provider": "anthropic"},
)


def test_native_citations_get_the_address_that_they_name():
    (annotation,) = ANTHROPIC_MESSAGE.content_blocks[1]["annotations"]
    assert "url" not in annotation

    (completed,) = with_urls([annotation])

    assert {**annotation, "url": "https://a.example/"} == completed
    assert "url" not in annotation
    assert [completed] == with_urls([completed])


@pytest.mark.parametrize(
    "annotation",
    [
        {"type": "citation", "url": "https://b.example/", "extras": {"source": "https://a/"}},
        {"type": "citation", "extras": {"source": "doc-7"}},
        {"type": "citation", "extras": {"source": 7}},
        {"type": "citation", "extras": None},
        {"type": "citation"},
        {"type": "non_standard_annotation", "value": {"source": "https://a.example/"}},
    ],
)
def test_other_annotations_stay_as_they_are(annotation):
    assert [annotation] == with_urls([annotation])


def test_native_citations_become_records_for_the_block_they_stand_in():
    text, (record,) = from_blocks(ANTHROPIC_MESSAGE.content_blocks, provider="anthropic")

    assert text == ANTHROPIC_MESSAGE.text == "Hm. The tide is high."
    assert (record.provider, record.url, record.title) == ("anthropic", "https://a.example/", "A")
    assert text[slice(*record.claim_span)] == "The tide is high."
    assert (len(text), len(text)) == record.marker_span
    assert (record.resolved, record.source_index, record.raw_marker) == (True, None, "")


def test_annotations_of_others_are_left_out_unless_their_provider_is_named():
    annotation = {
        "type": "citation",
        "url": "https://a.example/",
        "start_index": 4,
        "end_index": 9,
    }

    assert from_annotations([annotation]) == ()
    (record,) = from_annotations([annotation], provider="openai")
    assert ((4, 9), (9, 9)) == (record.claim_span, record.marker_span)


garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "url", "title", "extras", "start_index", "raw_marker", "source", "text"]
            ),
            inner | st.sampled_from(["citation", "text"]),
        )
    ),
    max_leaves=8,
)


@given(st.lists(garbage.map(lambda x: x if isinstance(x, dict) else {"extras": x}), max_size=3))
def test_annotations_that_make_no_sense_are_no_error(annotations):
    citation = [{**annotation, "type": "citation"} for annotation in annotations]

    assert len(with_urls(citation)) == len(citation)
    assert len(from_annotations(citation, provider="p")) <= len(citation)
    assert from_blocks([{"type": "text", "text": "x", "annotations": citation}])[0] == "x"


def test_the_helpers_cost_no_import_of_langchain():
    code = "import sys, langchain_dsh_web.citations; print('langchain_core' in sys.modules)"
    root = Path(langchain_dsh_web.citations.__file__).parents[1]

    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)

    assert done.stdout.strip() == "False", done.stderr
