"""Every neutral filter, and what becomes of it at Parallel."""

from typing import Any

import pytest

from dsh_web import ParallelChatProvider, ParallelSearchProvider, WebRuntime
from tests.core.parallel import KEY
from tests.core.test_explain import EVERY

each_filter = pytest.mark.parametrize(("name", "value"), EVERY, ids=str)
each_provider = pytest.mark.parametrize(
    "kind", [ParallelSearchProvider, ParallelChatProvider], ids=lambda kind: kind.id
)


def explained(kind: Any, **fields: Any) -> Any:
    runtime = WebRuntime()
    runtime.register_search_provider(kind(api_key=KEY))
    return runtime.explain("q", **fields)


@each_provider
@each_filter
def test_a_filter_changes_the_request_or_is_refused(kind, name, value):
    shown = explained(kind, **{name: value})

    changes = shown.body != explained(kind).body
    fate = shown.filters[name]
    assert changes == (fate != "refused" and (name, value) != ("mode", "web"))
    assert (fate == "exact") == (shown.warnings == ())


@each_provider
def test_every_approximation_says_what_happens_instead(kind):
    rough = [s for s in kind.supported_filters.values() if s.level == "approximate"]

    assert all(support.note for support in rough)


@each_filter
def test_the_chat_refuses_everything_but_what_every_search_does(name, value):
    fate = explained(ParallelChatProvider, **{name: value}).filters[name]

    assert ("exact" if (name, value) == ("mode", "web") else "refused") == fate
