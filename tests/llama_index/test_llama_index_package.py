"""What importing the adapter costs, and what its source may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import llama_index_dsh_web

SOURCES = sorted(Path(llama_index_dsh_web.__file__).parent.glob("*.py"))
PUBLIC_CORE = {
    "dsh_web",
    "dsh_web.citations",
    "dsh_web.page_content",
    "dsh_web.pages.rendering",
    "dsh_web.passages",
    "dsh_web.render",
    "dsh_web.tool_failures",
    "dsh_web.tool_args",
}
CONTENT_BLOCKS = "llama_index.core.base.llms.types"


def run(code: str) -> str:
    root = str(Path(llama_index_dsh_web.__file__).parents[1])
    program = f"import sys; sys.path.insert(0, {root!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_importing_the_package_imports_no_framework():
    loaded = run(
        "import llama_index_dsh_web; dir(llama_index_dsh_web)\n"
        "heavy = {'llama_index', 'langchain_core', 'langchain', 'httpx', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    assert loaded == "[]"


def test_using_a_name_imports_llama_index_but_not_langchain():
    loaded = run(
        "from llama_index_dsh_web import WebSearchRetriever, WebToolSpec\n"
        "WebToolSpec().to_tool_list()\n"
        "print('llama_index.core' in sys.modules, 'langchain_core' in sys.modules)"
    )

    assert loaded == "True False"


def test_without_llama_index_the_error_names_the_extra():
    message = run(
        "sys.modules['llama_index'] = None\n"
        "try:\n"
        "    from llama_index_dsh_web import WebToolSpec\n"
        "except ImportError as error:\n"
        "    print(error)"
    )

    assert message.startswith("WebToolSpec needs llama-index-core")
    assert 'pip install "dsh-web[llama-index]"' in message


def test_the_options_can_be_read_without_llama_index():
    shown = run(
        "sys.modules['llama_index'] = None\n"
        "from llama_index_dsh_web import SearchOptions; print(SearchOptions.__name__)"
    )

    assert shown == "SearchOptions"


def test_every_public_name_is_there_and_no_other():
    for name in llama_index_dsh_web.__all__:
        assert name in dir(llama_index_dsh_web)
        assert name == getattr(llama_index_dsh_web, name).__name__
    with pytest.raises(AttributeError, match="WebSearch"):
        _ = llama_index_dsh_web.WebSearch


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_module_imports_only_what_an_adapter_may(source):
    imported = set(imports(ast.parse(source.read_text("utf-8")))) - {CONTENT_BLOCKS}

    assert not [name for name in imported if ".llms" in name or name.startswith("langchain")]
    assert not imported & {"httpx", "httpcore"}
    assert {n for n in imported if n.split(".")[0] == "dsh_web"} <= PUBLIC_CORE


def test_tool_functions_keep_real_annotations():
    tool_spec = next(path for path in SOURCES if path.name == "tool_spec.py")

    assert "__future__" not in imports(ast.parse(tool_spec.read_text("utf-8")))


def imports(tree: ast.Module) -> list[str]:
    """Return the absolute modules that `tree` imports from, wherever the statement stands."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    return names
