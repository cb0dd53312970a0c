"""`WebFetchTool`: the tool `web_fetch` for agents."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from pydantic import BaseModel

from dsh_web import WebPage
from dsh_web.pages.rendering import render_page
from dsh_web.tool_args import read_url, web_fetch_arguments, web_fetch_description

from .events import fetch_event
from .listeners import Listeners
from .rate_limits import await_turns, wait_for_turns
from .settings import Capability
from .tools import WebTool

__all__ = ["WebFetchTool"]


class WebFetchTool(WebTool):
    """Reads a web page for an agent: Markdown for the model, data for the program.

        agent = create_agent(model, tools=[WebSearchTool(), WebFetchTool(main_content=True)])

    The model passes `url`, nothing else. Where it may go is up to the runtime's fetch provider:
    the built-in one refuses private addresses, and takes lists of allowed and denied sites.

    A call with a `ToolCall` returns a `ToolMessage`. Its `artifact` is a plain JSON-able dict,
    safe in any checkpointer:

        {"schema": 1, "kind": self._kind, "url": ..., "result": {...}, "text_truncated": False}

    `url` is the address as it was asked for, `result` the whole `dsh_web.WebPage`;
    `WebPage.model_validate` reads it back. Listeners receive the custom event `dsh_web.fetch`.

    A page is data from strangers, and may try to talk to the model. `boundaries` marks where it
    begins and ends, which helps a model to tell the two apart and forces it to nothing.

    Failures, cancelling, pickle and copies: as for `WebSearchTool`.
    """

    _kind: ClassVar[str] = "web_fetch"
    _capability: ClassVar[Capability] = "fetch"

    name: str = "web_fetch"
    main_content: bool = False
    """Keep the main part of an HTML page only, without menus, footers and the like."""
    boundaries: bool = False
    """Put the page between marks that it cannot forge."""

    def _own_schema(self) -> type[BaseModel]:
        return web_fetch_arguments()

    def _own_description(self) -> str:
        return web_fetch_description()

    # `self` and `text` are positional only: a model may invent an argument with any name.

    def _run(
        self,
        text: str | None = None,
        /,
        *,
        run_manager: CallbackManagerForToolRun | None = None,
        **arguments: Any,
    ) -> tuple[str, dict[str, Any]]:
        url = self._url(text, arguments)
        listeners = Listeners(run_manager)
        with self._failures_told():
            runtime = self._used_runtime()
            wait_for_turns(self.rate_limiter, 1, self.cancel)
            page = runtime.read_page(url, **self._page_options())
        if listeners:
            listeners.tell(fetch_event(page))
        return self._output(url, page)

    async def _arun(
        self,
        text: str | None = None,
        /,
        *,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
        **arguments: Any,
    ) -> tuple[str, dict[str, Any]]:
        url = self._url(text, arguments)
        listeners = Listeners(run_manager)
        with self._failures_told():
            runtime = self._used_runtime()
            await await_turns(self.rate_limiter, 1, self.cancel)
            page = await runtime.aread_page(url, **self._page_options())
        if listeners:
            await listeners.atell(fetch_event(page))
        return self._output(url, page)

    def _url(self, text: str | None, arguments: dict[str, Any]) -> str:
        return self._read(read_url, arguments if text is None else {"url": text})

    def _page_options(self) -> dict[str, Any]:
        return {
            **self._call_options(),
            "main_content": self.main_content,
            "cancel": self.cancel,
        }

    def _output(self, url: str, page: WebPage) -> tuple[str, dict[str, Any]]:
        shown = render_page(page, self.max_output_chars, boundaries=self.boundaries)
        artifact = {
            "schema": self.artifact_schema,
            "kind": self._kind,
            "url": url,
            "result": page.model_dump(mode="json"),
            "text_truncated": shown.is_cut,
        }
        return shown.text, artifact
