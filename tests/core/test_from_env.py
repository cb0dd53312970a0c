import sys
from pathlib import Path

import pytest

from dsh_web import SelectionError, WebRuntime

KEY = "invented-key-for-tests"


def ids(runtime: WebRuntime) -> list[str]:
    return [status["id"] for status in runtime.describe() if status["capability"] == "search"]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that "installs" a package offering the entry point `acme`."""

    def install(source: str, target: str = "acme_plugin:Acme") -> None:
        (tmp_path / "acme_plugin.py").write_text(source)
        dist = tmp_path / "acme_plugin-1.0.dist-info"
        dist.mkdir()
        (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-plugin\nVersion: 1.0\n")
        (dist / "entry_points.txt").write_text(f"[dsh_web.providers]\nacme = {target}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "acme_plugin", raising=False)

    yield install
    sys.modules.pop("acme_plugin", None)


ACME = """
from dsh_web import WebSearchResult

class Acme:
    id = "acme"

    def available(self):
        return True

    def search_flow(self, request):
        yield from ()
        return WebSearchResult(provider=self.id, content=request.query)
"""


def test_nothing_is_registered_without_a_key():
    assert [] == ids(WebRuntime.from_env())


@pytest.mark.parametrize("name", ["PERPLEXITY_API_KEY", "PPLX_API_KEY"])
def test_a_perplexity_key_registers_its_default_provider(name, monkeypatch):
    monkeypatch.setenv(name, KEY)

    assert ["perplexity"] == ids(WebRuntime.from_env())


def test_a_parallel_key_registers_its_default_provider(monkeypatch):
    monkeypatch.setenv("PARALLEL_API_KEY", KEY)

    assert ["parallel"] == ids(WebRuntime.from_env())


@pytest.fixture
def both_keys(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PARALLEL_API_KEY", KEY)


def test_the_keys_of_both_vendors_leave_the_choice_to_the_user(both_keys):
    runtime = WebRuntime.from_env()

    assert ["parallel", "perplexity"] == ids(runtime)
    with pytest.raises(SelectionError) as caught:
        runtime.search("q")
    assert "WEB_PROVIDER_AMBIGUOUS" == caught.value.code
    assert (
        "several search providers are available (parallel, perplexity): "
        "choose one with search_provider= or DSH_WEB_SEARCH_PROVIDER"
    ) == caught.value.message


@pytest.mark.parametrize("pin", ["perplexity", "parallel", "perplexity-search"])
def test_a_pin_settles_the_choice_between_two_vendors(pin, both_keys, monkeypatch):
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", pin)

    assert pin == WebRuntime.from_env().search_provider_id()


def test_a_blank_key_registers_nothing(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", " \n")

    assert [] == ids(WebRuntime.from_env())


def test_a_blank_first_key_gives_way_to_the_second(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", "")
    monkeypatch.setenv("PPLX_API_KEY", KEY)

    searcher, _ = WebRuntime.from_env().describe()
    assert searcher["available"]


@pytest.mark.parametrize("pin", ["perplexity-search", "perplexity-sonar"])
def test_a_pinned_built_in_is_registered_beside_the_default(pin, monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)

    assert ["perplexity", pin] == ids(WebRuntime.from_env(search_provider=pin))


def test_a_provider_pinned_in_the_environment_is_registered(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "perplexity-search")
    statuses = {status["id"]: status for status in WebRuntime.from_env().describe()}

    assert statuses["perplexity-search"]["configured"]


def test_pinning_the_default_registers_it_once(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)

    assert ["perplexity"] == ids(WebRuntime.from_env(search_provider="perplexity"))


def test_a_pinned_provider_without_a_key_is_registered_and_unavailable():
    runtime = WebRuntime.from_env(search_provider="perplexity-search")

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_CONFIGURED_UNAVAILABLE" == caught.value.code
    assert "no API key: set PERPLEXITY_API_KEY or pass api_key" in caught.value.message


def test_an_unknown_pin_is_named_by_the_call(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    runtime = WebRuntime.from_env(search_provider="ghost")

    with pytest.raises(SelectionError) as caught:
        runtime.search("q")

    assert "WEB_PROVIDER_CONFIGURED_MISSING" == caught.value.code
    assert "'ghost'" in caught.value.message


def test_the_base_url_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", "not a url")

    searcher, _ = WebRuntime.from_env().describe()
    assert "the base url 'not a url' is not an http or https address" == searcher["reason"]


def fetchers(runtime: WebRuntime) -> list[str]:
    return [status["id"] for status in runtime.describe() if status["capability"] == "fetch"]


def test_pages_can_be_fetched_without_any_key():
    runtime = WebRuntime.from_env()

    assert (["http"], "http") == (fetchers(runtime), runtime.fetch_provider_id())


def test_a_fetch_provider_of_an_installed_package_is_registered_when_it_is_pinned(
    install, monkeypatch
):
    install(ACME.replace("search_flow", "fetch_flow"))
    monkeypatch.setenv("DSH_WEB_FETCH_PROVIDER", "acme")
    runtime = WebRuntime.from_env()

    assert (["acme", "http"], "acme") == (fetchers(runtime), runtime.fetch_provider_id())


def test_an_unknown_fetch_pin_is_named_by_the_call():
    runtime = WebRuntime.from_env(fetch_provider="ghost")

    with pytest.raises(SelectionError, match="'ghost'") as caught:
        runtime.fetch("https://ok.example/")

    assert "WEB_PROVIDER_CONFIGURED_MISSING" == caught.value.code


def test_other_settings_reach_the_runtime():
    assert 5.0 == WebRuntime.from_env(timeout=5).timeout


def test_an_installed_package_offers_its_provider_by_entry_point(install):
    install(ACME)

    result = WebRuntime.from_env(search_provider="acme").search("hello")
    assert ("acme", "hello") == (result.provider, result.content)


def test_an_entry_point_may_be_named_by_the_environment(install, monkeypatch):
    install(ACME)
    monkeypatch.setenv("DSH_WEB_SEARCH_PROVIDER", "acme")

    assert ["acme"] == ids(WebRuntime.from_env())


def test_an_entry_point_that_nobody_pins_is_not_loaded(install):
    install("raise AssertionError('loaded')")

    assert [] == ids(WebRuntime.from_env())


def test_an_entry_point_may_be_a_factory_function(install):
    install(ACME + "\n\ndef make():\n    return Acme()\n", target="acme_plugin:make")

    assert ["acme"] == ids(WebRuntime.from_env(search_provider="acme"))


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("import no_such_module_here", "acme_plugin:Acme", "ModuleNotFoundError"),
        ("x = 1", "acme_plugin:Acme", "AttributeError"),
        ("def Acme():\n    raise ValueError('no licence')", "acme_plugin:Acme", "no licence"),
    ],
)
def test_a_broken_entry_point_is_a_typed_error_that_names_it(source, target, reason, install):
    install(source, target)

    with pytest.raises(SelectionError) as caught:
        WebRuntime.from_env(search_provider="acme")

    assert ("WEB_PROVIDER_CONFIGURED_UNAVAILABLE", "acme") == (
        caught.value.code,
        caught.value.provider,
    )
    assert "the provider 'acme' of acme_plugin:Acme cannot be loaded" in caught.value.message
    assert reason in caught.value.message


def test_a_broken_entry_point_keeps_its_cause(install):
    install("raise OSError('disk')")

    with pytest.raises(SelectionError) as caught:
        WebRuntime.from_env(search_provider="acme")

    assert isinstance(caught.value.__cause__, OSError)
