"""`WebFetchTool`: the tool `web_fetch` for agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.tools import BaseTool, ToolException
from pydantic import ConfigDict, Field, model_validator

from dsh_web import CancelToken, InvalidRequestError, WebError, WebPage
from dsh_web.pages.rendering import render_page
from dsh_web.render import DEFAULT_MAX_CHARS
from dsh_web.tool_args import read_url, web_fetch_arguments, web_fetch_description

from .errors import WebToolException, failure_text
from .events import fetch_event
from .listeners import Listeners
from .rate_limits import await_turns, wait_for_turns
from .schemas import shown_schema
from .settings import Capability, Count, RuntimeSettings

__all__ = ["WebFetchTool"]


class WebFetchTool(RuntimeSettings, BaseTool):
    """Reads a web page for an agent: Markdown for the model, data for the program.

        agent = create_agent(model, tools=[WebSearchTool(), WebFetchTool(main_content=True)])

    The model passes `url`, nothing else. Where it may go is up to the runtime's fetch provider:
    the built-in one refuses private addresses, and takes lists of allowed and denied sites.

    A call with a `ToolCall` returns a `ToolMessage`. Its `artifact` is a plain JSON-able dict,
    safe in any checkpointer:

        {"schema": 1, "kind": "web_fetch", "url": ..., "result": {...}, "text_truncated": False}

    `url` is the address as it was asked for, `result` the whole `dsh_web.WebPage`;
    `WebPage.model_validate` reads it back. Listeners receive the custom event `dsh_web.fetch`.

    A page is data from strangers, and may try to talk to the model. `boundaries` marks where it
    begins and ends, which helps a model to tell the two apart and forces it to nothing.

    Failures, cancelling, pickle and copies: as for `WebSearchTool`.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    _capability: ClassVar[Capability] = "fetch"
    artifact_schema: ClassVar[int] = 1
    """Version of the artifact's own keys; it changes when a reader would have to."""

    name: str = "web_fetch"
    description: str = ""
    """What the model is told; by default `dsh_web.tool_args.web_fetch_description`."""
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool | str | Callable[[ToolException], Any] | None = True
    """True: the model is told what the exception says, which is one line made for it."""

    main_content: bool = False
    """Keep the main part of an HTML page only, without menus, footers and the like."""
    max_output_chars: Count | None = DEFAULT_MAX_CHARS
    """Cap on the text, in code points; None: no cap. The artifact is never cut to it."""
    boundaries: bool = False
    """Put the page between marks that it cannot forge."""
    cancel: CancelToken | None = Field(default=None, exclude=True, repr=False)
    """Stops the calls of this tool, from any thread; an agent then sees `WEB_ABORTED`."""

    @model_validator(mode="after")
    def _describe_the_arguments(self) -> Self:
        if self.args_schema is None:
            self.args_schema = web_fetch_arguments()
        if not self.description:
            self.description = web_fetch_description()
        return self

    @property
    def tool_call_schema(self) -> Any:
        """The schema that a model is shown: `url` is required, nothing else allowed."""
        return shown_schema(self) or super().tool_call_schema

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
        try:
            runtime = self._used_runtime()
            wait_for_turns(self.rate_limiter, 1, self.cancel)
            page = runtime.read_page(url, **self._page_options())
        except WebError as error:
            raise WebToolException(failure_text(self.name, error), error) from error
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
        try:
            runtime = self._used_runtime()
            await await_turns(self.rate_limiter, 1, self.cancel)
            page = await runtime.aread_page(url, **self._page_options())
        except WebError as error:
            raise WebToolException(failure_text(self.name, error), error) from error
        if listeners:
            await listeners.atell(fetch_event(page))
        return self._output(url, page)

    def _url(self, text: str | None, arguments: dict[str, Any]) -> str:
        try:
            return read_url(arguments if text is None else {"url": text})
        except InvalidRequestError as error:
            # The model's own slip: the message alone says what to change.
            raise WebToolException(error.message, error) from error

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
            "kind": "web_fetch",
            "url": url,
            "result": page.model_dump(mode="json"),
            "text_truncated": shown.is_cut,
        }
        return shown.text, artifact

    def _shared_on_copy(self) -> tuple[object, ...]:
        return (*super()._shared_on_copy(), self.cancel)

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        fields = state["__dict__"]
        # A class made at run time cannot be pickled by name, and need not be: it is made again.
        if fields["args_schema"] is web_fetch_arguments():
            state = {**state, "__dict__": {**fields, "args_schema": None}}
        return state

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        if self.args_schema is None:
            self.args_schema = web_fetch_arguments()
