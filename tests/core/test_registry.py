import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    Flow,
    ProviderError,
    SelectionError,
    TextBody,
    WebFetchRequest,
    WebFetchResult,
    WebRuntime,
    WebSearchRequest,
    WebSearchResult,
)


class Searcher:
    """A provider that answers at once, and says whether it could."""

    def __init__(self, provider_id: str, *, is_available: bool = True) -> None:
        self.id = provider_id
        self.is_available = is_available

    def available(self) -> bool:
        return self.is_available

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        yield from ()
        return WebSearchResult(provider=self.id)


class Explaining(Searcher):
    def unavailable_reason(self) -> str:
        return "its key has expired"


class Fetcher:
    def __init__(self, provider_id: str) -> None:
        self.id = provider_id

    def available(self) -> bool:
        return True

    def fetch_flow(self, request: WebFetchRequest) -> Flow[WebFetchResult]:
        yield from ()
        return WebFetchResult(url=request.url, status_code=200, body=TextBody(content=self.id))


def runtime_with(*providers: Searcher, pin: str | None = None) -> WebRuntime:
    runtime = WebRuntime(search_provider=pin)
    for provider in providers:
        runtime.register_search_provider(provider)
    return runtime


def test_a_configured_registered_available_provider_runs():
    runtime = runtime_with(Searcher("a"), Searcher("b"), pin="b")

    assert "b" == runtime.search("q").provider


def test_a_configured_provider_that_is_not_registered_is_named():
    runtime = runtime_with(Searcher("b"), Searcher("a"), pin="ghost")

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_CONFIGURED_MISSING" == caught.value.code
    assert (
        "the configured search provider 'ghost' is not registered (registered: a, b)"
        == caught.value.message
    )


def test_a_missing_configured_provider_with_nothing_registered_says_none():
    with pytest.raises(SelectionError, match=r"'ghost' is not registered \(registered: none\)"):
        runtime_with(pin="ghost").search("q")


def test_a_configured_provider_that_is_unavailable_never_falls_through_to_another():
    runtime = runtime_with(Searcher("a", is_available=False), Searcher("b"), pin="a")

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_CONFIGURED_UNAVAILABLE" == caught.value.code
    assert "a" == caught.value.provider


def test_an_unavailable_configured_provider_gives_its_own_reason():
    runtime = runtime_with(Explaining("a", is_available=False), pin="a")

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert (
        "the configured search provider 'a' is not available: its key has expired"
        == caught.value.message
    )


def test_the_only_available_provider_runs_without_configuration():
    runtime = runtime_with(Searcher("a", is_available=False), Searcher("b"))

    assert "b" == runtime.search("q").provider


def test_several_available_providers_are_ambiguous_and_listed_sorted():
    runtime = runtime_with(Searcher("c"), Searcher("a"), Searcher("b", is_available=False))

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_AMBIGUOUS" == caught.value.code
    assert (
        "several search providers are available (a, c): "
        "choose one with search_provider= or DSH_WEB_SEARCH_PROVIDER"
    ) == caught.value.message


def test_no_available_provider_is_its_own_code_with_every_reason():
    runtime = runtime_with(Searcher("b", is_available=False), Explaining("a", is_available=False))

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_UNAVAILABLE" == caught.value.code
    assert (
        "no search provider is available "
        "(a: its key has expired; b: it reports itself as not available)"
    ) == caught.value.message


def test_an_empty_runtime_says_how_to_get_a_provider():
    with pytest.raises(SelectionError, match="none is registered; set PERPLEXITY_API_KEY"):
        WebRuntime().search("q")


def test_a_fetch_with_no_provider_has_the_same_code():
    with pytest.raises(SelectionError) as caught:
        WebRuntime().fetch("https://a.example")

    assert "WEB_PROVIDER_UNAVAILABLE" == caught.value.code


def test_the_environment_pins_a_provider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", " b ")

    assert "b" == runtime_with(Searcher("a"), Searcher("b")).search("q").provider


def test_the_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "b")

    assert "a" == runtime_with(Searcher("a"), Searcher("b"), pin="a").search("q").provider


def test_a_blank_pin_in_the_environment_is_no_pin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "  ")

    assert "a" == runtime_with(Searcher("a")).search("q").provider


def test_the_fetch_pin_is_separate_from_the_search_pin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "ghost")
    monkeypatch.setenv("DSH_WEB_FETCH_PROVIDER", "g")
    runtime = WebRuntime()
    runtime.register_fetch_provider(Fetcher("f"))
    runtime.register_fetch_provider(Fetcher("g"))

    assert "g" == runtime.fetch("https://a.example").body.content


def test_the_fetch_provider_argument_pins_the_fetch_provider():
    runtime = WebRuntime(fetch_provider="f")
    runtime.register_fetch_provider(Fetcher("f"))
    runtime.register_fetch_provider(Fetcher("g"))

    assert "f" == runtime.fetch("https://a.example").body.content


def test_the_provider_is_chosen_when_the_call_runs():
    runtime = WebRuntime()
    late = Searcher("late", is_available=False)
    runtime.register_search_provider(late)
    late.is_available = True

    assert "late" == runtime.search("q").provider


def test_a_pin_may_name_a_provider_that_is_registered_later():
    runtime = WebRuntime(search_provider="late")
    runtime.register_search_provider(Searcher("late"))

    assert "late" == runtime.search("q").provider


