"""The key shows up nowhere but in the request that carries it."""

import copy
import json
import logging
import pickle
import traceback
from typing import Any

import pytest

from dsh_web import (
    HttpRequest,
    PerplexityAgentProvider,
    PerplexitySearchProvider,
    PerplexitySonarProvider,
    ProviderError,
    Resolve,
    SelectionError,
    WebRuntime,
    WebSearchRequest,
)
from dsh_web._secret import Secret
from dsh_web.flow import TransportError
from tests.core.perplexity import EMPTY_AGENT, agent_body, ask, found, page, said, sonar_body
from tests.flows import play, reply

KEY = "invented-key-for-tests-0123456789"
REQUEST = WebSearchRequest(query="q")
ALL = [PerplexityAgentProvider, PerplexitySearchProvider, PerplexitySonarProvider]
each_provider = pytest.mark.parametrize("kind", ALL, ids=[kind.id for kind in ALL])


def agent(**settings: Any) -> PerplexityAgentProvider:
    return PerplexityAgentProvider(**{"api_key": KEY, **settings})


def wire() -> HttpRequest:
    return next(agent().search_flow(REQUEST))


def everything_shown(thing: object) -> str:
    """Return what a print, a debugger, a tracer or a dump would show of `thing`."""
    attributes = getattr(thing, "__dict__", {})
    slots = [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
    shown = [thing, attributes, slots, json.dumps(attributes, default=str)]
    return " ".join(f"{part} {part!r}" for part in shown)


# -- the wrapper -------------------------------------------------------------------------------


def test_a_secret_is_revealed_only_on_request():
    assert KEY == Secret(KEY).reveal()


def test_a_secret_prints_as_a_mask():
    assert ("[masked]", "Secret([masked])") == (str(Secret(KEY)), repr(Secret(KEY)))


@pytest.mark.parametrize("text", [f"{KEY}\n", f"  {KEY}", f"\t{KEY}\r\n"])
def test_white_space_around_a_key_is_stripped(text):
    assert KEY == Secret(text).reveal()


def test_a_secret_cannot_be_pickled():
    with pytest.raises(TypeError, match="a secret cannot be pickled"):
        pickle.dumps(Secret(KEY))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy])
def test_a_copied_secret_is_the_same_object(clone):
    secret = Secret(KEY)

    assert secret is clone(secret)


def test_a_secret_has_no_attributes_to_dump():
    assert not hasattr(Secret(KEY), "__dict__")


def test_equal_secrets_are_equal_and_hash_alike():
    assert 1 == len({Secret(KEY), Secret(f"{KEY}\n")})


def test_a_secret_is_not_equal_to_its_text():
    assert KEY != Secret(KEY)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_secret_is_false(text):
    assert not Secret(text)


@pytest.mark.parametrize(
    "text", ["", "a\nb", "a\rb", "a\x00b", "a\x7fb", "a\tb", "sch\u00e4", "a\u2028b"]
)
def test_a_text_that_no_header_can_carry_is_not_usable(text):
    assert not Secret(text).is_usable


def test_masking_replaces_every_occurrence():
    assert "[masked] and [masked]" == Secret(KEY).mask(f"{KEY} and {KEY}")


def test_a_long_key_is_masked_inside_other_text():
    assert "Bearer:x[masked]y" == Secret(KEY).mask(f"Bearer:x{KEY}y")


def test_a_short_key_is_masked_only_where_it_stands_alone():
    assert "the [masked] of a kite" == Secret("k").mask("the k of a kite")


def test_masking_reaches_every_text_of_a_json_value():
    value = {"a": [KEY, 1, None, True], f"x{KEY}": {"b": f"{KEY}!"}}

    assert {"a": ["[masked]", 1, None, True], "x[masked]": {"b": "[masked]!"}} == Secret(
        KEY
    ).mask_value(value)


# -- where it could show -----------------------------------------------------------------------


@each_provider
def test_a_provider_shows_no_key(kind):
    assert KEY not in everything_shown(kind(api_key=KEY))


@each_provider
def test_a_provider_that_has_answered_shows_no_key(kind):
    provider = kind(api_key=KEY)
    provider.available()
    next(provider.search_flow(REQUEST))

    assert KEY not in everything_shown(provider)


def test_a_runtime_shows_no_key():
    runtime = WebRuntime()
    runtime.register_search_provider(agent())

    assert KEY not in everything_shown(runtime) + str(runtime.describe())


def test_a_request_step_shows_no_key():
    assert KEY not in everything_shown(wire())


def test_a_request_step_carries_the_key_wrapped():
    assert KEY == wire().bearer.reveal()


def test_a_running_flow_shows_no_key_in_its_frame():
    flow = agent().search_flow(REQUEST)
    next(flow)

    assert KEY not in str(flow.gi_frame.f_locals)


@each_provider
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_provider_holds_no_key(kind, protocol):
    provider = kind(api_key=KEY)
    provider.available()

    assert KEY.encode() not in pickle.dumps(provider, protocol)


def test_a_pickled_runtime_holds_no_key():
    runtime = WebRuntime()
    runtime.register_search_provider(agent())

    assert KEY.encode() not in pickle.dumps(runtime)


