"""What the tests of this folder share: a provider under test, and looking for a leaked key."""

from __future__ import annotations

import json
import time
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import rich.traceback

from dsh_web import PerplexitySearchProvider, WebError, WebRuntime, WebSearchResult

from .raw_server import PATIENCE, RawServer, http_answer

KEY = "pplx-f00dfacecafe0123456789"
SLACK = 0.3
"""Seconds that a busy machine may add to a promised time."""
CANCEL_WITHIN = 0.1 + SLACK
HANG_UP_WITHIN = 0.2 + SLACK

BODY = json.dumps(
    {
        "id": "r-1",
        "results": [{"url": "https://a.example/", "title": "A", "snippet": "text of a"}],
    }
).encode()
OK = http_answer(BODY)


class Call(Protocol):
    """`runtime.search` or `asyncio.run(runtime.asearch)`, by the parameter of the fixture."""

    name: str

    def __call__(
        self, runtime: WebRuntime, query: str = "q", **settings: Any
    ) -> WebSearchResult: ...


def runtime_for(
    url: str,
    *,
    api_key: Any = KEY,
    max_retries: int = 0,
    kind: type[PerplexitySearchProvider] = PerplexitySearchProvider,
    **settings: Any,
) -> WebRuntime:
    """Return a runtime whose only provider talks to `url`."""
    runtime = WebRuntime(**settings)
    provider = kind(api_key=api_key, base_url=url, max_retries=max_retries)
    runtime.register_search_provider(provider)
    return runtime


def runtime_on(server: RawServer, **settings: Any) -> WebRuntime:
    return runtime_for(server.url, **settings)


def wait_until(happened: Callable[[], Any]) -> None:
    """Poll for what nothing announces, such as a state of the kernel."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def failure(function: Callable[[], Any]) -> WebError:
    """Return the `WebError` that `function` raises, after looking for the key all through it."""
    try:
        outcome = function()
    except WebError as error:
        # Before the search for the key, which takes its time.
        error.__dict__["ended_at"] = time.monotonic()
        assert_no_key_in(error)
        return error
    raise AssertionError(f"no failure but {outcome!r}")


def ended_at(error: WebError) -> float:
    """Return the monotonic time at which `failure` caught `error`."""
    moment: float = error.__dict__["ended_at"]
    return moment


def provider_failure(function: Callable[[], Any]) -> WebError:
    """Return the failure, which must be the provider's."""
    error = failure(function)
    assert error.code == "WEB_PROVIDER_ERROR", repr(error)
    return error


# -- secrets -------------------------------------------------------------------------------------


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and every exception that hangs on it."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            pending += current.exceptions


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # half-built objects in the frames of constructors
        return type(error).__name__


def frames_of(error: BaseException) -> Iterator[types.FrameType]:
    """Yield every frame that the traceback of `error` or of its chain keeps alive."""
    for member in chain(error):
        for frame, _ in traceback.walk_tb(member.__traceback__):
            yield frame


def rendered(error: BaseException) -> str:
    """Return what a rich traceback of `error` holds, the locals of all frames included."""
    trace = rich.traceback.Traceback.extract(
        type(error),
        error,
        error.__traceback__,
        show_locals=True,
        locals_max_length=1000,
        locals_max_string=10_000,
        locals_hide_dunder=False,
    )
    # Not printed: colouring the source lines takes a hundred times longer than finding the locals.
    return repr(trace)


def assert_no_key_in(error: BaseException, *, deep: bool = False, key: str = KEY) -> None:
    """Fail if the key shows in the texts of `error` or in the locals of any frame."""
    for member in chain(error):
        for text in (str(member), repr(member), repr(member.args), repr(vars(member))):
            assert key not in text, f"the key is in {type(member).__name__}"
    for frame in frames_of(error):
        for name, value in frame.f_locals.items():
            if value is key:
                continue  # the default argument of this very module's helpers
            text = _repr(value)
            assert key not in text, f"the key is in {name} of {frame.f_code.co_qualname}"
    if deep:
        assert key not in rendered(error)
