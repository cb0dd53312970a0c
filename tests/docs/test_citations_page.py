"""The page on citations describes what the reader does."""

from __future__ import annotations

import re
from pathlib import Path

from dsh_web import normalize_citations

PAGE = (Path(__file__).resolve().parents[2] / "docs/citations.md").read_text()


def test_the_table_of_markers_is_what_the_reader_does() -> None:
    table = PAGE.split("## What is a marker")[1].split("\n## ")[0]
    sources = [f"https://{number}.example/" for number in range(1, 15)]
    wrong, examples = [], 0
    for row in table.strip().splitlines()[2:]:
        shown, meaning = re.split(r"(?<!\\)\|", row)[1:3]
        for quoted in re.findall(r"`` (.*?) ``|`([^`]*\[[^`]*)`", shown):
            example = quoted[0] or quoted[1]
            expected = set() if meaning.startswith(" text") else {"leads nowhere" not in meaning}
            found = {record.resolved for record in normalize_citations(example, sources)}
            examples += 1
            if found != expected:
                wrong.append((example, found, expected))

    assert wrong == []
    assert examples > 20
