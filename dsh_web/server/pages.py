"""Pages for people: what this server is, whether it is up, and the documents of its corpus."""

from __future__ import annotations

import html
import re
import textwrap

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dsh_web.server.api_errors import ApiError, JsonAnswer
from dsh_web.server.corpus import Document, Index
from dsh_web.server.settings import Settings

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>{head}</head>
<body>
{body}
</body>
</html>
"""

_LISTED = 20
"""Documents that the home page links to."""


class Pages:
    """Serves `/`, `/_health` and `/pages/{id}`; none of them needs a key."""

    def __init__(self, index: Index, settings: Settings, routes: list[str]) -> None:
        self._index = index
        self._settings = settings
        self._routes = routes

    async def home(self, request: Request) -> Response:
        """Describe the server, as HTML to browsers and as JSON to everything else."""
        about = {
            "name": "dsh-web loopback server",
            "about": "A local stand-in for the HTTP APIs of Perplexity and Parallel that searches "
            "its own corpus.",
            "routes": self._routes,
            "documents": len(self._index),
            "sonar": self._settings.sonar,
            "replay": self._settings.replay is not None,
        }
        if "text/html" not in request.headers.get("accept", ""):
            return JsonAnswer(about)
        rows = "".join(f"<li><code>{html.escape(route)}</code></li>" for route in self._routes)
        body = (
            f"<h1>{about['name']}</h1><p>{about['about']}</p>"
            f"<p>{len(self._index)} documents.</p><ul>{rows}</ul>"
            f"<h2>Documents</h2>\n{self._listing()}"
        )
        return HTMLResponse(_PAGE.format(title=about["name"], head="", body=body))

    async def health(self, request: Request) -> Response:
        """Say that the server is up."""
        return JsonAnswer({"status": "ok"})

    async def document(self, request: Request) -> Response:
        """Show one document of the corpus."""
        found = self._index.by_id(request.path_params["id"])
        if found is None:
            raise ApiError(404)
        document = found.document
        paragraphs = re.split(r"\n(?:[^\S\n]*\n)+", document.text)
        body = "\n".join(
            [
                self._neighbours(found.id),
                f"<h1>{html.escape(document.title)}</h1>",
                *(_paragraph(paragraph) for paragraph in paragraphs if paragraph.strip()),
                _facts(document),
            ]
        )
        head = f'<link rel="canonical" href="{html.escape(document.url)}">'
        page = _PAGE.format(title=html.escape(document.title), head=head, body=body)
        return HTMLResponse(page.encode("utf-8", "replace"))

    def _listing(self) -> str:
        """Return the first documents as a table with links to their pages."""
        rows = "".join(
            f'<tr><td><a href="/pages/{found.id}">{html.escape(found.document.title)}</a></td>'
            f"<td>{html.escape(found.document.url)}</td></tr>"
            for number in range(1, _LISTED + 1)
            if (found := self._index.by_id(number)) is not None
        )
        return f"<table><tr><th>Document</th><th>Address</th></tr>{rows}</table>"

    def _neighbours(self, number: int) -> str:
        """Return the navigation of a document's page; its links are relative, as on most pages."""
        links = ['<a href="/">All documents</a>']
        links += [
            f'<a rel="{rel}" href="{other}">{rel}</a>'
            for rel, other in (("prev", number - 1), ("next", number + 1))
            if self._index.by_id(other) is not None
        ]
        return f"<nav>{' '.join(links)}</nav>"


def _paragraph(text: str) -> str:
    """Return a paragraph; one that is indented throughout is code, as in docstrings."""
    if all(line.startswith("    ") for line in text.splitlines() if line.strip()):
        return f"<pre><code>{html.escape(textwrap.dedent(text))}</code></pre>"
    return f"<p>{html.escape(text)}</p>"


def _facts(document: Document) -> str:
    facts = {
        "Address": document.url,
        "Published": document.published,
        "Updated": document.updated,
    }
    rows = "".join(
        f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    return f"<table>{rows}</table>"
