"""Stand-ins for a chat model, so that the notebooks run where none is set up.

They follow a script: search the web for what was asked, then quote what was found. They understand
nothing; everything around them (the tools, the searches, the citations) is real.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

SOURCE = re.compile(
    r"^- \[(?P<title>(?:\\.|[^\]\\])+)\]\((?P<url>[^\s)]+)\)(?: — (?P<snippet>.*))?$", re.MULTILINE
)
PASSAGE = re.compile(
    r"^Source (?P<number>\d+):\n(?P<text>.*?)(?=^Source \d+:\n|^-{4,}|\Z)", re.MULTILINE | re.DOTALL
)
HEADER = re.compile(r"^(?:title|url|published_at|updated_at): .*$", re.MULTILINE)


def quoted(tool_text: str) -> str:
    """Return an answer that quotes the first sources of a `web_search` tool's text."""
    found = list(SOURCE.finditer(tool_text))[:2]
    if not found:
        return f"The search brought nothing that I can quote. {tool_text.splitlines()[0]}"
    quotes = [
        f"- {first_sentence(m['snippet'] or m['title'])} ([{m['title']}]({m['url']}))"
        for m in found
    ]
    return "This is what I found:\n\n" + "\n".join(quotes)


def first_sentence(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
    return sentence if len(sentence) <= 200 else f"{sentence[:199]}…"


def cited(prompt: str) -> str:
    """Return an answer that quotes the numbered passages of a citation prompt."""
    passages = list(PASSAGE.finditer(prompt.rpartition("Below are several numbered sources")[2]))[
        :3
    ]
    if not passages:
        return "The passages hold nothing that I can quote."
    texts = [(HEADER.sub("", match["text"]).strip(), match["number"]) for match in passages]
    return " ".join(
        f"{first_sentence(text).rstrip('.')} [{number}]." for text, number in texts if text
    )


def __getattr__(name: str) -> Any:
    # Each framework is imported only by the notebook that uses it.
    makers = {"QuotingChatModel": _langchain_model, "QuotingLLM": _llama_index_llm}
    if name not in makers:
        raise AttributeError(name)
    return makers[name]()


def _langchain_model() -> type:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class QuotingChatModel(BaseChatModel):
        """Searches for the last question, then quotes what the tool found."""

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> QuotingChatModel:
            return self

        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            last = messages[-1]
            if isinstance(last, ToolMessage):
                failed = last.status == "error"
                text = f"I could not search: {last.text}" if failed else quoted(last.text)
                answer = AIMessage(text)
            else:
                arguments = {"queries": [last.text]}
                call = {"name": "web_search", "args": arguments, "id": f"call-{len(messages)}"}
                answer = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=answer)])

    return QuotingChatModel


def _llama_index_llm() -> type:
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        CompletionResponse,
        LLMMetadata,
        MessageRole,
    )
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.tools import ToolSelection

    class QuotingLLM(FunctionCallingLLM):
        """Quotes numbered passages; as an agent, searches first and quotes what was found."""

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_function_calling_model=True, model_name="scripted")

        def complete(
            self, prompt: str, formatted: bool = False, **kwargs: Any
        ) -> CompletionResponse:
            return CompletionResponse(text=cited(prompt))

        async def acomplete(
            self, prompt: str, formatted: bool = False, **kwargs: Any
        ) -> CompletionResponse:
            return self.complete(prompt)

        def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
            last = messages[-1]
            if last.role == MessageRole.TOOL:
                return _said(quoted(last.content or ""))
            if kwargs.get("tools"):
                call = ToolSelection(
                    tool_id=f"call-{len(messages)}",
                    tool_name="web_search",
                    tool_kwargs={"queries": [last.content or ""]},
                )
                return _said("", calls=[call])
            return _said(cited(last.content or ""))

        async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
            return self.chat(messages, **kwargs)

        def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
            raise NotImplementedError("the scripted model does not stream: set streaming=False")

        stream_complete = astream_chat = astream_complete = stream_chat

        def _prepare_chat_with_tools(
            self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
        ) -> dict[str, Any]:
            history = list(chat_history or [])
            if user_msg is not None:
                said = user_msg if isinstance(user_msg, ChatMessage) else ChatMessage(user_msg)
                history.append(said)
            return {"messages": history, "tools": list(tools)}

        def get_tool_calls_from_response(
            self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
        ) -> list[ToolSelection]:
            return list(response.message.additional_kwargs.get("calls", []))

    def _said(text: str, calls: Sequence[ToolSelection] = ()) -> ChatResponse:
        message = ChatMessage(
            role=MessageRole.ASSISTANT, content=text, additional_kwargs={"calls": list(calls)}
        )
        return ChatResponse(message=message)

    return QuotingLLM
