"""`dsh-web citations check PATH...`: what saved answers cite, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..citations import CitationAudit, audit_citations, read_markdown, summarize_audits
from ..errors import InvalidRequestError, WebError
from ..saved import read_again, read_saved
from ..seam import WebSearchResult
from .citation_table import show_audits

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Check what saved answers cite."

_TEXT_ENDINGS: Final = (".md", ".markdown", ".txt")
_ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".sse", *_TEXT_ENDINGS)
_MOST_BYTES: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Failure:
    """A file, or a line of one, that could not be read."""

    name: str
    reason: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the commands about citations."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    text = (
        "Check saved answers: bodies and event streams of Perplexity's APIs, dumped results, tool "
        "artifacts, JSON Lines of these, and Markdown with a list of sources."
    )
    check = commands.add_parser("check", help="check saved answers", description=text)
    check.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help=f"a file, or a folder that is searched for {', '.join(_ENDINGS)}",
    )
    check.add_argument("--json", action="store_true", help="print the audits as JSON")
    check.add_argument(
        "--strict", action="store_true", help="exit with 1 if a marker leads to no source"
    )
    check.add_argument(
        "--contract",
        metavar="NAME",
        help="read every answer by these rules, for example perplexity-agent/2026-10",
    )
    check.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, print, and return 0; 1 if a file cannot be read or, if strict, a source is missing."""
    audits: list[CitationAudit] = []
    failures: list[Failure] = []
    for path in _files(options.paths, failures):
        for outcome in _read(path, options.contract):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                audits.append(outcome)
    if options.json:
        _print_json(audits, failures)
    else:
        show_audits(audits, [(failure.name, failure.reason) for failure in failures])
    is_incomplete = options.strict and not all(audit.is_complete for audit in audits)
    if not audits and not failures:
        print("dsh-web citations: no file to check in these folders", file=sys.stderr)
    return 1 if failures or is_incomplete or not audits else 0


def _files(paths: Iterable[str], failures: list[Failure]) -> Iterator[Path]:
    for given in paths:
        path = Path(given)
        if path.is_dir():
            yield from sorted(
                child
                for child in path.rglob("*")
                if child.suffix.lower() in _ENDINGS and child.is_file()
            )
        elif path.exists():
            yield path
        else:
            failures.append(Failure(given, "there is no such file"))


def _read(path: Path, contract: str | None) -> Iterator[CitationAudit | Failure]:
    name = str(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            yield Failure(name, f"it is larger than {_MOST_BYTES // 1_000_000} MB")
            return
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        yield Failure(name, error.strerror or type(error).__name__)
        return
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield _audit(line, f"{name}:{number}", contract)
        return
    yield _audit(text, name, contract, is_text=path.suffix.lower() in _TEXT_ENDINGS)


def _audit(
    text: str, name: str, contract: str | None, *, is_text: bool = False
) -> CitationAudit | Failure:
    try:
        result = _markdown(text) if is_text else read_saved(text)
        if contract is not None:
            result = read_again(result, contract=contract)
    except WebError as error:
        return Failure(name, error.message)
    return audit_citations(result, name=name)


def _markdown(text: str) -> WebSearchResult:
    # A body that somebody saved under a name that does not say so is still a body.
    if text.lstrip()[:1] == "{" or text.lstrip().startswith(("data:", "event:")):
        try:
            return read_saved(text)
        except InvalidRequestError:
            pass
    return read_markdown(text)


def _print_json(audits: list[CitationAudit], failures: list[Failure]) -> None:
    report = {
        "answers": [audit.model_dump(mode="json") for audit in audits],
        "total": summarize_audits(audits).model_dump(mode="json"),
        "unreadable": [{"name": failure.name, "reason": failure.reason} for failure in failures],
    }
    print(json.dumps(report, indent=2, ensure_ascii=False))