def test_a_second_provider_with_the_same_id_is_refused():
    runtime = runtime_with(Searcher("a"))

    with pytest.raises(SelectionError) as caught:
        runtime.register_search_provider(Searcher("a"))

    assert "WEB_DUPLICATE_PROVIDER" == caught.value.code
    assert (
        "a search provider with the id 'a' is already registered: "
        "dispose of that registration first, or use another id"
    ) == caught.value.message


def test_a_refused_duplicate_leaves_the_first_in_place():
    first = Searcher("a")
    runtime = runtime_with(first)

    with pytest.raises(SelectionError):
        runtime.register_search_provider(Searcher("a", is_available=False))

    assert "a" == runtime.search("q").provider


def test_search_and_fetch_may_share_an_id():
    runtime = runtime_with(Searcher("acme"))
    runtime.register_fetch_provider(Fetcher("acme"))

    assert ["search", "fetch"] == [status["capability"] for status in runtime.describe()]


def test_dispose_removes_the_registration():
    runtime = WebRuntime()
    dispose = runtime.register_search_provider(Searcher("a"))
    dispose()

    with pytest.raises(SelectionError, match="none is registered"):
        runtime.search("q")


def test_dispose_twice_is_harmless():
    runtime = WebRuntime()
    dispose = runtime.register_search_provider(Searcher("a"))
    dispose()
    dispose()

    assert [] == runtime.describe()


def test_dispose_never_removes_a_later_registration_of_the_same_id():
    runtime = WebRuntime()
    dispose = runtime.register_search_provider(Searcher("a"))
    dispose()
    runtime.register_search_provider(Searcher("a"))
    dispose()

    assert "a" == runtime.search("q").provider


def test_dispose_never_removes_the_same_object_registered_again():
    runtime = WebRuntime()
    provider = Searcher("a")
    dispose = runtime.register_search_provider(provider)
    dispose()
    runtime.register_search_provider(provider)
    dispose()

    assert "a" == runtime.search("q").provider


def test_disposing_of_one_leaves_the_others():
    runtime = runtime_with(Searcher("a"))
    runtime.register_search_provider(Searcher("b"))()

    assert "a" == runtime.search("q").provider


@pytest.mark.parametrize("bad_id", ["", None, 5])
def test_a_provider_without_a_text_id_is_a_programming_error(bad_id):
    with pytest.raises(TypeError, match="non-empty text `id`"):
        WebRuntime().register_search_provider(Searcher(bad_id))


def test_describe_lists_providers_sorted_with_state_and_reason():
    runtime = runtime_with(Searcher("b"), Explaining("a", is_available=False), pin="b")

    expected = [
        {
            "capability": "search",
            "id": "a",
            "available": False,
            "configured": False,
            "reason": "its key has expired",
        },
        {"capability": "search", "id": "b", "available": True, "configured": True, "reason": None},
    ]
    assert expected == runtime.describe()


def outcome_of(runtime: WebRuntime) -> str:
    try:
        return runtime.search("q").provider
    except SelectionError as error:
        return f"{error.code}: {error.message}"


@given(
    states=st.dictionaries(st.sampled_from("abcdef"), st.booleans(), max_size=6),
    order=st.randoms(use_true_random=False),
    pin=st.none() | st.sampled_from("abcdef"),
)
def test_selection_does_not_depend_on_registration_order(states, order, pin):
    names = sorted(states)
    shuffled = order.sample(names, len(names))
    in_order = runtime_with(*(Searcher(n, is_available=states[n]) for n in names), pin=pin)
    out_of_order = runtime_with(*(Searcher(n, is_available=states[n]) for n in shuffled), pin=pin)

    assert outcome_of(in_order) == outcome_of(out_of_order)


@given(states=st.dictionaries(st.text(min_size=1, max_size=3), st.booleans(), max_size=5))
def test_an_unpinned_call_runs_exactly_when_one_provider_is_available(states):
    runtime = runtime_with(*(Searcher(n, is_available=states[n]) for n in states))
    available = [name for name, is_available in states.items() if is_available]

    outcome = outcome_of(runtime)

    assert (len(available) == 1) == (outcome in available)


class Broken(Searcher):
    def available(self) -> bool:
        raise OSError("the key store is locked")


def test_a_provider_that_cannot_say_whether_it_is_available_is_not():
    runtime = WebRuntime(search_provider="broken")
    runtime.register_search_provider(Broken("broken"))

    with pytest.raises(SelectionError, match="OSError: the key store is locked") as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_CONFIGURED_UNAVAILABLE" == caught.value.code


def test_a_broken_provider_does_not_stop_the_others():
    runtime = WebRuntime()
    runtime.register_search_provider(Broken("broken"))
    runtime.register_search_provider(Searcher("sound"))

    assert "sound" == runtime.search("q").provider


def test_a_missing_fetch_provider_is_not_blamed_on_a_search_key():
    with pytest.raises(SelectionError) as caught:
        WebRuntime().fetch("https://a.example/")

    assert "PERPLEXITY_API_KEY" not in str(caught.value)


def test_a_fetch_flow_without_a_result_is_a_provider_error():
    class Empty(Fetcher):
        def available(self) -> bool:
            return True

        def fetch_flow(self, request: WebFetchRequest) -> Flow[None]:
            yield from ()

    runtime = WebRuntime()
    runtime.register_fetch_provider(Empty("empty"))

    with pytest.raises(ProviderError, match="returned NoneType, not a WebFetchResult"):
        runtime.fetch("https://a.example/")
