"""What running a case produced, in words the expectation keys can be compared with."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .calls import Mode

if TYPE_CHECKING:
    from dsh_web import WebPage, WebSearchResult

    from .network_watch import Traffic
    from .stub_server import Received

_PACKAGES = ("dsh_web", "langchain_dsh_web", "llama_index_dsh_web")


class NotMeasuredError(Exception):
    """The key is known, but this surface (or this outcome) has nothing to compare it with."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A LangChain document or a LlamaIndex node."""

    text: Any
    metadata: Mapping[str, Any]
    id: str | None = None
    score: Any = None


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a framework's tool handed back."""

    type: str
    """Name of the class."""
    text: str
    """What the model reads."""
    payload: Mapping[str, Any] | None
    """The structured result beside the text."""
    state: str | None = None
    """The framework's own word for success or failure."""
    call_id: str | None = None


@dataclass(slots=True)
class Outcome:
    """One run of one case."""

    error: BaseException | None = None
    """The `WebError` inside whatever was raised; else what was raised."""
    visible_error: BaseException | None = None
    """What the caller saw, framework wrapping included."""
    result: WebSearchResult | WebPage | None = None
    parts: list[Outcome] | None = None
    """One for each of several addresses that are fetched on their own."""
    seconds: float | None = None
    pending: int | None = None
    received: list[Received] | None = None
    open_connections: int | None = None
    traffic: Traffic | None = None
    text_limit: int | None = None
    """Cap on the tool's text."""
    tool: ToolReply | None = None
    passages: list[Passage] | None = None
    repeat: Callable[[Mode], list[Passage]] | None = None
    """Makes the same retriever call once more."""
    stock_filter: Callable[[], int] | None = None
    """Counts the nodes that the framework's own similarity filter keeps."""
    measured: dict[str, Any] = field(default_factory=dict)
    """What only this surface or scenario measures, by name."""
    places: dict[str, str | bytes] = field(default_factory=dict)
    """Where a secret could show, by name; see `secret_places`."""
    secret: str | None = None

    def need(self, name: str) -> Any:
        """Return an attribute, or explain why a comparison is not possible.

        Raises:
            NotMeasuredError: It is None.
        """
        value = getattr(self, name)
        if value is None:
            why = f"the run raised {self.error!r}" if self.error else "this surface has none"
            raise NotMeasuredError(f"no {name} to compare: {why}")
        return value

    def measure(self, name: str) -> Any:
        """Return what a scenario measured.

        Raises:
            NotMeasuredError: It measured no such thing.
        """
        if name not in self.measured:
            why = f"; the run raised {self.error!r}" if self.error else ""
            raise NotMeasuredError(f"{name} was not measured{why}")
        return self.measured[name]

    def secret_places(self) -> dict[str, str | bytes]:
        """Return everything a secret could show in: errors, tracebacks, tool text, result, ..."""
        places = dict(self.places)
        if self.visible_error is not None:
            chain = list(_chain(self.visible_error))
            parts = [f"{error}\n{error!r}\n{error.args!r}" for error in chain]
            places["exception text"] = "\n".join(parts)
            places["traceback"] = "\n".join(_frames(chain))
        if self.tool is not None:
            places["tool message"] = f"{self.tool.text}\n{self.tool.payload!r}"
        if self.result is not None:
            places["result"] = f"{self.result!r}\n{self.result.model_dump_json()}"
        if self.passages is not None:
            places["documents"] = repr(self.passages)
        return places


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _frames(chain: list[BaseException]) -> Iterator[str]:
    """Yield the tracebacks, and the locals of the package's own frames as a tracer shows them."""
    for error in chain:
        yield "".join(traceback.format_exception_only(error))
        for frame, line in traceback.walk_tb(error.__traceback__):
            yield f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}"
            if set(Path(frame.f_code.co_filename).parts) & set(_PACKAGES):
                yield from (f"{name} = {value!r}" for name, value in frame.f_locals.items())
