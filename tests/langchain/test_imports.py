"""What importing the package costs, and what it may never import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_dsh_web

PACKAGE = Path(langchain_dsh_web.__file__).parent


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
    )
    return done.stdout.strip()


def test_the_public_names_are_these():
    assert langchain_dsh_web.__all__ == [
        "WebFetchTool",
        "WebSearchRetriever",
        "WebSearchTool",
        "WebToolException",
        "WebToolkit",
        "is_retryable",
    ]
    assert set(langchain_dsh_web.__all__) <= set(dir(langchain_dsh_web))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="WebSerchTool"):
        _ = langchain_dsh_web.WebSerchTool


def test_langchain_is_imported_on_first_use_and_llama_index_never():
    loaded = run(
        "import sys, langchain_dsh_web\n"
        "print('langchain_core' in sys.modules)\n"
        "langchain_dsh_web.WebSearchRetriever, langchain_dsh_web.WebSearchTool\n"
        "print('langchain_core' in sys.modules)\n"
        "print(any(name.startswith('llama_index') for name in sys.modules))\n"
    )

    assert loaded.split() == ["False", "True", "False"]


def test_without_langchain_core_the_error_says_what_to_install():
    message = run(
        "import sys\n"
        "sys.modules['langchain_core'] = None\n"
        "import langchain_dsh_web\n"
        "try:\n"
        "    langchain_dsh_web.WebSearchTool\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )

    assert 'pip install "dsh-web[langchain]"' in message


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_no_module_imports_a_model_an_http_client_or_private_core(path):
    forbidden = ("langchain_core.language_models", "langchain.", "llama_index", "httpx")

    for name in imported_modules(path):
        assert not name.startswith(forbidden), name
        if name.startswith("dsh_web"):
            assert "._" not in name, name
            assert not name.startswith(("dsh_web.providers", "dsh_web.server")), name
