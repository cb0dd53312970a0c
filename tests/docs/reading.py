"""The pages of the documentation, and the blocks that stand in them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))]

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?"
    r"^(?P<indent> *)```(?P<info>[^\n`]+)\n(?P<body>.*?)^(?P=indent)```$",
    flags=re.S | re.M,
)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and why it is not run, if so."""

    language: str
    text: str
    line: int
    reason: str | None
    section: int
    """Which `##` section of the page it stands in."""
    follows: bool
    """Whether nothing stands between it and the block before."""


def prose_of(page: Path) -> str:
    """Return the text of a page without its blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def blocks_of(page: Path) -> list[Block]:
    text, end, found = page.read_text(encoding="utf-8"), 0, []
    for match in _BLOCK.finditer(text):
        body = textwrap.dedent(match["body"])
        follows = bool(found) and not text[end : match.start()].strip()
        line = text.count("\n", 0, match.start("body")) + 1
        section = text.count("\n## ", 0, match.start())
        found.append(Block(match["info"].strip(), body, line, match["reason"], section, follows))
        end = match.end()
    return found
