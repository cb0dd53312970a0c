"""The retriever inside LangChain's own building blocks, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import LLMChainFilter
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.documents.compressor import BaseDocumentCompressor
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from langchain_core.tools import create_retriever_tool

from dsh_web import WebError
from dsh_web.server import LoopbackServer
from langchain_dsh_web import WebSearchRetriever

from .served import REACH, runtime_at, scripted, searching_at

QUESTION = "How do I shuffle a list?"


@pytest.fixture(params=["perplexity", "parallel"], autouse=True)
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything here runs once per vendor, and knows nothing of either."""
    monkeypatch.setattr(REACH, "vendor", request.param)
    return str(request.param)


@pytest.fixture
def server():
    with LoopbackServer() as server:
        yield server


@pytest.fixture
def retriever(server):
    return WebSearchRetriever(runtime=searching_at(server), k=4)


def cited(documents: list[Document]) -> str:
    return "\n\n".join(f"{d.metadata['source']}\n{d.page_content}" for d in documents)


def chain_of(retriever: Any, model: Any) -> Any:
    prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
    asked = RunnableParallel(context=retriever | cited, question=RunnablePassthrough())
    return asked | prompt | model | StrOutputParser()


async def test_in_a_chain_the_model_reads_what_was_found(invoke, retriever) -> None:
    model = scripted("an answer")

    assert await invoke(chain_of(retriever, model), QUESTION) == "an answer"

    (told,) = model.heard[0]
    assert "https://docs.python.org/" in told.text
    assert told.text.endswith(f"Question: {QUESTION}")


async def test_a_chain_runs_in_batches_and_as_a_stream(server, retriever) -> None:
    chain = chain_of(retriever, scripted("one", "two", "three", "four", "five", "six"))

    batch = chain.batch(["a list", "a file"])
    abatch = await chain.abatch(["a list", "a file"])
    streamed = "".join(chain.stream("a list"))
    astreamed = "".join([piece async for piece in chain.astream("a list")])

    assert sorted([*batch, *abatch]) == ["four", "one", "three", "two"]
    assert (streamed, astreamed) == ("five", "six")
    assert len(server.requests) == 6


async def test_several_phrasings_of_a_question_give_each_passage_once(invoke, server) -> None:
    retriever = WebSearchRetriever(runtime=searching_at(server), k=4)
    several = MultiQueryRetriever.from_llm(
        retriever=retriever, llm=scripted("shuffle a list\nshuffle a list in place\nshuffle list")
    )

    documents = await invoke(several, QUESTION)

    assert len(server.requests) == 3
    assert len({d.id for d in documents}) == len(documents) < 12


async def test_rankings_of_two_retrievers_are_fused_by_passage(invoke, server) -> None:
    wide = WebSearchRetriever(runtime=searching_at(server), k=6)
    narrow = WebSearchRetriever(runtime=searching_at(server), k=3)
    fused = EnsembleRetriever(retrievers=[wide, narrow], weights=[0.5, 0.5], id_key="chunk_id")

    documents = await invoke(fused, QUESTION)

    assert len({d.metadata["chunk_id"] for d in documents}) == len(documents) == 6
    assert documents[0].id == (await wide.ainvoke(QUESTION))[0].id


class Shorten(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return [d.model_copy(update={"page_content": d.page_content[:20]}) for d in documents]


async def test_passages_can_be_compressed_and_keep_their_metadata(invoke, retriever) -> None:
    short = ContextualCompressionRetriever(base_retriever=retriever, base_compressor=Shorten())

    documents = await invoke(short, QUESTION)

    assert [len(d.page_content) <= 20 for d in documents] == [True] * 4
    assert all(d.metadata["url"] for d in documents)


def test_a_model_can_filter_passages(retriever) -> None:
    judge = LLMChainFilter.from_llm(scripted("YES", "NO", "YES", "NO"))
    kept = ContextualCompressionRetriever(base_retriever=retriever, base_compressor=judge)

    assert len(kept.invoke(QUESTION)) == 2


async def test_a_retriever_tool_shows_addresses_with_a_prompt_for_documents(
    invoke, retriever
) -> None:
    prompt = PromptTemplate.from_template("[{title}]({source})\n{page_content}")
    tool = create_retriever_tool(retriever, "web", "Searches the web.", document_prompt=prompt)

    text = await invoke(tool, {"query": QUESTION})

    assert text.count("](https://docs.python.org/") == 4


@pytest.mark.parametrize("fault", ["status=500", "status=429,retry-after=60", "body=oops"])
async def test_a_failing_retriever_hands_over_to_its_fallback(invoke, server, fault: str) -> None:
    failing = WebSearchRetriever(runtime=searching_at(server, fault=fault), k=2)
    standby = WebSearchRetriever(runtime=searching_at(server), k=2)

    documents = await invoke(failing.with_fallbacks([standby]), QUESTION)

    assert len(documents) == 2
    with pytest.raises(WebError):
        await invoke(failing, QUESTION)


async def test_a_chain_falls_back_on_a_typed_error_only(invoke, server) -> None:
    failing = WebSearchRetriever(runtime=searching_at(server, api_key="wrong"), k=2)
    standby = WebSearchRetriever(runtime=searching_at(server), k=2)

    documents = await invoke(
        failing.with_fallbacks([standby], exceptions_to_handle=(WebError,)), QUESTION
    )

    assert len(documents) == 2


async def test_a_rate_limiter_spaces_out_the_searches(invoke, server) -> None:
    limiter = InMemoryRateLimiter(requests_per_second=20, check_every_n_seconds=0.005)
    slow = WebSearchRetriever(runtime=searching_at(server), rate_limiter=limiter)
    loop = asyncio.get_running_loop()
    start = loop.time()

    for _ in range(4):
        await invoke(slow, QUESTION)

    assert loop.time() - start >= 3 / 20
    assert len(server.requests) == 4


class Traced(BaseCallbackHandler):
    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.failed: list[BaseException] = []

    def on_retriever_start(self, serialized: Any, query: str, **facts: Any) -> None:
        self.started.append({"serialized": serialized, **facts})

    def on_retriever_error(self, error: BaseException, **facts: Any) -> None:
        self.failed.append(error)


async def test_traces_say_who_searched_and_hold_no_key_and_no_query(invoke, server) -> None:
    trace = Traced()
    runtime = runtime_at(server)
    retriever = WebSearchRetriever(runtime=runtime, metadata={"team": "docs"}, tags=["web"])

    await invoke(retriever, QUESTION, {"callbacks": [trace]})

    (run,) = trace.started
    assert run["metadata"]["ls_retriever_name"] == "dsh_web"
    assert run["metadata"]["team"] == "docs"
    assert run["tags"] == ["web"]
    assert server.api_key not in repr(run)
    assert QUESTION not in repr(run["metadata"])


async def test_traces_of_a_failure_hold_the_typed_error(invoke, server) -> None:
    trace = Traced()
    retriever = WebSearchRetriever(runtime=searching_at(server, api_key="sk-very-secret"))

    with pytest.raises(WebError):
        await invoke(retriever, QUESTION, {"callbacks": [trace]})

    (error,) = trace.failed
    assert isinstance(error, WebError)
    assert "sk-very-secret" not in repr(error) + str(error) + repr(trace.started)
