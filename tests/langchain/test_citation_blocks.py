"""`WebSearchTool(citation_blocks="search_result")`: blocks that Anthropic's models cite."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from dsh_web import Citation, ProviderError, WebSearchResult, WebSearchSource
from langchain_dsh_web import WebSearchTool

CITED = WebSearchResult(
    provider="fake",
    content="The tide is high [1].",
    sources=(
        WebSearchSource(url="https://a.example/", title="A", snippet="Text A"),
        WebSearchSource(url="https://b.example/"),
    ),
    citations=(
        Citation(
            provider="fake",
            source_type="numeric",
            source_index=1,
            url="https://a.example/",
            title="A",
            marker_span=(17, 20),
            claim_span=(0, 16),
            raw_marker="[1]",
            resolved=True,
        ),
    ),
    citation_contract="markers/1",
)
ANSWER_BLOCK = {"type": "text", "text": "The tide is high [1]."}
SOURCE_BLOCKS = [
    {
        "type": "search_result",
        "source": "https://a.example/",
        "title": "A",
        "content": [{"type": "text", "text": "Text A"}],
        "citations": {"enabled": True},
    },
    {
        "type": "search_result",
        "source": "https://b.example/",
        "title": "b.example",
        "content": [{"type": "text", "text": "b.example"}],
        "citations": {"enabled": True},
    },
]


def cited(request: Any) -> WebSearchResult:
    return CITED


def tool_call(*queries: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": "c", "name": "web_search", "args": {"queries": [*queries]}}


def citing_tool(runtime: Any, **settings: Any) -> WebSearchTool:
    return WebSearchTool(runtime=runtime, citation_blocks="search_result", **settings)


class RecordingModel(GenericFakeChatModel):
    disable_streaming: bool = True
    seen: list[Any] = []  # noqa: RUF012 - a pydantic default is copied

    def bind_tools(self, tools: Any, **kwargs: Any) -> RecordingModel:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


async def test_the_content_is_the_answer_and_a_block_for_each_source(invoke, runtime_of):
    message = await invoke(citing_tool(runtime_of(cited)), tool_call("q"))

    assert isinstance(message, ToolMessage)
    assert [ANSWER_BLOCK, *SOURCE_BLOCKS] == message.content


async def test_without_an_answer_there_are_only_search_results(invoke, runtime_of):
    plain = CITED.model_copy(update={"content": None, "citations": ()})

    content = await invoke(citing_tool(runtime_of(lambda _: plain)), {"queries": ["q"]})

    assert SOURCE_BLOCKS == content


async def test_the_artifact_is_the_same_as_with_text(invoke, runtime_of):
    runtime = runtime_of(cited)

    with_blocks = await invoke(citing_tool(runtime), tool_call("q"))
    with_text = await invoke(WebSearchTool(runtime=runtime), tool_call("q"))

    assert with_text.artifact == with_blocks.artifact
    assert isinstance(with_text.content, str)


async def test_several_queries_make_one_list_of_blocks(invoke, runtime_of):
    def by_query(request: Any) -> WebSearchResult:
        found = WebSearchSource(url=f"https://{request.query}.example/", snippet="s")
        return WebSearchResult(provider="fake", sources=(found,))

    content = await invoke(citing_tool(runtime_of(by_query)), {"queries": ["a", "b"]})

    assert ["https://a.example/", "https://b.example/"] == [block["source"] for block in content]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (WebSearchResult(provider="fake"), "No results found."),
        (WebSearchResult(provider="fake", content="Known."), "Known."),
    ],
)
async def test_where_nothing_can_be_cited_the_content_is_text(invoke, runtime_of, result, text):
    assert text == await invoke(citing_tool(runtime_of(lambda _: result)), {"queries": ["q"]})


async def test_the_cap_holds_for_all_blocks_together(invoke, runtime):
    message = await invoke(citing_tool(runtime, max_output_chars=300), tool_call("q"))

    shown = sum(
        len(block["source"]) + len(block["title"]) + len(block["content"][0]["text"])
        for block in message.content
    )
    assert shown <= 300
    assert not any(block["content"][0]["text"] == "" for block in message.content)


async def test_what_was_cut_is_marked_in_the_artifact(invoke, runtime):
    message = await invoke(citing_tool(runtime, max_output_chars=120), tool_call("q"))

    assert message.artifact["text_truncated"]
    assert len(message.content) < 8 == len(message.artifact["result"]["sources"])


async def test_a_cap_without_room_for_a_source_gives_text(invoke, runtime):
    text = await invoke(citing_tool(runtime, max_output_chars=5), {"queries": ["q"]})

    assert "The…" == text


async def test_a_failure_is_text(invoke, runtime_of):
    def fail(request: Any) -> Any:
        raise ProviderError("down")

    message = await invoke(citing_tool(runtime_of(fail)), tool_call("q"))

    assert ("error", "web_search failed (WEB_PROVIDER_ERROR): down") == (
        message.status,
        message.content,
    )


async def test_an_agent_hands_the_blocks_to_its_model_as_they_are(invoke, runtime_of):
    call = {"name": "web_search", "args": {"queries": ["q"]}, "id": "c"}
    script = iter([AIMessage("", tool_calls=[call]), AIMessage("done")])
    model = RecordingModel(messages=script)
    agent = create_agent(
        model, tools=[citing_tool(runtime_of(cited))], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "1"}}

    await invoke(agent, {"messages": [("user", "?")]}, thread)

    (told,) = [m for m in model.seen[-1] if isinstance(m, ToolMessage)]
    assert [ANSWER_BLOCK, *SOURCE_BLOCKS] == told.content
    (stored,) = [
        m for m in agent.get_state(thread).values["messages"] if isinstance(m, ToolMessage)
    ]
    assert told.content == stored.content
    found = WebSearchResult.model_validate(stored.artifact["result"])
    assert found.model_copy(update={"request": None}) == CITED


def test_blocks_share_nothing_that_a_formatter_could_change(runtime_of):
    tool = citing_tool(runtime_of(cited))
    first, again = tool.invoke({"queries": ["q"]}), tool.invoke({"queries": ["q"]})

    first[1]["citations"]["enabled"] = False

    assert SOURCE_BLOCKS == again[1:]
    assert SOURCE_BLOCKS[0] != first[1]
    assert json.loads(json.dumps(again)) == again


def test_the_setting_survives_copies_and_pickles():
    tool = WebSearchTool(citation_blocks="search_result")

    assert "search_result" == copy.deepcopy(tool).citation_blocks
    assert "search_result" == pickle.loads(pickle.dumps(tool)).citation_blocks


def test_an_unknown_kind_of_block_is_refused():
    with pytest.raises(ValidationError):
        WebSearchTool(citation_blocks="document")