def test_a_pickled_provider_reads_its_key_from_the_environment_again(monkeypatch):
    pickled = pickle.dumps(agent())
    monkeypatch.setenv("PERPLEXITY_API_KEY", "another-invented-key")

    step = next(pickle.loads(pickled).search_flow(REQUEST))
    assert "another-invented-key" == step.bearer.reveal()


def test_a_pickled_provider_without_an_environment_is_unavailable():
    assert not pickle.loads(pickle.dumps(agent())).available()


def test_a_pickled_provider_keeps_its_settings():
    twin = pickle.loads(pickle.dumps(agent(effort="high", base_url="https://gw.example")))

    assert ("high", "https://gw.example") == (twin.effort, twin.base_url)


def test_a_deep_copy_is_the_same_provider_and_shows_no_key():
    provider = agent()

    assert provider is copy.deepcopy(provider)


def test_a_shallow_copy_shows_no_key():
    assert KEY not in everything_shown(copy.copy(agent()))


def test_credentials_in_a_base_url_are_not_shown():
    provider = agent(base_url="https://user:hunter2@gw.example")

    assert "hunter2" not in repr(provider)


def test_credentials_in_an_unreadable_base_url_are_not_shown():
    provider = agent(base_url="ftp://user:hunter2@gw.example")

    assert "hunter2" not in provider.unavailable_reason()


def test_nothing_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        ask(agent(), EMPTY_AGENT)

    assert [] == caplog.records


def shown_by_a_rich_traceback(error: BaseException) -> str:
    lines = traceback.TracebackException.from_exception(error, capture_locals=True).format()
    # The frame of the test itself holds what the test wrote.
    return "".join(line for line in lines if "test_secret.py" not in line)


@each_provider
def test_a_wrong_setting_shows_no_key_in_a_traceback_with_locals(kind):
    with pytest.raises(TypeError) as caught:
        kind(api_key=KEY, extra_body=5)

    assert KEY not in shown_by_a_rich_traceback(caught.value)


@each_provider
@pytest.mark.parametrize(
    "response",
    [
        reply({"error": "no"}, status=401),
        reply(body=b"no json"),
        reply(body=b"", status=302),
        TransportError("reset"),
    ],
    ids=["http", "body", "redirect", "transport"],
)
def test_an_error_shows_no_key_in_a_traceback_with_locals(kind, response):
    with pytest.raises(ProviderError) as caught:
        play(kind(api_key=KEY, max_retries=0).search_flow(REQUEST), response)

    assert KEY not in shown_by_a_rich_traceback(caught.value)


# -- a server that echoes it -------------------------------------------------------------------


def message_of(response: Any) -> str:
    with pytest.raises(ProviderError) as caught:
        play(agent(max_retries=0).search_flow(REQUEST), response)
    return f"{caught.value} {caught.value!r} {caught.value.to_dict()}"


ECHO = f"key {KEY} is wrong"


@pytest.mark.parametrize(
    "response",
    [
        reply({"error": {"message": ECHO}}, status=401),
        reply({"error": {"message": "", "type": KEY}}, status=401),
        reply({"detail": ECHO}, status=401),
        reply({"detail": [{"msg": ECHO}]}, status=422),
        reply({"message": ECHO}, status=400),
        reply(body=ECHO.encode(), status=400),
        reply({"error": {"message": ECHO}}),
        reply(agent_body(status="failed", error={"message": ECHO})),
        reply({}, status=400, x_request_id=f"id-{KEY}"),
        reply(body=b"{", x_request_id=f"id-{KEY}"),
        TransportError(ECHO),
    ],
    ids=range(11),
)
def test_an_echoed_key_is_masked_in_an_error(response):
    shown = message_of(response)

    assert (False, True) == (KEY in shown, "[masked]" in shown)


@pytest.mark.parametrize("before", range(150, 210, 7))
def test_a_key_across_the_cut_of_a_long_message_is_not_shown_in_part(before):
    shown = message_of(reply(body=b"x" * before + KEY.encode(), status=400))

    assert KEY[:8] not in shown


def test_an_echoed_key_is_masked_in_the_whole_result():
    body = agent_body(
        found(page(1, f"https://a.example/?k={KEY}", title=KEY, snippet=ECHO, date=KEY)),
        said(ECHO),
        model=KEY,
        id=KEY,
    )
    _, result = ask(agent(), reply(body), include_raw=True)

    assert KEY not in result.model_dump_json()


def test_the_raw_body_is_masked_in_its_keys_too():
    _, result = ask(agent(), reply(agent_body(said("x"), metadata={KEY: [KEY]})), include_raw=True)

    assert {"[masked]": ["[masked]"]} == result.raw["metadata"]


