"""A search result for a person at a terminal.

Everything shown comes from strangers: control characters, with which a title could move the
cursor or set the clipboard, are taken out first, and nothing is read as markup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..render import render_search
from ..seam import WebSearchResult, WebSearchSource

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["plain", "show_result"]

_SNIPPET_CHARS = 240


def show_result(result: WebSearchResult) -> None:
    """Print the answer and the sources; in plain text where `rich` is not installed."""
    try:
        import rich  # noqa: F401 - only to see whether it is there
    except ImportError:
        print(plain(render_search(result).text))
        return
    _show_rich(result)


def plain(text: str) -> str:
    """Return `text` without control characters other than line ends and tabs."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def _show_rich(result: WebSearchResult) -> None:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
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
