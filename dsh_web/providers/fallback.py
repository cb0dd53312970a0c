"""`fallback`: one provider after the other, for programs that would rather have any answer.

Nothing falls back unless a program makes one of these. The result says who answered and why.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar, Final, Literal

from ..errors import InvalidRequestError, ProviderError, UnsupportedFilterError, WebError
from ..filters import apply_support
from ..flow import Emit, Flow, Sleep, TransportError
from ..seam import SupportedFilters, WebSearchProvider, WebSearchRequest, WebSearchResult

__all__ = ["FallbackProvider"]

DEFAULT_LONGEST_WAIT: Final = 5.0
"""Seconds."""
_NOTHING: Final[tuple[str, ...]] = ()
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are no fault of the request or the key."""


class FallbackProvider:
    """Asks the first provider, and the next one only where the one before is out of service.

        runtime = WebRuntime(search_provider="fallback")
        runtime.register_search_provider(
            FallbackProvider([PerplexitySearchProvider(), ParallelSearchProvider()])
        )

    Each provider retries as it always does. What happens then:

    - It asks for a wait (`Retry-After`) of up to `longest_wait` seconds: the call waits and stays.
    - A longer wait, a 5xx, 408, 409, 425 or 429, no connection, or a body that cannot be made sense
      of: the next provider is asked. After the last one, its error is raised.
    - Any other failure (401, 402, 403, 422, a request that is refused) is raised at once: another
      provider would only hide what has to be mended.
    - A stream of which something was delivered goes no further than its own provider.

    `result.provider` is the id of the provider that answered; `result.warnings` say who failed,
    how, and which filters the one that answered could not honour. All providers must be available;
    one that is not makes this one unavailable, with its reason. The time of a call is shared: a
    provider that hangs uses it up.

    Args:
        providers: In order of preference; two or more.
        id: Id of this provider.
        longest_wait: Seconds that a provider may ask to wait before the next one is asked.
        on_lost_filter: What becomes of a filter that the first provider honours and a later one
            does not: `warn` asks that one without it and says so, `skip` passes that one over.

    Raises:
        InvalidRequestError: There are fewer than two providers, or an argument is out of range.
    """

    label: ClassVar[str] = "Fallback"

    def __init__(
        self,
        providers: Sequence[WebSearchProvider],
        *,
        id: str = "fallback",  # noqa: A002 - what the seam calls it
        longest_wait: float = DEFAULT_LONGEST_WAIT,
        on_lost_filter: Literal["warn", "skip"] = "warn",
    ) -> None:
        self.id = id
        self.providers = tuple(providers)
        self.longest_wait = longest_wait
        self.on_lost_filter = on_lost_filter
        if len(self.providers) < 2:
            raise InvalidRequestError("a fallback takes two providers or more")
        if on_lost_filter not in ("warn", "skip"):
            raise InvalidRequestError(
                f'on_lost_filter must be "warn" or "skip", not {on_lost_filter!r}'
            )
        if not longest_wait >= 0:
            raise InvalidRequestError(f"longest_wait must be 0 or more, not {longest_wait!r}")

    @property
    def supported_filters(self) -> SupportedFilters:
        """The filters of the first provider: what it refuses is refused."""
        return getattr(self.providers[0], "supported_filters", None) or {}

    @property
    def supports_response_format(self) -> bool:
        """Whether the first provider answers by a schema; those that cannot are passed over."""
        return _takes_schema(self.providers[0])

    def available(self) -> bool:
        """Return whether all providers are available."""
        return self.unavailable_reason() is None

    def unavailable_reason(self) -> str | None:
        """Return why the first unavailable provider is so, or None if all are available."""
        for provider in self.providers:
            if not provider.available():
                explain = getattr(provider, "unavailable_reason", None)
                reason = explain() if callable(explain) else None
                return f"{provider.id}: {reason or 'it reports itself as not available'}"
        return None

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return the flow of one search."""
        return self._tried(request, lambda provider, asked: provider.search_flow(asked))

    def stream_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return the flow of one streamed search."""
        return self._tried(request, _stream_of)

    def _tried(
        self,
        request: WebSearchRequest,
        start: Callable[[WebSearchProvider, WebSearchRequest], Flow[WebSearchResult]],
    ) -> Flow[WebSearchResult]:
        told: list[str] = []
        failure: WebError | None = None
        for position, provider in enumerate(self.providers):
            asked, lost = request, _NOTHING
            if position:
                refusal = self._refusal(provider, request)
                if refusal is not None:
                    told.append(f"{provider.id} was passed over: {refusal}")
                    continue
                asked, lost = _without_lost(provider, request)
            attempt = _Attempt(start(provider, asked), self.longest_wait)
            try:
                result = yield from attempt.steps()
            except WebError as error:
                error.provider = error.provider or provider.id
                if attempt.has_delivered or not _is_out_of_service(error):
                    if position and isinstance(error, InvalidRequestError):
                        # It is the later provider that cannot do this; the first one could.
                        told.append(f"{provider.id} was passed over: {error.message}")
                        continue
                    raise
                told.append(f"{provider.id} failed: {_shown(error)}")
                failure = error
                continue
            if not told and not lost:
                return result
            said = f"{provider.id} answered instead" if told else ""
            warnings = (*told, *([said] if said else []), *lost, *result.warnings)
            return result.model_copy(update={"warnings": warnings})
        assert failure is not None, "the first provider is never passed over"
        failure.message = f"{failure.message} (tried in turn: {'; '.join(told)})"
        failure.args = (failure.message,)
        raise failure

    def _refusal(self, provider: WebSearchProvider, request: WebSearchRequest) -> str | None:
        """Return why a later provider cannot stand in for this request, or None."""
        if request.response_format is not None and not _takes_schema(provider):
            return "it does not support response_format"
        if self.on_lost_filter == "warn":
            return None
        strict = request.model_copy(update={"on_unsupported": "raise"})
        try:
            apply_support(strict, _filters(provider), _label(provider), provider.id)
        except UnsupportedFilterError as error:
            return error.message
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} id={self.id!r}: {', '.join(p.id for p in self.providers)}>"


