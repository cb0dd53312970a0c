"""`dsh-web citations`: what saved answers cite, as a table or JSON, and answers to read.

`check PATH...` counts and lists; `render FILE` shows one answer with its citations as links.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from ..citations import (
    CONTRACTS,
    CitationAudit,
    audit_citations,
    render_citations,
    summarize_audits,
)
from ..errors import WebError
from .citation_table import show_audits
from .saved_answers import ENDINGS, UnreadableAnswer, saved_answers
from .show import plain, print_json

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Check what saved answers cite, or show one with its citations as links."

_STATUSES: Final = (
    "Exit status: 0, all could be read; 1, a file could not be read, there was nothing to read, or "
    "with --strict a marker leads to no source; 2, the command line is at fault."
)
_STYLES: Final = ("markdown", "footnotes", "html", "plain")
_SCHEMA: Final = 1
"""Version of the keys of `--json`; it changes when a reader would have to."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the commands about citations."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    text = (
        "Check saved answers: bodies and event streams of Perplexity's APIs, dumped results, tool "
        "artifacts, JSON Lines of these, and Markdown with a list of sources."
    )
    check = commands.add_parser(
        "check", help="check saved answers", description=text, epilog=_STATUSES
    )
    check.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help=f"a file, or a folder that is searched for {', '.join(ENDINGS)}",
    )
    check.add_argument("--json", action="store_true", help="print the audits as JSON")
    check.add_argument(
        "--strict", action="store_true", help="exit with 1 if a marker leads to no source"
    )
    check.add_argument(
        "--contract",
        choices=sorted(CONTRACTS),
        metavar="NAME",
        help=f"read every answer by these rules: {', '.join(sorted(CONTRACTS))}",
    )
    check.set_defaults(run=run)
    render = commands.add_parser(
        "render",
        help="show a saved answer with its citations",
        description="Show a saved answer with its citations as links, footnotes, HTML or numbers.",
    )
    render.add_argument("path", metavar="FILE", help="what `check` reads, with one answer in it")
    render.add_argument("--style", choices=_STYLES, default="markdown", help="default: markdown")
    render.add_argument(
        "--renumber", action="store_true", help="number the sources anew, in order of first use"
    )
    render.set_defaults(run=_render)


def run(options: argparse.Namespace) -> int:
    """Check, print, and return the exit status that the help text explains."""
    audits: list[CitationAudit] = []
    unreadable: list[UnreadableAnswer] = []
    for answer in saved_answers(options.paths, contract=options.contract):
        if isinstance(answer, UnreadableAnswer):
            unreadable.append(answer)
        else:
            audits.append(audit_citations(answer.result, name=answer.name))
    if options.json:
        print_json(_report(audits, unreadable))
    elif audits or unreadable:
        show_audits(audits, [(answer.name, answer.reason) for answer in unreadable])
    if not audits and not unreadable:
        print("dsh-web citations: no file to check in these folders", file=sys.stderr)
    is_incomplete = options.strict and not all(audit.is_complete for audit in audits)
    return 1 if unreadable or is_incomplete or not audits else 0


def _report(
    audits: Sequence[CitationAudit], unreadable: Sequence[UnreadableAnswer]
) -> dict[str, object]:
    return {
        "schema": _SCHEMA,
        "answers": [audit.model_dump(mode="json") for audit in audits],
        "total": summarize_audits(audits).model_dump(mode="json"),
        "unreadable": [{"name": answer.name, "reason": answer.reason} for answer in unreadable],
    }


def _render(options: argparse.Namespace) -> int:
    answers = [*saved_answers([options.path])]
    if len(answers) != 1:
        return _fail(f"{options.path} holds {len(answers)} answers: give a file with one")
    (answer,) = answers
    if isinstance(answer, UnreadableAnswer):
        return _fail(f"{answer.name} cannot be read: {answer.reason}")
    result = answer.result
    try:
        text = render_citations(
            result.content,
            result.citations,
            style=options.style,
            numbering="first_use" if options.renumber else "provider",
            sources=result.sources,
        )
    except WebError as error:
        return _fail(f"{answer.name} cannot be shown: {error.message}")
    # A file keeps the marks that right-to-left text needs; a terminal would obey others, too.
    print(plain(text) if sys.stdout.isatty() else text)
    return 0


def _fail(message: str) -> int:
    print(plain(f"dsh-web citations: {message}"), file=sys.stderr)
    return 1