def escaped_everywhere(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


def test_a_key_behind_json_escapes_is_masked():
    body = json.dumps(agent_body(said("KEY"))).replace("KEY", escaped_everywhere(KEY)).encode()

    assert "[masked]" == ask(agent(), reply(body=body))[1].content


@pytest.mark.parametrize(
    ("key", "echo"),
    [
        ("invented/key/for/tests", "invented\\/key\\/for\\/tests"),
        ('invented"key"for"tests', 'invented\\"key\\"for\\"tests'),
        ("invented\\key\\for\\tests", "invented\\\\key\\\\for\\\\tests"),
    ],
)
def test_a_key_with_a_character_that_json_may_escape_is_masked(key, echo):
    body = json.dumps(agent_body(said("KEY"))).replace("KEY", echo).encode()

    assert "[masked]" == ask(agent(api_key=key), reply(body=body))[1].content


def test_a_short_key_does_not_eat_words():
    _, result = ask(agent(api_key="k"), reply(sonar_body() | agent_body(said("a k in kite"))))

    assert "a [masked] in kite" == result.content


# -- which key ---------------------------------------------------------------------------------


def key_sent(provider: Any) -> str:
    return next(provider.search_flow(REQUEST)).bearer.reveal()


@each_provider
def test_the_argument_wins_over_the_environment(kind, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", "first-invented-key")

    assert KEY == key_sent(kind(api_key=KEY))


@each_provider
def test_the_first_variable_wins_over_the_second(kind, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", "first-invented-key\n")
    monkeypatch.setenv("PPLX_API_KEY", "second-invented-key")

    assert "first-invented-key" == key_sent(kind())


@each_provider
def test_the_second_variable_is_used_without_the_first(kind, monkeypatch):
    monkeypatch.setenv("PPLX_API_KEY", "second-invented-key")

    assert "second-invented-key" == key_sent(kind())


@each_provider
@pytest.mark.parametrize("key", [None, "", "  ", "\n"])
def test_no_key_makes_it_unavailable(kind, key):
    expected = "no API key: set PERPLEXITY_API_KEY or pass api_key"

    assert expected == kind(api_key=key).unavailable_reason()


def test_an_explicit_empty_key_does_not_fall_back_to_the_environment(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)

    assert not agent(api_key="").available()


@pytest.mark.parametrize("key", ["inv\nented", "inv\rented", "inv\x00ented", "invént"])
def test_a_key_that_no_header_can_carry_makes_it_unavailable(key):
    expected = "the API key holds a character that no HTTP header can carry"

    assert expected == agent(api_key=key).unavailable_reason()


def test_a_key_that_no_header_can_carry_is_not_shown_by_the_call():
    runtime = WebRuntime()
    runtime.register_search_provider(agent(api_key="inven\nted"))

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "ted" not in caught.value.message.replace("registered", "")


def resolved(function: Any, *, answer: Any) -> HttpRequest:
    """Return the request that follows after the key was resolved to `answer`."""
    flow = agent(api_key=function).search_flow(REQUEST)
    assert isinstance(next(flow), Resolve)
    return flow.send(answer)


def test_a_function_is_asked_for_the_key_of_each_call():
    step = next(agent(api_key=lambda: KEY).search_flow(REQUEST))

    assert (Resolve, Secret(KEY)) == (type(step), step.function())


async def test_an_async_function_is_asked_for_the_key():
    async def fetch_key() -> str:
        return f"{KEY}\n"

    step = next(agent(api_key=fetch_key).search_flow(REQUEST))

    assert Secret(KEY) == await step.function()


async def test_a_function_that_returns_an_awaitable_is_awaited():
    async def fetch_key() -> str:
        return KEY

    step = next(agent(api_key=lambda: fetch_key()).search_flow(REQUEST))

    assert Secret(KEY) == await step.function()


def test_a_resolved_key_is_sent():
    request = resolved(lambda: KEY, answer=Secret(KEY))

    assert KEY == request.bearer.reveal()


def test_an_unresolved_function_counts_as_available():
    assert agent(api_key=lambda: KEY).available()


def test_the_resolver_is_not_asked_before_the_request_is_checked():
    flow = agent(api_key=lambda: KEY).search_flow(
        WebSearchRequest(query="q", recency="day", published_after="2026-01-02")
    )

    with pytest.raises(Exception, match="recency cannot be combined"):
        next(flow)


def test_a_resolver_that_raises_is_a_provider_error_without_its_text():
    flow = agent(api_key=lambda: KEY).search_flow(REQUEST)

    with pytest.raises(ProviderError) as caught:
        play(flow, OSError(f"vault said {KEY}"))

    assert "resolving the Perplexity API key failed: OSError" == caught.value.message


@pytest.mark.parametrize("junk", [None, 5, b"bytes", "", "  ", "a\nb", ["key"], object()])
def test_a_resolver_that_returns_no_usable_text_is_a_provider_error(junk):
    step = next(flow := agent(api_key=lambda: junk).search_flow(REQUEST))

    with pytest.raises(ProviderError, match="gave no usable text"):
        flow.send(step.function())


def test_a_resolved_key_is_masked_like_any_other():
    flow = agent(api_key=lambda: KEY, max_retries=0).search_flow(REQUEST)

    with pytest.raises(ProviderError) as caught:
        play(flow, Secret(KEY), reply({"error": ECHO}, status=401))

    assert "key [masked] is wrong" == caught.value.message
