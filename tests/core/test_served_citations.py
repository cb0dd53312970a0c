"""Records of answers that came over HTTP: sync, async and streamed, of one query and of several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dsh_web import (
    Flow,
    PerplexityAgentProvider,
    PerplexitySonarProvider,
    SearchDone,
    TextDelta,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
    WebSearchSource,
    read_saved,
)
from dsh_web.server import LoopbackServer, StreamStyle

QUERY = "how do I cancel an asyncio task"
OTHER = "how do I parse json text"


def once(runtime: WebRuntime, **fields: Any) -> tuple[WebSearchResult, str | None]:
    return runtime.search(QUERY, **fields), None


def once_async(runtime: WebRuntime, **fields: Any) -> tuple[WebSearchResult, str | None]:
    return asyncio.run(runtime.asearch(QUERY, **fields)), None


def streamed(runtime: WebRuntime, **fields: Any) -> tuple[WebSearchResult, str | None]:
    return heard(list(runtime.stream(QUERY, **fields)))


def streamed_async(runtime: WebRuntime, **fields: Any) -> tuple[WebSearchResult, str | None]:
    async def listen() -> list[Any]:
        return [event async for event in runtime.astream(QUERY, **fields)]

    return heard(asyncio.run(listen()))


def heard(events: list[Any]) -> tuple[WebSearchResult, str | None]:
    (done,) = [event for event in events if isinstance(event, SearchDone)]
    return done.result, "".join(event.text for event in events if isinstance(event, TextDelta))


Ask = Callable[..., tuple[WebSearchResult, str | None]]
WAYS = pytest.mark.parametrize("way", [once, once_async, streamed, streamed_async])


def runtime_on(server: LoopbackServer, kind: str, **settings: Any) -> WebRuntime:
    where = {"api_key": server.api_key, "base_url": server.url}
    runtime = WebRuntime(**settings)
    runtime.register_search_provider(
        PerplexitySonarProvider(**where)
        if kind == "sonar"
        else PerplexityAgentProvider(effort=kind, **where)
    )
    return runtime


@WAYS
@pytest.mark.parametrize("kind", ["sonar", "fast", "low"])
@pytest.mark.parametrize("has_annotations", [False, True])
def test_every_way_to_ask_gives_the_same_records(
    way: Ask, kind: str, has_annotations: bool
) -> None:
    cut_up = StreamStyle(pieces=5)
    with (
        LoopbackServer(sonar="legacy", annotations=has_annotations, stream=cut_up) as server,
        runtime_on(server, kind) as runtime,
    ):
        result, text = way(runtime)
        plain = runtime.search(QUERY)

    content = result.content or ""
    assert text in (None, content)
    assert result.citations
    assert plain.citations == result.citations
    by_number = {number: source.url for source in result.sources for number in source.ids}
    for record in result.citations:
        marker = f"[{'web:' if kind == 'low' else ''}{record.source_index}]"
        assert marker == record.raw_marker == content[slice(*record.marker_span)]
        assert by_number[record.source_index or 0] == record.url
        assert record.title
        assert content[slice(*record.claim_span)].strip()


@WAYS
def test_a_cut_takes_sources_and_no_record(way: Ask) -> None:
    # Sonar is not told of the bound, so it finds and cites as much as without one.
    with LoopbackServer(sonar="legacy") as server, runtime_on(server, "sonar") as runtime:
        whole = runtime.search(QUERY)
        result, _ = way(runtime, max_results=1)

    assert (1, True) == (len(result.sources), result.truncated)
    assert 1 < len({record.url for record in result.citations})
    assert whole.citations == result.citations


@pytest.mark.parametrize("is_async", [False, True])
def test_answers_to_several_queries_keep_their_own_numbers(is_async: bool) -> None:
    with LoopbackServer() as server, runtime_on(server, "low") as runtime:
        alone = [runtime.search(query) for query in (QUERY, OTHER)]
        merged = (
            asyncio.run(runtime.asearch_many([QUERY, OTHER], max_results=None))
            if is_async
            else runtime.search_many([QUERY, OTHER], max_results=None)
        )

    content = merged.content or ""
    assert [result.content for result in alone] == [
        content[slice(*span)] for span in merged.answer_spans
    ]
    for index, result in enumerate(alone):
        records = [record for record in merged.citations if record.answer_index == index]
        assert [record.url for record in result.citations] == [record.url for record in records]
        assert all(record.raw_marker == content[slice(*record.marker_span)] for record in records)
    assert merged.citations == read_saved(merged.model_dump(mode="json")).citations


@WAYS
def test_what_was_kept_beside_an_answer_replays_it(way: Ask) -> None:
    with LoopbackServer() as server, runtime_on(server, "low") as runtime:
        result, _ = way(runtime, include_raw=True)

    assert result.citations == read_saved(result.raw).citations
    assert result.sources == read_saved(result.raw).sources


def test_records_come_out_of_the_cache_as_they_went_in() -> None:
    with LoopbackServer() as server, runtime_on(server, "fast", cache={}) as runtime:
        first, second = runtime.search(QUERY), runtime.search(QUERY)

    assert second.cached
    assert first.citations == second.citations


class Stranger:
    """A provider that knows nothing of citations, or does everything itself."""

    id = "stranger"

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def available(self) -> bool:
        return True

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        pages = [WebSearchSource(url=f"https://site{n}.example/") for n in (1, 2)]
        yield from ()
        return WebSearchResult(
            provider=self.id, content="Tea[2], in 2019 [1], salt[7].", sources=pages, **self._fields
        )


@WAYS
def test_a_strangers_answer_is_read_before_its_sources_are_cut(way: Ask) -> None:
    with WebRuntime() as runtime:
        runtime.register_search_provider(Stranger())
        result, _ = way(runtime, max_results=1)

    assert ("markers/1", 1) == (result.citation_contract, len(result.sources))
    assert [2, 1, 7] == [record.source_index for record in result.citations]
    assert ["https://site2.example/", "https://site1.example/", None] == [
        record.url for record in result.citations
    ]


@WAYS
def test_a_stranger_with_a_contract_of_its_own_is_left_alone(way: Ask) -> None:
    with WebRuntime() as runtime:
        runtime.register_search_provider(Stranger(citation_contract="stranger/3"))
        result, _ = way(runtime)

    assert ((), "stranger/3") == (result.citations, result.citation_contract)
