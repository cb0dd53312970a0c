"""Reading a folder of cases and recordings, whatever folder it is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "DSH_WEB_SHARED"
_REPOSITORY = Path(__file__).resolve().parents[2]


def shared_folder() -> Path:
    """Return the folder that the environment names, else `shared` beside the repository."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else _REPOSITORY.parent / "shared"


@dataclass(frozen=True, slots=True)
class Case:
    """One line of `cases.jsonl`."""

    id: str
    surface: str
    input: dict[str, Any]
    expect: dict[str, Any]
    requires: str | None = None
    note: str | None = None
    folder: Path = field(default_factory=Path)
    """Where `sse_file` and `body_file` are relative to."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One line of the recordings' `index.jsonl`."""

    file: str
    provider: str
    api: str
    notes: str
    expected: dict[str, Any]
    body: bytes


def read_cases(shared: Path) -> list[Case]:
    """Return the cases of a folder, in file order; none if it has no case file."""
    folder = shared / "cases"
    return [
        Case(
            id=line["id"],
            surface=line["surface"],
            input=expand_repeats(line["input"]),
            expect=expand_repeats(line["expect"]),
            requires=line.get("requires"),
            note=line.get("note"),
            folder=folder,
        )
        for line in _lines(folder / "cases.jsonl")
    ]


def read_recordings(shared: Path) -> list[Recording]:
    """Return the recordings of a folder, in index order; none if it has no index."""
    folder = shared / "recorded"
    return [
        Recording(
            file=line["file"],
            provider=line["provider"],
            api=line["api"],
            notes=line.get("notes") or "",
            expected=line["expected"],
            body=(folder / line["file"]).read_bytes(),
        )
        for line in _lines(folder / "index.jsonl")
    ]


def expand_repeats(value: Any) -> Any:
    """Return `value` with every `{"$repeat": [text, times]}` replaced by the text it stands for."""
    if isinstance(value, list):
        return [expand_repeats(member) for member in value]
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {name: expand_repeats(member) for name, member in value.items()}
    return value


def fill_in(value: Any, words: Mapping[str, str]) -> Any:
    """Return `value` with the placeholders replaced, also inside longer texts."""
    if isinstance(value, str):
        # Longest first: one placeholder may begin like another.
        for word in sorted(words, key=len, reverse=True):
            value = value.replace(word, words[word])
        return value
    if isinstance(value, list):
        return [fill_in(member, words) for member in value]
    if isinstance(value, dict):
        return {name: fill_in(member, words) for name, member in value.items()}
    return value


def mentions(value: Any, word: str) -> bool:
    """Return whether `word` occurs in any text of a JSON value."""
    return word in json.dumps(value, ensure_ascii=False)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    # Not splitlines: JSON text may hold U+2028, which is no line end here.
    texts = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(text) for text in texts if text.strip()]
