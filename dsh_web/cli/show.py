"""A search result for a person at a terminal.

Everything shown comes from strangers: control characters, with which a title could move the
cursor or set the clipboard, are taken out first, and nothing is read as markup.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import WebError
from ..events import Progress, SearchDone, StreamEvent, TextDelta
from ..explain import Explanation
from ..render import render_search
from ..seam import WebSearchResult, WebSearchSource

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "plain",
    "print_failure",
    "print_json",
    "show_explanation",
    "show_result",
    "show_stream",
]

_SNIPPET_CHARS = 240
_HARMLESS = frozenset(
    "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}"
    "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
    + "".join(map(chr, range(0x2000, 0x200B)))  # en space to hair space
)


def show_result(result: WebSearchResult) -> None:
    """Print the answer and the sources; in plain text where `rich` is not installed."""
    try:
        import rich  # noqa: F401 - only to see whether it is there
    except ImportError:
        print(plain(render_search(result).text))
        return
    _show_rich(result)


def show_stream(stream: Iterable[StreamEvent]) -> None:
    """Print the answer word by word as it arrives, then the sources.

    The text goes out as it is, since Markdown cannot be laid out before it is complete.
    """
    is_midline = False
    try:
        for event in stream:
            if isinstance(event, TextDelta):
                print(plain(event.text), end="", flush=True)
                is_midline = True
            elif isinstance(event, Progress) and not is_midline:
                line = _progress_line(event)
                if line:
                    print(line, file=sys.stderr, flush=True)
            elif isinstance(event, SearchDone):
                if is_midline:
                    print("\n")
                _show_rest(event.result)
    except WebError:
        if is_midline:
            # What comes next, the message, gets a line of its own.
            print(flush=True)
        raise


def _show_rest(result: WebSearchResult) -> None:
    """Print everything but the answer, which has been shown already."""
    if result.content and not result.sources:
        # Without answer and sources the plain form would say that nothing was found.
        for warning in result.warnings:
            print(plain(f"note: {warning}"))
        return
    show_result(result.model_copy(update={"content": None}))


def _progress_line(event: Progress) -> str:
    what = ", ".join((*event.queries, *event.urls)) or event.note or ""
    return plain(f"[{event.stage}] {' '.join(what.split())}") if what else ""


def show_explanation(explanation: Explanation) -> None:
    """Print what a call would send, line by line."""
    print(f"provider   {explanation.provider}")
    if explanation.url is None:
        print("request    cannot be foretold for this provider")
    else:
        print(f"request    {explanation.method} {explanation.url}")
        for name, value in explanation.headers.items():
            print(f"           {name}: {value}")
        body = json.dumps(explanation.body, indent=2, ensure_ascii=False)
        print(textwrap.indent(plain(body), " " * 11))
    for name, fate in explanation.filters.items():
        print(f"filter     {name}: {fate}")
    for warning in explanation.warnings:
        print(f"warning    {warning}")
    cost = explanation.estimated_cost_usd
    print(f"cost       {'not known' if cost is None else f'about ${cost:g}'}")


def print_failure(error: WebError, *, as_json: bool, is_line: bool = False) -> int:
    """Print why a command failed, one line on stderr or as JSON on stdout, and return 1."""
    if as_json:
        print_json({"error": error.to_dict()}, is_line=is_line)
    else:
        print(plain(f"{error.code}: {error}"), file=sys.stderr)
    return 1


def plain(text: str) -> str:
    """Return `text` without control characters other than line ends and tabs.

    Spaces of other widths, and the joiners that some scripts and emoji need, are no danger.
    """
    return "".join(char for char in text if char.isprintable() or char in _HARMLESS)


def print_json(value: object, *, is_line: bool = False) -> None:
    """Print `value` as JSON; as one line, and at once, if `is_line`."""
    # Escaped where the output could not hold the characters: a replacement would lose them.
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(value, indent=None if is_line else 2, ensure_ascii=not is_unicode)
    # JSON itself escapes fewer control characters than a terminal obeys.
    print(_UNPRINTED.sub(_json_escape, text), flush=is_line)


_UNPRINTED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _show_rich(result: WebSearchResult) -> None:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            # rich would end the program here; `main` knows what a closed pipe means.
            raise BrokenPipeError

    console = QuietConsole()
    if result.content:
        console.print(Markdown(plain(result.content), hyperlinks=True))
        console.print()
    for number, source in enumerate(result.sources, start=1):
        marker = ", ".join(str(id_) for id_ in source.ids) or str(number)
        console.print(_heading(marker, source))
        # Not wrapped: a terminal finds, and people copy, only an unbroken address.
        console.print(Text(f"    {plain(source.url)}", style="cyan"), soft_wrap=True)
        if source.snippet:
            text = Text(_shortened(source.snippet), style="dim")
            console.print(Padding(text, (0, 0, 0, 4)))
    if not result.content and not result.sources:
        console.print("No results found.")
    if result.truncated:
        console.print(Text(f"Showing the first {len(result.sources)} sources.", style="dim"))
    for warning in result.warnings:
        console.print(Text(f"note: {plain(warning)}", style="yellow"))
    console.print(Text(_summary(result), style="dim"))


def _shortened(snippet: str) -> str:
    text = " ".join(plain(snippet).split())
    return text if len(text) <= _SNIPPET_CHARS else text[:_SNIPPET_CHARS].rstrip() + "…"


def _heading(marker: str, source: WebSearchSource) -> Text:
    from rich.text import Text

    heading = Text(f"[{marker}] ", style="bold")
    heading.append(" ".join(plain(source.label).split()), style="bold")
    if source.published_at:
        heading.append(f"  {plain(source.published_at)}", style="dim")
    return heading


def _summary(result: WebSearchResult) -> str:
    facts = [f"provider {result.provider}"]
    if result.model:
        facts.append(f"model {plain(result.model)}")
    if result.usage is not None and result.usage.cost_usd is not None:
        facts.append(f"${result.usage.cost_usd:.4f}")
    if result.request_id:
        facts.append(f"request {plain(result.request_id)}")
    return " · ".join(facts)
