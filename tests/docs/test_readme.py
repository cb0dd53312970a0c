"""What the README promises is what happens."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

from tests.docs.reading import PAGES, ROOT, name_of, prose_of

README = (ROOT / "README.md").read_text()
WRITTEN_ON = (3, 11)


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


def test_the_first_example_prints_what_stands_below_it() -> None:
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(blocks("python")[0], "README.md", "exec"), {})  # noqa: S102 - our own page

    shown, output = blocks("text")[0].splitlines(), printed.getvalue().splitlines()
    assert len(shown) == len(output)
    assert [line.split()[0] for line in shown[1:]] == [line.split()[0] for line in output[1:]]
    if sys.version_info[:2] == WRITTEN_ON:
        assert shown == output


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", prose_of(page))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_architecture_page_names_every_module_of_the_core() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    modules = {path.name for path in (ROOT / "dsh_web").glob("[a-z]*.py")}
    packages = {f"{path.parent.name}/" for path in (ROOT / "dsh_web").glob("*/__init__.py")}

    assert sorted(name for name in modules | packages if f"  {name} " not in text) == []


def test_the_readme_names_every_error_code() -> None:
    source = (ROOT / "dsh_web/errors.py").read_text()
    codes = set(re.findall(r'"(WEB_\w+)"', source))

    assert sorted(code for code in codes if code not in README) == []


def test_the_contributing_recipe_builds_a_provider_that_searches() -> None:
    import respx

    from dsh_web import WebRuntime

    recipe = next(b for b in blocks("python", (ROOT / "CONTRIBUTING.md").read_text()) if "Toy" in b)
    namespace: dict[str, object] = {}
    exec(compile(recipe, "CONTRIBUTING.md", "exec"), namespace)  # noqa: S102 - our own page
    runtime = WebRuntime()
    runtime.register_search_provider(namespace["ToyProvider"]("https://toy.example"))  # type: ignore[operator]

    with respx.mock:
        respx.post("https://toy.example/find").respond(
            json={
                "hits": [
                    {"link": "https://a.example/", "name": "A"},
                    {"link": "https://b.example/"},
                ]
            }
        )
        result = runtime.search("anything", max_results=1)

    assert [source.title for source in result.sources] == ["A"]
    assert (result.provider, result.truncated) == ("toy", True)
