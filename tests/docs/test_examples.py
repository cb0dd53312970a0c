"""Every Python block of the documentation runs, page by page, from top to bottom."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest

from dsh_web import WebPage
from tests.docs.reading import DOCS, PAGES, ROOT, Block, blocks_of, name_of
from tests.docs.stand_ins import names_for

# Each of these has a reason beside it on its page; a new one has to be argued for here.
FOR_BOTH_VENDORS = {"choosing-a-provider.md"}
"""Pages for readers who have two keys."""
NOT_RUN = {"docs/integrations/langchain-tools.md": 1}

# Its output depends on the Python that runs it; test_readme.py compares what does not.
COMPARED_ELSEWHERE = {"README.md"}

# LlamaIndex's own use of pydantic.
LLAMA_INDEX_WARNS = pytest.mark.filterwarnings(
    "ignore::pydantic.warnings.PydanticDeprecationWarning"
)

WITH_EXAMPLES = [page for page in PAGES if any(b.language == "python" for b in blocks_of(page))]


def run(block: Block, page: str, names: dict[str, Any]) -> str:
    """Run a block as a notebook would, and return what it printed."""
    # The empty lines make a traceback name the line of the page.
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        # Our own page; a coroutine comes out where it awaits at the top level.
        ran = eval(code, names)  # noqa: S307
        if inspect.iscoroutine(ran):
            asyncio.run(ran)
    return printed.getvalue()


def run_page(page: Path) -> dict[str, Any]:
    """Run all blocks of a page, compare what stands below them, and return their names."""
    name, printed, section = name_of(page), "", None
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.section != section:
            # "Any model" or "your agent" is meant anew in each section.
            section = block.section
            names.update(names_for(name))
        if block.language == "python" and block.reason is None:
            printed = run(block, name, names)
        elif block.language == "text" and block.follows and name not in COMPARED_ELSEWHERE:
            assert block.text.rstrip() == printed.rstrip(), f"{name}, line {block.line}"
    return names


@LLAMA_INDEX_WARNS
@pytest.mark.usefixtures("readers_environment")
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_the_examples_of_a_page_run_and_print_what_stands_below_them(
    page: Path, request: pytest.FixtureRequest
) -> None:
    if page.name in FOR_BOTH_VENDORS:
        request.getfixturevalue("both_vendors")
    run_page(page)


@LLAMA_INDEX_WARNS
@pytest.mark.usefixtures("readers_environment")
def test_the_page_on_fetching_ends_with_pages() -> None:
    names = run_page(DOCS / "fetching.md")

    assert isinstance(names["page"], WebPage)
    assert names["page"].text.startswith("# Python")


def test_the_page_on_citations_shows_output_for_every_example() -> None:
    blocks = [b for b in blocks_of(DOCS / "citations.md") if b.language in ("python", "text")]

    assert ["python", "text"] * (len(blocks) // 2) == [block.language for block in blocks]
    assert len(blocks) > 10


def test_what_is_not_run_is_little_and_says_why() -> None:
    found = {
        name_of(page): sum(block.reason is not None for block in blocks_of(page)) for page in PAGES
    }

    assert {page: count for page, count in found.items() if count} == NOT_RUN


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_stands_in_no_other_kind_of_block(page: Path) -> None:
    infos = re.findall(r"^ *(?:```+|~~~+)([^\n`]+)$", page.read_text(), flags=re.M)

    assert {info.strip() for info in infos} <= {"python", "text", "sh", "toml", "console", "yaml"}
    assert len(infos) == len(blocks_of(page))


def test_every_page_is_looked_at() -> None:
    assert {ROOT / "README.md", DOCS / "index.md", DOCS / "searching.md"} <= set(PAGES)
    assert len(WITH_EXAMPLES) > 10