class _Attempt:
    """One provider's flow, without its long waits."""

    def __init__(self, flow: Flow[WebSearchResult], longest_wait: float) -> None:
        self._flow = flow
        self._longest_wait = longest_wait
        self.has_delivered = False
        """Whether a consumer was handed something of a stream."""

    def steps(self) -> Generator[Any, Any, WebSearchResult]:
        """Yield the steps of the flow and return its result."""
        flow, outcome, failure = self._flow, None, None
        try:
            while True:
                step = flow.send(outcome) if failure is None else flow.throw(failure)
                outcome, failure = None, None
                if isinstance(step, Sleep) and step.seconds > self._longest_wait:
                    # As a driver says where the time would be over first: the flow ends in the
                    # failure that it would have waited for.
                    outcome = False
                    continue
                self.has_delivered = self.has_delivered or isinstance(step, Emit)
                try:
                    outcome = yield step
                except Exception as error:
                    failure = error
        except StopIteration as stop:
            result: WebSearchResult = stop.value
            return result
        finally:
            flow.close()


def _stream_of(provider: WebSearchProvider, request: WebSearchRequest) -> Flow[WebSearchResult]:
    start = getattr(provider, "stream_flow", provider.search_flow)
    flow: Flow[WebSearchResult] = start(request)
    return flow


def _is_out_of_service(error: WebError) -> bool:
    if not isinstance(error, ProviderError):
        return False
    status = error.status_code
    if status is None:
        # Below HTTP; a key that could not be resolved, for one, is another matter.
        return error.retryable or isinstance(error.__cause__, TransportError)
    return 200 <= status < 300 or status in _PASSING or status >= 500


def _without_lost(
    provider: WebSearchProvider, request: WebSearchRequest
) -> tuple[WebSearchRequest, tuple[str, ...]]:
    lenient = request.model_copy(update={"on_unsupported": "warn"})
    asked, lost = apply_support(lenient, _filters(provider), _label(provider), provider.id)
    return asked.model_copy(update={"on_unsupported": request.on_unsupported}), lost


def _filters(provider: WebSearchProvider) -> SupportedFilters:
    return getattr(provider, "supported_filters", None) or {}


def _label(provider: WebSearchProvider) -> str:
    return str(getattr(provider, "label", None) or provider.id)


def _takes_schema(provider: WebSearchProvider) -> bool:
    return bool(getattr(provider, "supports_response_format", False))


def _shown(error: WebError) -> str:
    status = "" if error.status_code is None else f" (HTTP {error.status_code})"
    wait = "" if error.retry_after is None else f", it asked to wait {error.retry_after:g} s"
    return f"{' '.join(error.message.split())[:200]}{status}{wait}"
