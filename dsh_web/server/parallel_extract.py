"""`POST /v1/extract`: the text of given pages of the corpus, in an order of the server's own."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request

from dsh_web.server.api_errors import JsonAnswer
from dsh_web.server.corpus import Document
from dsh_web.server.fields import Fields
from dsh_web.server.parallel_errors import note_unknown, refuse_problems
from dsh_web.server.parallel_ranking import Ranked, excerpts_of, within_budget
from dsh_web.server.parallel_request import Wanted, new_id, read_body, read_wanted, warning

MOST_URLS: Final = 20
_FIELDS: Final = (
    "urls",
    "objective",
    "search_queries",
    "max_chars_total",
    "session_id",
    "client_model",
    "advanced_settings",
)
_SETTINGS: Final = ("fetch_policy", "excerpt_settings", "full_content")
_CHARS: Final = 1_600


class ParallelExtractEndpoint:
    """Answers `POST /v1/extract`.

    Args:
        find_page: Returns the document at an address, or None.
    """

    def __init__(self, find_page: Callable[[str], Document | None]) -> None:
        self._find_page = find_page

    async def __call__(self, request: Request) -> JsonAnswer:
        """Answer with a result or an error for each different address, shuffled."""
        extract_id = new_id("extract")
        fields = Fields(read_body(await request.body(), extract_id))
        note_unknown(fields, _FIELDS)
        urls = fields.texts("urls", most_items=MOST_URLS, least=1)
        if not urls and not fields.problems:
            fields.note("urls", "at least one url is required", "missing")
        settings = fields.object("advanced_settings")
        if settings is not None:
            note_unknown(settings, _SETTINGS)
        wanted = read_wanted(fields, settings)
        wants_whole, whole_chars = _full_content(settings)
        refuse_problems(fields, extract_id)

        found: list[Ranked] = []
        errors = []
        # The service promises no order; this one is never the caller's, and always the same.
        for url in sorted(dict.fromkeys(urls), key=lambda text: zlib.crc32(text.encode())):
            document = self._find_page(url)
            if document is None:
                errors.append(_error(url))
            else:
                found.append(Ranked(document, _excerpts(document, wanted)))
        results = [
            _result(page, wants_whole, whole_chars)
            for page in within_budget(found, wanted.chars_total)
        ]
        told = None
        if not wanted.texts:
            told = [warning("warning", "without an objective, excerpts are the whole page")]
        return JsonAnswer(
            {
                "extract_id": extract_id,
                "session_id": wanted.session_id,
                "results": results,
                "errors": errors,
                "warnings": told,
                "usage": [{"name": "sku_extract_excerpts", "count": len(results)}],
            }
        )


def _full_content(settings: Fields | None) -> tuple[bool, int | None]:
    value = settings.values.get("full_content") if settings else None
    if settings is None or value is None or isinstance(value, bool):
        return bool(value), None
    inner = settings.object("full_content")
    if inner is None:
        return False, None
    note_unknown(inner, ("max_chars_per_result",))
    return True, inner.integer("max_chars_per_result", least=1)


def _excerpts(document: Document, wanted: Wanted) -> tuple[str, ...]:
    if not wanted.texts:
        return (document.text,)
    return excerpts_of(document, wanted.texts, wanted.chars_per_result or _CHARS)


def _result(page: Ranked, wants_whole: bool, whole_chars: int | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "url": page.document.url,
        "title": page.document.title,
        "publish_date": page.document.published,
        "excerpts": list(page.excerpts),
    }
    if wants_whole:
        result["full_content"] = page.document.text[:whole_chars]
    return result


def _error(url: str) -> dict[str, Any]:
    return {
        "url": url,
        "error_type": "fetch_error",
        "http_status_code": 404,
        "content": "the page is not in the corpus of this server",
    }
