"""Saved answers from files and folders, whatever they were saved as."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..citations import read_markdown
from ..errors import InvalidRequestError, WebError
from ..saved import read_again, read_saved
from ..seam import WebSearchResult

__all__ = ["ENDINGS", "SavedAnswer", "UnreadableAnswer", "saved_answers"]

_TEXT_ENDINGS: Final = (".md", ".markdown", ".txt")
_LINES_ENDINGS: Final = (".jsonl", ".ndjson")
ENDINGS: Final = (".json", *_LINES_ENDINGS, ".sse", *_TEXT_ENDINGS)
"""Names that are looked for in a folder."""
_MOST_BYTES: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """One answer, its citations read."""

    name: str
    """The file; with `:3` for its third line, or the third of its list."""
    result: WebSearchResult


@dataclass(frozen=True, slots=True)
class UnreadableAnswer:
    """A file, or a part of one, that holds no answer."""

    name: str
    reason: str


def saved_answers(
    paths: Iterable[str], *, contract: str | None = None
) -> Iterator[SavedAnswer | UnreadableAnswer]:
    """Yield what files and folders hold, each file once; folders in the order of their names.

    Args:
        paths: Files of any name, and folders, which are searched for `ENDINGS` at any depth.
        contract: Rules to read every answer by; default: those of the answer itself.
    """
    seen: set[Path] = set()
    for given in paths:
        try:
            files = _files(Path(given))
        except (OSError, ValueError) as error:
            yield UnreadableAnswer(given, _reason(error))
            continue
        for path in files:
            if (real := path.absolute()) not in seen:
                seen.add(real)
                yield from _read(path, contract)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(
        child for child in path.rglob("*") if child.suffix.lower() in ENDINGS and child.is_file()
    )


def _read(path: Path, contract: str | None) -> Iterator[SavedAnswer | UnreadableAnswer]:
    name, ending = str(path), path.suffix.lower()
    try:
        # Nobody may ever write into one; those under /dev are a shell's `<(...)`, which ends.
        if path.is_fifo() and path.parts[:2] not in (("/", "dev"), ("/", "proc")):
            yield UnreadableAnswer(name, "it is a named pipe")
            return
        # Bounded while it is read: what is no plain file has no size to ask for.
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        yield UnreadableAnswer(name, _reason(error))
        return
    if len(data) > _MOST_BYTES:
        yield UnreadableAnswer(name, f"it is larger than {_MOST_BYTES // 1_000_000} MB")
        return
    text = _decoded(data)
    for part, content in _parts(text, is_lines=ending in _LINES_ENDINGS):
        try:
            is_text = ending in _TEXT_ENDINGS and content is text
            result = _markdown(text) if is_text else read_saved(content, name="it")
            if contract is not None:
                result = read_again(result, contract=contract)
        except WebError as error:
            yield UnreadableAnswer(f"{name}{part}", error.message)
        else:
            yield SavedAnswer(f"{name}{part}", result)


def _parts(text: str, *, is_lines: bool) -> Iterator[tuple[str, Any]]:
    """Yield the answers of a file, each with what tells it apart from the others."""
    start = text.lstrip()[:1]
    if start == "[" and not is_lines:
        try:
            items = json.loads(text)
        except (ValueError, RecursionError):
            items = None
        if isinstance(items, list) and any(isinstance(item, dict) for item in items):
            yield from ((f":{number}", item) for number, item in enumerate(items, start=1))
            return
    # Only these line ends: the others that `splitlines` knows may stand inside JSON.
    lines = text.split("\n") if is_lines or start == "{" else []
    filled = [(f":{number}", line) for number, line in enumerate(lines, start=1) if line.strip()]
    if filled and all(_EVENT.match(line) for _, line in filled):
        # The events of one stream, as clients log them.
        yield "", "".join(f"data: {line}\n\n" for _, line in filled)
    elif is_lines or (len(filled) > 1 and all(_OBJECT.match(line) for _, line in filled)):
        yield from filled
    else:
        yield "", text


_OBJECT = re.compile(r"\s*+\{\s*+\".*\}\s*+$")
_EVENT = re.compile(
    r"\s*+\{(?=.*\"(?:object\"\s*+:\s*+\"chat\.completion\.chunk|type\"\s*+:\s*+\"response\.)).*\}\s*+$"
)


def _markdown(text: str) -> WebSearchResult:
    # A body that somebody saved under a name that does not say so is still a body.
    if text.lstrip()[:1] == "{" or text.lstrip().startswith(("data:", "event:")):
        try:
            return read_saved(text)
        except InvalidRequestError:
            pass
    return read_markdown(text)


def _decoded(data: bytes) -> str:
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # as some shells redirect output
    return data.decode("utf-16" if is_wide else "utf-8-sig", "replace")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return (isinstance(error, OSError) and error.strerror) or str(error)
