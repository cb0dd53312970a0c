"""Reads a folder of Markdown, text and HTML files as a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from dsh_web.server.corpus.document import Document, file_dates
from dsh_web.server.corpus.markup import read_html

_BASE = "https://corpus.example/"
_MARKDOWN = frozenset({".md", ".markdown"})
_HTML = frozenset({".html", ".htm"})
_SUFFIXES = _MARKDOWN | _HTML | {".txt"}
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_SETTING = re.compile(r"^(url|title|date|last_updated)[ \t]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def folder_documents(folder: Path) -> Iterator[Document]:
    """Yield a page for each `.md`, `.txt` and `.html` file, by path; hidden ones are skipped.

    A page's address is `https://corpus.example/` and its path, unless Markdown front matter
    (`url:`) or `<link rel="canonical">` gives one. Front matter may also give `title`, `date` and
    `last_updated`.
    """
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix.lower() in _SUFFIXES and not hidden and path.is_file():
            yield _document(path, relative)


def _document(path: Path, relative: Path) -> Document:
    text = path.read_text(encoding="utf-8-sig", errors="replace").replace("\r\n", "\n")
    settings: dict[str, str] = {}
    suffix = path.suffix.lower()
    if suffix in _HTML:
        page = read_html(text)
        text = page.text
        settings = {"url": page.canonical, "title": page.title, "date": page.published}
    elif suffix in _MARKDOWN:
        text, settings = _split_front_matter(text)
    title = settings.get("title") or _first_title(text) or relative.stem
    url = settings.get("url") or _BASE + quote(relative.as_posix())
    published, updated = file_dates(url, path.stat().st_mtime)
    return Document(
        url=url,
        title=title,
        text=text.strip(),
        published=_date(settings.get("date", "")) or published,
        updated=_date(settings.get("last_updated", "")) or updated,
    )


def _split_front_matter(text: str) -> tuple[str, dict[str, str]]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return text, {}
    settings = {name: value.strip("\"'") for name, value in _SETTING.findall(match[1])}
    return text[match.end() :], settings


def _first_title(text: str) -> str:
    heading = _HEADING.search(text)
    if heading is not None:
        return heading[1]
    first_line = text.strip().partition("\n")[0].strip()
    return first_line if len(first_line) <= 120 else ""


def _date(text: str) -> str | None:
    match = _ISO_DATE.match(text)
    return None if match is None else match[0]
