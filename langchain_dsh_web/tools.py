"""What the tools for agents have in common: settings, schema, copies, the form of a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Literal, Self, TypeVar

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, model_validator

from dsh_web import CancelToken, InvalidRequestError, WebError
from dsh_web.render import DEFAULT_MAX_CHARS
from dsh_web.tool_failures import failure_data, failure_text

from .errors import WebToolException
from .schemas import shown_schema
from .settings import Count, RuntimeSettings

__all__ = ["WebTool"]

Arguments = TypeVar("Arguments")

_failures: ContextVar[list[WebError]] = ContextVar("failures")
"""Of the run that is going on. LangChain keeps only the text of a failure that it handles."""


@contextmanager
def _noting_failures() -> Iterator[list[WebError]]:
    failures: list[WebError] = []
    token = _failures.set(failures)
    try:
        yield failures
    finally:
        _failures.reset(token)


class WebTool(RuntimeSettings, BaseTool):
    """A tool whose arguments a model writes and whose settings a developer makes."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    _kind: ClassVar[str]
    """What the artifact calls the tool, whatever its name is."""
    artifact_schema: ClassVar[int] = 1
    """Version of the artifact's own keys; it changes when a reader would have to."""

    description: str = ""
    """What the model is told; by default what `dsh_web.tool_args` says of the tool."""
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool | str | Callable[[ToolException], Any] | None = True
    """True: the model is told what the exception says, which is one line made for it."""
    max_output_chars: Count | None = DEFAULT_MAX_CHARS
    """Cap on the text, in code points; None: no cap. The artifact is never cut to it."""
    cancel: CancelToken | None = Field(default=None, exclude=True, repr=False)
    """Stops the calls of this tool, from any thread; an agent then sees `WEB_ABORTED`."""

    def _own_schema(self) -> type[BaseModel]:
        """Return the schema of the arguments; the same class for the same settings."""
        raise NotImplementedError

    def _own_description(self) -> str:
        raise NotImplementedError

    @model_validator(mode="after")
    def _describe_the_arguments(self) -> Self:
        if self.args_schema is None:
            self.args_schema = self._own_schema()
        if not self.description:
            self.description = self._own_description()
        return self

    @property
    def tool_call_schema(self) -> Any:
        """The schema that a model is shown: what is required, and nothing else allowed."""
        return shown_schema(self) or super().tool_call_schema

    def run(self, *arguments: Any, **options: Any) -> Any:
        """Run the tool; LangChain's own, and a failure that it tells the model has an artifact."""
        with _noting_failures() as failures:
            output = super().run(*arguments, **options)
        return self._with_artifact(output, failures)

    async def arun(self, *arguments: Any, **options: Any) -> Any:
        """Run the tool; see `run`."""
        with _noting_failures() as failures:
            output = await super().arun(*arguments, **options)
        return self._with_artifact(output, failures)

    def _with_artifact(self, output: Any, failures: list[WebError]) -> Any:
        # A `ToolMessage`; without a call to answer to, the text alone, which can carry nothing.
        if failures and getattr(output, "status", None) == "error":
            told = {"schema": self.artifact_schema, "kind": self._kind}
            output.artifact = told | failure_data(failures[-1])
        return output

    def _read(self, read: Callable[[Any], Arguments], arguments: Any) -> Arguments:
        """Return what `read` makes of a model's arguments."""
        try:
            return read(arguments)
        except InvalidRequestError as error:
            raise self._told(error) from error

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        """Raise a failure as the exception that LangChain hands to the model."""
        try:
            yield
        except WebError as error:
            raise self._told(error) from error

    def _told(self, error: WebError) -> WebToolException:
        _failures.get([]).append(error)
        return WebToolException(failure_text(self.name, error), error)

    def _shared_on_copy(self) -> tuple[object, ...]:
        return (*super()._shared_on_copy(), self.cancel)

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        fields = state["__dict__"]
        # A class made at run time cannot be pickled by name, and need not be: it is made again.
        if fields["args_schema"] is self._own_schema():
            state = {**state, "__dict__": {**fields, "args_schema": None}}
        return state

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        if self.args_schema is None:
            self.args_schema = self._own_schema()
