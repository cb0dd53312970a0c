"""What the examples of the documentation run against: no key, no network, no model.

Searches go to a real `LoopbackServer` through the environment, as a reader's would. Pages come
from a local web server through the real fetch provider; only TLS is left out, since nobody here
holds the certificates of the sites that the examples name. Models are scripted.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from dsh_web import HttpFetchProvider

FETCH_PROVIDER = "documented-fetch"
PAGE = b"<title>Python</title><main><h1>Python</h1><p>Batteries.</p></main>"
PUBLIC_ADDRESS = "93.184.215.14"
ARGUMENTS = {"queries": ["asyncio task groups"]}
ANSWER = "Task groups wait for their tasks [1]."


class _OnePage(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the output of the examples is compared."""


class PagesOnThisMachine(HttpFetchProvider):
    """The fetch provider `http`, for which every site is on this machine."""

    id = FETCH_PROVIDER
    port = 0

    def __init__(self) -> None:
        super().__init__(
            resolve=lambda host: [PUBLIC_ADDRESS],
            dial=lambda address, port: ("127.0.0.1", type(self).port),
        )

    def fetch_flow(self, request: Any) -> Any:
        plain = urlsplit(request.url)._replace(scheme="http").geturl()
        result = yield from super().fetch_flow(request.model_copy(update={"url": plain}))
        return result.model_copy(update={"url": request.url})


@contextlib.contextmanager
def page_server() -> Iterator[None]:
    """Serve one page for every address while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _OnePage)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="pages", daemon=True)
    thread.start()
    PagesOnThisMachine.port = server.server_address[1]
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def langchain_model() -> Any:
    """A chat model that asks for one search if it has tools, and then answers."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        has_tools: bool = False

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self.model_copy(update={"has_tools": bool(tools)})

        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            message = AIMessage(content=ANSWER)
            if self.has_tools and messages[-1].type != "tool":
                call = {"type": "tool_call", "id": "1", "name": "web_search", "args": ARGUMENTS}
                message = AIMessage(content="", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Scripted()


def langchain_agent() -> Any:
    """An agent over that model with the search tool."""
    from langchain.agents import create_agent

    from langchain_dsh_web import WebSearchTool

    return create_agent(langchain_model(), tools=[WebSearchTool()])


def llama_index_llm() -> Any:
    """A language model that asks its tools for one search if it has any, and then answers."""
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.llms import MockFunctionCallingLLM

    def answer(messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
        if not options.get("tools") or any(message.role == "tool" for message in messages):
            return ChatMessage(ANSWER, role="assistant")
        call = ToolCallBlock(tool_name="web_search", tool_call_id="1", tool_kwargs=ARGUMENTS)
        return ChatMessage(role="assistant", blocks=[call])

    return MockFunctionCallingLLM(response_generator=answer)


def llama_index_agent() -> Any:
    """An agent over that model with the search tool."""
    from llama_index.core.agent.workflow import FunctionAgent

    from llama_index_dsh_web import WebToolSpec

    return FunctionAgent(tools=WebToolSpec().to_tool_list(), llm=llama_index_llm())


NAMES: dict[str, dict[str, Callable[[], Any]]] = {
    "quickstart": {"model": langchain_model},
    "moving": {"model": langchain_model},
    "langchain": {"model": langchain_model, "agent": langchain_agent},
    "llama-index": {"llm": llama_index_llm, "agent": llama_index_agent},
}
"""By a word in the page's path: names that the page introduces in prose ("any chat model")."""


def names_for(page: str) -> dict[str, Any]:
    """Return the names that stand ready for the examples of a page."""
    found: dict[str, Any] = {}
    for word, factories in NAMES.items():
        if word in page:
            found |= {name: make() for name, make in factories.items()}
    return found
