"""Answers from a folder of recorded bodies, byte for byte."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dsh_web.server.api_errors import ApiError

HEADER = "x-loopback-replay"

_APIS = ("search", "agent", "sonar", "errors")
_SUFFIXES = frozenset({".json", ".txt"})
_STATUS_NOTE = re.compile(r"\bHTTP (\d{3})\b")
_STATUS_IN_NAME = re.compile(r"(?:^|-)([2-5]\d\d)(?=-|$)")


@dataclass(frozen=True)
class Recording:
    """One recorded body."""

    path: Path
    folder: str
    """Name of the folder that holds it, such as `sonar-pro`."""
    status: int

    @property
    def name(self) -> str:
        """The name it is asked for by: folder and file name without extension."""
        return f"{self.folder}/{self.path.stem}"

    def answer(self) -> Response:
        """Return the body exactly as stored."""
        body = self.path.read_bytes()
        if self.path.suffix == ".json":
            media_type = "application/json"
        else:
            media_type = "text/html" if body.lstrip()[:1] == b"<" else "text/plain"
        # Set directly: Starlette would add a charset that the recording may not have had.
        return Response(body, self.status, headers={"content-type": media_type})


class Recordings:
    """The recorded bodies under a folder, and whose turn it is."""

    def __init__(self, folder: Path) -> None:
        statuses = _noted_statuses(folder)
        self._recordings = [
            Recording(path, path.parent.name, statuses.get(path.resolve()) or _status(path))
            for path in sorted(folder.rglob("*"))
            if path.suffix in _SUFFIXES and path.is_file() and _api_of(path.parent.name)
        ]
        self._turns: Counter[str] = Counter()

    def restart(self) -> None:
        """Begin every round again."""
        self._turns.clear()

    def answer(self, api: str, wanted: str | None, question: str | None) -> Response:
        """Return the recording that a request asks for.

        Args:
            api: `search`, `agent` or `sonar`.
            wanted: Text of the replay header, `<folder>/<name>` with or without extension.
            question: Query text of the request; a recording of that file name is preferred.

        Raises:
            ApiError: 404 with the names that exist, if there is nothing to send.
        """
        if wanted is not None:
            named = [r for r in self._recordings if wanted in {r.name, f"{r.folder}/{r.path.name}"}]
            return self._only(named, wanted)
        own = [r for r in self._recordings if _api_of(r.folder) == api]
        for recording in own:
            if question in {recording.path.stem, recording.path.name}:
                return recording.answer()
        if not own:
            return self._only([], f"{api}/*")
        turn = self._turns[api]
        self._turns[api] += 1
        return own[turn % len(own)].answer()

    def _only(self, found: list[Recording], wanted: str) -> Response:
        if found:
            return found[0].answer()
        names = ", ".join(recording.name for recording in self._recordings) or "none"
        raise ApiError(404, f"no recording {wanted!r:.120}; there are: {names}")


class ReplayEndpoint:
    """Answers one API's requests from recordings."""

    def __init__(self, recordings: Recordings, api: str) -> None:
        self._recordings = recordings
        self._api = api

    async def __call__(self, request: Request) -> Response:
        """Answer with the recording that the request asks for."""
        question = _question(await request.body())
        return self._recordings.answer(self._api, request.headers.get(HEADER), question)


def _api_of(folder: str) -> str | None:
    for api in _APIS:
        if folder == api or folder.startswith(f"{api}-"):
            return api
    return None


def _status(path: Path) -> int:
    match = _STATUS_IN_NAME.search(path.stem)
    if path.parent.name != "errors":
        return 200
    return int(match[1]) if match else 500


def _noted_statuses(folder: Path) -> dict[Path, int]:
    """Return the statuses that `index.jsonl` files note, by file."""
    statuses = {}
    for index in sorted(folder.rglob("index.jsonl")):
        for line in index.read_text(encoding="utf-8").splitlines():
            if not line.strip():
                continue
            entry = json.loads(line)
            match = _STATUS_NOTE.search(str(entry.get("notes", "")))
            if match and isinstance(entry.get("file"), str):
                statuses[(index.parent / entry["file"]).resolve()] = int(match[1])
    return statuses


def _question(body: bytes) -> str | None:
    """Return the query text of any API's request, or None if the body has none."""
    try:
        values: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    messages = values.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    asked = last.get("content") if isinstance(last, dict) else None
    for value in (values.get("query"), values.get("input"), asked):
        if isinstance(value, str):
            return value
    return None
