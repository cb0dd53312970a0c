import ast
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dsh_web

ROOT = Path(dsh_web.__file__).parent.parent
PACKAGES = ["dsh_web", "langchain_dsh_web", "llama_index_dsh_web"]
OURS = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODEL_MODULES = (
    "langchain_core.language_models",
    "langchain_core.messages",
    "langchain.chat_models",
    "langchain_openai",
    "langchain_perplexity",
    "llama_index.core.llms",
    "llama_index.core.base.llms",
    "llama_index.llms",
    "openai",
    "anthropic",
    "perplexity",
    "litellm",
)

# Within those: the classes of content blocks, which are data that tools return.
CONTENT_MODULES = ("langchain_core.messages.content", "llama_index.core.base.llms.types")


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after `code`."""
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def families(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


HEAVY = {"httpx", "httpcore", "pydantic", "asyncio", "ssl", "langchain_core", "llama_index", "rich"}


def test_importing_the_package_loads_nothing_heavy():
    assert set() == families(loaded_by("import dsh_web")) & HEAVY


def test_importing_the_package_loads_only_its_version():
    ours = {name for name in loaded_by("import dsh_web") if name.startswith("dsh_web")}

    assert {"dsh_web", "dsh_web._version"} == ours


def test_an_error_class_costs_no_validation_library():
    assert set() == families(loaded_by("from dsh_web import WebError, CancelToken")) & HEAVY


def test_the_vocabulary_costs_no_http_stack():
    modules = families(loaded_by("from dsh_web import WebSearchResult, PerplexityAgentProvider"))

    assert set() == {"httpx", "httpcore"} & modules


def test_a_runtime_costs_no_http_stack_until_its_first_call():
    modules = families(loaded_by("from dsh_web import WebRuntime; WebRuntime.from_env()"))

    assert set() == {"httpx", "httpcore", "langchain_core", "llama_index"} & modules


def test_every_public_name_can_be_imported():
    assert [] == [name for name in dsh_web.__all__ if not hasattr(dsh_web, name)]


def test_every_name_that_can_be_imported_lazily_is_public():
    homes = {name for names in dsh_web._HOME.values() for name in names}

    assert {*homes, "__version__"} == set(dsh_web.__all__)


def test_a_star_import_gives_exactly_the_public_names():
    namespace: dict[str, object] = {}
    exec("from dsh_web import *", namespace)  # noqa: S102 - that is how a star import is spelled
    namespace.pop("__builtins__")

    assert set(dsh_web.__all__) == set(namespace)


def test_every_public_name_shows_in_a_directory_listing():
    assert set(dsh_web.__all__) <= set(dir(dsh_web))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'dsh_web' has no attribute 'WebSerch'"):
        dsh_web.WebSerch  # noqa: B018 - looking it up is the point


def test_an_unknown_name_cannot_be_imported():
    with pytest.raises(ImportError, match="WebSerch"):
        from dsh_web import WebSerch  # noqa: F401


def is_within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", OURS, ids=[str(path.relative_to(ROOT)) for path in OURS])
def test_no_module_of_ours_imports_a_model(path):
    models = {
        name
        for name in imported_modules(path)
        if is_within(name, MODEL_MODULES) and not is_within(name, CONTENT_MODULES)
    }

    assert set() == models


@pytest.mark.parametrize("path", OURS, ids=[str(path.relative_to(ROOT)) for path in OURS])
def test_no_module_of_ours_names_a_model_base_class(path):
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
    }

    assert set() == names & {"BaseChatModel", "BaseLLM", "BaseLanguageModel", "CustomLLM", "LLM"}


core_modules = [
    module.name
    for module in pkgutil.walk_packages(dsh_web.__path__, "dsh_web.")
    if not module.name.startswith("dsh_web.server")
]


@pytest.mark.parametrize("name", core_modules)
def test_every_module_says_what_it_offers_and_offers_it(name):
    module = __import__(name, fromlist=["*"])

    assert [] == [
        public for public in getattr(module, "__all__", []) if not hasattr(module, public)
    ]
