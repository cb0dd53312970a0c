"""Pages for people: what this server is, whether it is up, and the documents of its corpus."""

from __future__ import annotations

import html
import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dsh_web.server.api_errors import ApiError, JsonAnswer
from dsh_web.server.corpus import Index
from dsh_web.server.settings import Settings

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>{head}</head>
<body>
{body}
</body>
</html>
"""


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
            "about": "A local stand-in for Perplexity's HTTP API that searches its own corpus.",
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
        paragraphs = re.split(r"\n\s*\n", document.text)
        body = f"<h1>{html.escape(document.title)}</h1>\n" + "\n".join(
            f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs if paragraph.strip()
        )
        head = f'<link rel="canonical" href="{html.escape(document.url)}">'
        page = _PAGE.format(title=html.escape(document.title), head=head, body=body)
        return HTMLResponse(page.encode("utf-8", "replace"))
