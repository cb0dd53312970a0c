"""`POST /v1/search`: Parallel's ranked pages with excerpts, over the same corpus."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request

from dsh_web.server.api_errors import JsonAnswer
from dsh_web.server.corpus import Index
from dsh_web.server.fields import Fields
from dsh_web.server.parallel_errors import note_unknown, refuse_problems
from dsh_web.server.parallel_policy import read_policy
from dsh_web.server.parallel_ranking import (
    CHARS_PER_RESULT,
    Ranked,
    excerpts_of,
    joint_ranking,
    within_budget,
)
from dsh_web.server.parallel_request import new_id, read_body, read_wanted, warning
from dsh_web.server.settings import UndatedPages

MODES: Final = ("turbo", "fast", "basic", "advanced")
MOST_RESULTS: Final = 20
DEFAULT_RESULTS: Final = 10
_FIELDS: Final = (
    "search_queries",
    "objective",
    "mode",
    "max_chars_total",
    "client_model",
    "session_id",
    "advanced_settings",
)
_SETTINGS: Final = (
    "max_results",
    "location",
    "source_policy",
    "fetch_policy",
    "excerpt_settings",
)
LOCATIONS: Final = frozenset(
    [
        "at",
        "au",
        "be",
        "br",
        "ca",
        "ch",
        "cn",
        "de",
        "dk",
        "es",
        "fi",
        "fr",
        "gb",
        "hk",
        "ie",
        "in",
        "it",
        "jp",
        "kr",
        "mx",
        "nl",
        "no",
        "nz",
        "pl",
        "pt",
        "se",
        "sg",
        "tw",
        "us",
        "za",
    ]
)
"""A plausible subset: which codes the service knows is not documented."""


class ParallelSearchEndpoint:
    """Answers `POST /v1/search` from one index."""

    def __init__(self, index: Index, undated: UndatedPages) -> None:
        self._index = index
        self._undated: UndatedPages = undated

    async def __call__(self, request: Request) -> JsonAnswer:
        """Search and answer with one list over all queries."""
        search_id = new_id("search")
        fields = Fields(read_body(await request.body(), search_id))
        note_unknown(fields, _FIELDS)
        mode = fields.word("mode", MODES) or "advanced"
        settings = fields.object("advanced_settings")
        if settings is not None:
            note_unknown(settings, _SETTINGS)
        wanted = read_wanted(fields, settings)
        if not any(query.strip() for query in wanted.queries):
            fields.note("search_queries", "at least one query is required", "missing")
        policy = read_policy(settings, mode, self._undated)
        most = settings.integer("max_results", least=1) if settings else None
        location = settings.text("location") if settings else None
        refuse_problems(fields, search_id)

        warnings = []
        if wanted.dropped_queries:
            warnings.append(
                warning(
                    "input_validation_warning",
                    f"search_queries: {wanted.dropped_queries} beyond the first 5 were dropped",
                )
            )
        if most is not None and most > MOST_RESULTS:
            warnings.append(
                warning("input_validation_warning", f"max_results was lowered to {MOST_RESULTS}")
            )
        if location is not None and location.lower() not in LOCATIONS:
            warnings.append(
                warning("warning", "location is not supported and was ignored", location=location)
            )
        count = min(most or DEFAULT_RESULTS, MOST_RESULTS)
        budget = wanted.chars_per_result or CHARS_PER_RESULT[mode]
        found = [
            Ranked(document, excerpts_of(document, wanted.texts, budget))
            for document in joint_ranking(self._index, wanted.texts, policy, count)
        ]
        usage = [{"name": "sku_search", "count": 1}]
        if count > DEFAULT_RESULTS and len(found) > DEFAULT_RESULTS:
            extra = len(found) - DEFAULT_RESULTS
            usage.append({"name": "sku_search_additional_results", "count": extra})
        return JsonAnswer(
            {
                "search_id": search_id,
                "session_id": wanted.session_id,
                "results": [_result(page) for page in within_budget(found, wanted.chars_total)],
                "warnings": warnings or None,
                "usage": usage,
            }
        )


def _result(page: Ranked) -> dict[str, Any]:
    return {
        "url": page.document.url,
        "title": page.document.title,
        "publish_date": page.document.published,
        "excerpts": list(page.excerpts),
    }
