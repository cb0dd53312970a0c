"""What a value can be turned into, for people and for other tools.

The vocabulary names these methods; what draws the tables and writes the files lies further out and
is loaded by its name when somebody asks. So importing the seam costs none of it, and the seam
depends on nothing that depends on it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import date
    from os import PathLike

__all__ = ["FrameBackend", "PageViews", "SearchViews"]

FrameBackend: TypeAlias = Literal["pandas", "polars"]


def _export(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f".exporting.{module}", __package__), name)


class SearchViews:
    """The views of a search result; it is the same, immutable result before and after."""

    def to_markdown(
        self,
        *,
        style: Literal["markdown", "footnotes", "plain"] = "markdown",
        numbering: Any = "provider",
        source_list: Literal["none", "cited", "all"] = "all",
    ) -> str:
        """Return the answer with its citations as links, and the sources below it.

        A result without an answer gives a numbered list of its sources with date and snippet.

        Args:
            style: Links, footnotes, or bare numbers; see `dsh_web.render_citations`.
            numbering: `provider`, `first_use`, or a `CitationLedger`.
            source_list: Which sources are listed below an answer.

        Raises:
            InvalidRequestError: An option is unknown.
        """
        text: str = _export("markdown", "search_markdown")(
            self, style=style, numbering=numbering, source_list=source_list
        )
        return text

    def to_html(self) -> str:
        """Return the result as an HTML fragment: answer, citations with details, source table.

        Everything from the web is escaped, only http and https addresses become links, and nothing
        is loaded from anywhere. It is what notebooks show.
        """
        html: str = _export("html", "search_html")(self)
        return html

    def to_frame(self, backend: FrameBackend | None = None) -> Any:
        """Return the sources as a data frame, one row each, in the provider's order.

        Columns: `rank` (from 1), `cited_as` (the numbers that the answer cites it by, as text),
        `citations` (how often), `title`, `url`, `host`, `published_at`, `updated_at` (the
        provider's own text), `snippet`, `provider`. Unknown is null.

        Args:
            backend: `pandas` or `polars`; None: pandas if it is installed, else polars.

        Raises:
            InvalidRequestError: Neither is installed, or not the one that is asked for.
        """
        return _export("frames", "search_frame")(self, backend)

    def to_bibtex(self, *, accessed: date | None = None) -> str:
        r"""Return the sources as BibLaTeX `@online` entries, keys stable per address.

        Args:
            accessed: The day on which they were looked at, for `urldate`; a result does not know.
        """
        text: str = _export("bibtex", "search_bibtex")(self, accessed=accessed)
        return text

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to `path` as a snapshot: question, filters, result, hashes, version.

        `dsh_web.WebSnapshot.load` reads it back, checks it, and can ask the same again.

        Raises:
            InvalidRequestError: The result does not know its question: it joins several queries,
                or did not come from a runtime.
            OSError: The file cannot be written.
        """
        importlib.import_module(".snapshots", __package__).WebSnapshot.of(self).save(path)

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_markdown_(self) -> str:
        text: str = _export("markdown", "shown_markdown")(self)
        return text


class PageViews:
    """The views of a page that was read."""

    def to_html(self) -> str:
        """Return the page as an HTML fragment: where it is from, and its Markdown, laid out.

        Everything from the web is escaped, and pictures are links: nothing is loaded.
        """
        html: str = _export("html", "page_html")(self)
        return html

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_markdown_(self) -> str:
        text: str = _export("markdown", "page_markdown")(self)
        return text
