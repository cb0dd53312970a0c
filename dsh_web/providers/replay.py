"""`replay`: answers from snapshots, without a network: for tests, talks, and notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from ..errors import ProviderError
from ..filters import FILTERS
from ..flow import Flow
from ..seam import FilterSupport, SupportedFilters, WebSearchRequest, WebSearchResult
from ..snapshots import WebSnapshot

__all__ = ["ReplayProvider"]

_IGNORED: Final = ("on_unsupported", "include_raw")
"""What a caller wants to know, not what is searched for."""
_MODES: Final = ("academic", "sec", "people", "finance")


class ReplayProvider:
    """A search provider that gives back what was saved for a question.

        runtime.register_search_provider(ReplayProvider([WebSnapshot.load("question.json")]))

    A request is answered by the snapshot of the same query and the same filters; the result is the
    one that was saved, with the id of the provider that once gave it.

    Args:
        snapshots: What can be asked. Of several for one request the last one wins.
        id: Id of this provider.
    """

    label: ClassVar[str] = "Replay"
    supports_response_format: ClassVar[bool] = True
    supported_filters: ClassVar[SupportedFilters] = {
        name: FilterSupport(level="exact")
        for name in (*FILTERS, *(f"mode={mode}" for mode in _MODES))
    }

    def __init__(self, snapshots: Iterable[WebSnapshot], *, id: str = "replay") -> None:  # noqa: A002
        self.id = id
        self._results = {_key(snapshot.request): snapshot.result for snapshot in snapshots}

    def available(self) -> bool:
        """Return whether there is anything to answer with."""
        return bool(self._results)

    def unavailable_reason(self) -> str | None:
        """Return one line for people on why the provider cannot work, or None if it can."""
        return None if self._results else "it has no snapshots"

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return the flow of a search: it sends nothing.

        Raises:
            ProviderError: No snapshot was taken of this request.
        """
        yield from ()
        result = self._results.get(_key(request))
        if result is None:
            raise ProviderError(
                f"no snapshot answers {request.query!r} with these filters: save one with "
                "result.save(path)",
                provider=self.id,
            )
        return result


def _key(request: WebSearchRequest) -> str:
    return request.model_dump_json(exclude=set(_IGNORED))
