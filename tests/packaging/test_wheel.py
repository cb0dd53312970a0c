"""The built wheel: what it holds, and that the core works with its own dependencies alone."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import textwrap
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dsh_web", "langchain_dsh_web", "llama_index_dsh_web")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), "."],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(target.glob("*.whl"))


@pytest.fixture(scope="session")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_holds_each_package_and_its_type_marker(names: list[str], package: str) -> None:
    assert f"{package}/__init__.py" in names
    assert f"{package}/py.typed" in names


def test_the_wheel_holds_every_module_of_the_source_tree(names: list[str]) -> None:
    expected = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in ROOT.glob(f"{package}/**/*.py")
    }

    assert expected <= set(names)


def test_the_wheel_holds_nothing_else_at_its_top(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}

    assert {*PACKAGES} == {top for top in tops if not top.endswith(".dist-info")}


def test_the_wheel_declares_the_console_script(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith("entry_points.txt"))
        text = archive.read(name).decode()

    assert "dsh-web = dsh_web.cli:main" in text


def test_the_core_alone_imports_and_searches(wheel: Path, tmp_path: Path) -> None:
    python = bare_environment(wheel, tmp_path)
    script = textwrap.dedent(
        """
        import http.server, json, sys, threading

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                body = json.dumps({"id": "1", "results": [
                    {"title": "T", "url": "https://a.example/", "snippet": "s"}]}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        from dsh_web import PerplexitySearchProvider, WebRuntime
        runtime = WebRuntime()
        runtime.register_search_provider(PerplexitySearchProvider(
            api_key="key", base_url=f"http://127.0.0.1:{server.server_port}"))
        print(runtime.search("anything").sources[0].url)
        for name in ("langchain_core", "llama_index", "starlette", "uvicorn", "rich"):
            try:
                __import__(name)
            except ImportError:
                continue
            sys.exit(f"{name} was importable: the environment is not bare")
        """
    )

    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr, done.returncode) == ("https://a.example/\n", "", 0)


@pytest.mark.parametrize(
    ("statement", "extra"),
    [
        ("from langchain_dsh_web import WebSearchTool", "dsh-web[langchain]"),
        ("from llama_index_dsh_web import WebToolSpec", "dsh-web[llama-index]"),
        ("from dsh_web.server import LoopbackServer", "dsh-web[server]"),
    ],
)
def test_a_missing_extra_is_named(wheel: Path, tmp_path: Path, statement: str, extra: str) -> None:
    python = bare_environment(wheel, tmp_path)

    done = subprocess.run([python, "-c", statement], capture_output=True, text=True, check=False)

    assert extra in done.stderr.splitlines()[-1]


def bare_environment(wheel: Path, folder: Path) -> str:
    """Return a Python that sees the wheel and its declared dependencies and nothing else.

    The dependencies are linked from this environment instead of being downloaded.
    """
    venv.create(folder / "env", with_pip=False)
    binary = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    site = next(
        (folder / "env").glob("lib/python*/site-packages"), folder / "env/Lib/site-packages"
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for distribution in closure(["httpx", "httpcore", "pydantic"]):
        for file in importlib.metadata.files(distribution) or []:
            top = file.parts[0]
            if top in ("..", "__pycache__") or (site / top).exists():
                continue
            (site / top).symlink_to(
                Path(str(file.locate())).parents[len(file.parts) - 2]
                if len(file.parts) > 1
                else Path(str(file.locate()))
            )
    return str(binary)


def closure(roots: list[str]) -> set[str]:
    """Return the distributions that `roots` need, without their extras."""
    found: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name in found or not is_installed(name):
            continue
        found.add(name)
        for requirement in importlib.metadata.requires(name) or []:
            if "extra ==" in requirement:
                continue
            pending.append(re.split(r"[ ;<>=!~\[(]", requirement, maxsplit=1)[0])
    return found


def is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False  # needed on another platform or an older Python only
    return True
