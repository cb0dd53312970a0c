"""`WebToolSpec(citation_blocks="citable")`: blocks that Anthropic's models cite."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent, ToolCallResult
from llama_index.core.llms import ChatMessage, ChatResponse, CitableBlock, MockLLM, TextBlock
from llama_index.core.tools import ToolMetadata, ToolOutput

from dsh_web import InvalidRequestError, WebSearchResult
from llama_index_dsh_web import WebToolSpec

# Building an agent looks up a deprecated attribute of pydantic's.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")

CITABLE = [
    ("Alpha", "https://alpha.example/a", "part one"),
    ("Alpha", "https://alpha.example/a", "part two"),
    ("beta.example", "https://beta.example/b", "beta"),
]


def citing_tool(runtime, **settings):
    return WebToolSpec(runtime, citation_blocks="citable", **settings).to_tool_list()[0]


def pieces(output):
    assert all(isinstance(block, CitableBlock) for block in output.blocks[1:])
    return [(block.title, block.source, block.content[0].text) for block in output.blocks[1:]]


async def test_the_text_comes_first_then_a_block_for_each_source(runtime, run_tool):
    plain = await run_tool(WebToolSpec(runtime).to_tool_list()[0], queries=["q"])

    output = await run_tool(citing_tool(runtime), queries=["q"])

    assert [TextBlock(text=plain.content)] == output.blocks[:1] == plain.blocks
    assert CITABLE == pieces(output)
    assert plain.content == output.content == str(output)
    assert plain.raw_output == output.raw_output


async def test_several_queries_make_one_list_of_blocks(runtime, run_tool):
    output = await run_tool(citing_tool(runtime), queries=["one", "two"])

    assert len({(source, text) for _, source, text in pieces(output)}) == len(pieces(output))
    assert output.content.startswith("## one")


async def test_where_nothing_was_found_there_is_text_alone(runtime, provider, run_tool):
    provider.result = WebSearchResult(provider="fake")

    output = await run_tool(citing_tool(runtime), queries=["q"])

    assert [TextBlock(text="No results found.")] == output.blocks


@pytest.mark.parametrize("cap", [1, 40, 150, 300, 700])
async def test_the_cap_holds_for_text_and_blocks_together(runtime, run_tool, cap):
    output = await run_tool(citing_tool(runtime, max_output_chars=cap), queries=["q"])

    shown = len(output.content) + sum(map(len, sum(pieces(output), ())))
    assert 0 < len(output.content) <= shown <= cap
    assert output.raw_output["text_truncated"] == (cap < 700)
    assert len(output.raw_output["result"]["sources"]) == 3


async def test_a_renamed_tool_keeps_its_blocks(runtime, run_tool):
    given = ToolMetadata(name="look_up", description="Look it up.")
    spec = WebToolSpec(runtime, citation_blocks="citable")
    tool = spec.to_tool_list(func_to_metadata_mapping={"web_search": given})[0]

    output = await run_tool(tool, queries=["q"])

    assert ("look_up", CITABLE) == (output.tool_name, pieces(output))


async def test_a_function_agent_hands_the_blocks_to_its_model(runtime, scripted_llm):
    class Listening(scripted_llm):
        async def achat(self, messages, **kwargs):
            told.extend(message for message in messages if message.role == "tool")
            return await super().achat(messages, **kwargs)

    told: list[ChatMessage] = []
    llm = Listening(calls=[{"queries": ["q"]}])
    agent = FunctionAgent(tools=[citing_tool(runtime)], llm=llm, streaming=False)

    await agent.run("?")

    assert ["text", "citable", "citable", "citable"] == [b.block_type for b in told[0].blocks]


@pytest.mark.filterwarnings("ignore:is_running called from within a step")
async def test_a_react_agent_observes_the_text(runtime):
    class Reasoning(MockLLM):
        async def achat(self, messages, **kwargs):
            seen.append("\n".join(str(message.content) for message in messages))
            return ChatResponse(message=ChatMessage(role="assistant", content=turns.pop(0)))

    seen: list[str] = []
    turns = [
        'Thought: I need to search.\nAction: web_search\nAction Input: {"queries": ["q"]}\n',
        "Thought: I can answer without using any more tools.\nAnswer: done",
    ]
    agent = ReActAgent(tools=[citing_tool(runtime)], llm=Reasoning(), streaming=False)

    handler = agent.run("?")
    results = [e async for e in handler.stream_events() if isinstance(e, ToolCallResult)]
    await handler

    assert "- [Alpha](https://alpha.example/a) — part one (2026-01-02)" in seen[-1]
    assert CITABLE == pieces(results[0].tool_output)


async def test_the_output_survives_json(runtime, run_tool):
    output = await run_tool(citing_tool(runtime), queries=["q"])

    stored = ToolOutput(**json.loads(output.model_dump_json()))

    assert CITABLE == pieces(stored)
    assert output == stored


def test_the_setting_survives_copies_and_pickles(runtime):
    spec = WebToolSpec(runtime, citation_blocks="citable")

    output = copy.deepcopy(spec).web_search("q")

    assert CITABLE == pieces(output)
    assert CITABLE == pieces(asyncio.run(spec.aweb_search("q")))
    assert pickle.loads(pickle.dumps(WebToolSpec(citation_blocks="citable")))._has_citable_blocks


def test_an_unknown_kind_of_block_is_refused():
    with pytest.raises(InvalidRequestError, match="citation_blocks"):
        WebToolSpec(citation_blocks="search_result")
