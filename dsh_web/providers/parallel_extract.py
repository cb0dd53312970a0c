"""`parallel-extract`: the text of given pages from Parallel's Extract API, `POST /v1/extract`.

Wire: https://docs.parallel.ai/api-reference/extract/extract (2026-11).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from ..addresses import looks_like_ipv4, refusal_of
from ..errors import BlockedUrlError, InvalidRequestError, WebError
from ..fetch_urls import read_page_url
from ..flow import Flow
from ..prices import parallel_extract_cost
from ..seam import Usage
from ..seam_extract import ExtractOutcome, WebExtractError, WebExtractRequest, WebExtractResult
from ..seam_page import WebPage
from ._parallel import ParallelProvider, passages_in, vendor_warnings
from ._parallel_fetching import fetch_policy_fault
from ._shape import Reader
from ._vendor import ApiKey, Body, is_positive_int, wrapped

__all__ = ["ParallelExtractProvider"]

MOST_URLS: Final = 20
"""Addresses that one request takes; more are sent in several."""
MOST_QUERIES: Final = 5
LONGEST_QUERY: Final = 200
LONGEST_OBJECTIVE: Final = 5000
_LOCAL_NAMES: Final = ("localhost", "local", "internal", "lan", "home.arpa")


class ParallelExtractProvider(ParallelProvider):
    """The whole text of pages, and the excerpts that fit an objective.

    `WebPage.text` is the page from its start, as Markdown; `excerpts` are what Parallel chose by
    `objective` and `queries`, empty where neither is given. Addresses that are invalid, hold
    credentials or name this machine or a private network are not sent; each is an error in its
    place.

    Args:
        fetch_policy: When pages are read anew instead of from Parallel's copy: `max_age_seconds`
            (600 or more), `timeout_seconds`, `disable_cache_fallback`. Default: Parallel's own,
            which may contact the site.
        max_chars_per_result: Cap in characters on the excerpts of one page.
        client_model: Name of the model that will read the pages; it tunes Parallel's defaults.
        session_id: Groups the calls of one task, at most 1000 characters.
        api_key, base_url, max_retries, extra_body: See `ParallelProvider`.
    """

    id: ClassVar[str] = "parallel-extract"
    path: ClassVar[str] = "/v1/extract"
    verb: ClassVar[str] = "extract"
    key_header: ClassVar[str | None] = "x-api-key"

    def __init__(
        self,
        *,
        api_key: ApiKey | None = None,
        base_url: str | None = None,
        fetch_policy: Mapping[str, Any] | None = None,
        max_chars_per_result: int | None = None,
        client_model: str | None = None,
        session_id: str | None = None,
        max_retries: int = 2,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        api_key = wrapped(api_key)
        super().__init__(
            api_key=api_key, base_url=base_url, max_retries=max_retries, extra_body=extra_body
        )
        self._fetch_policy = copy.deepcopy(dict(fetch_policy or {}))
        self.max_chars_per_result = max_chars_per_result
        self.client_model = client_model
        self.session_id = session_id

    @property
    def fetch_policy(self) -> dict[str, Any]:
        """A copy of the policy; empty: Parallel's own."""
        return copy.deepcopy(self._fetch_policy)

    def extract_flow(self, request: WebExtractRequest) -> Flow[WebExtractResult]:
        """Return the flow of one extraction; 20 addresses go into one request."""
        self._check(request)
        outcomes = []
        sendable = []
        for url in request.urls:
            fault = _fault_of(url)
            if fault is None:
                sendable.append(url)
            else:
                outcomes.append(ExtractOutcome(url=url, error=WebExtractError.of(fault)))
        bodies: list[Body] = []
        for start in range(0, len(sendable), MOST_URLS):
            batch = sendable[start : start + MOST_URLS]
            wire, key = yield from self._posted(self._extract_body(batch, request))
            body = yield from self._answered(wire, key)
            bodies.append(body)
            outcomes += self._outcomes(body, request)
        return self._extract_result(tuple(outcomes), bodies, len(sendable), request)

    def _settings_fault(self) -> str | None:
        if self.max_chars_per_result is not None and not is_positive_int(self.max_chars_per_result):
            return (
                "max_chars_per_result must be a whole number of 1 or more, not "
                f"{self.max_chars_per_result!r}"
            )
        return fetch_policy_fault(self._fetch_policy)

    def _check(self, request: WebExtractRequest) -> None:
        """Refuse what the API rejects or silently shortens, saying what to change."""
        if request.objective is not None and len(request.objective) > LONGEST_OBJECTIVE:
            raise InvalidRequestError(
                f"the objective has {len(request.objective)} characters, of which "
                f"{LONGEST_OBJECTIVE} are allowed: shorten it",
                provider=self.id,
            )
        if len(request.queries) > MOST_QUERIES:
            raise InvalidRequestError(
                f"{len(request.queries)} queries are too many: use {MOST_QUERIES} at most",
                provider=self.id,
            )
        if any(len(query) > LONGEST_QUERY for query in request.queries):
            raise InvalidRequestError(
                f"each query may have {LONGEST_QUERY} characters: shorten it, or say it as the "
                "objective",
                provider=self.id,
            )

    def _extract_body(self, urls: list[str], request: WebExtractRequest) -> dict[str, Any]:
        whole: Any = True
        if request.max_chars is not None:
            whole = {"max_chars_per_result": request.max_chars}
        settings: dict[str, Any] = {"full_content": whole}
        if self.max_chars_per_result is not None:
            settings["excerpt_settings"] = {"max_chars_per_result": self.max_chars_per_result}
        if self._fetch_policy:
            settings["fetch_policy"] = self.fetch_policy
        return {
            "urls": urls,
            "objective": request.objective,
            "search_queries": list(request.queries) or None,
            "client_model": self.client_model,
            "session_id": self.session_id,
            "advanced_settings": settings,
        }

    def _outcomes(self, body: Body, request: WebExtractRequest) -> Iterator[ExtractOutcome]:
        reader = Reader()
        results = list(reader.records(body.data, "results"))
        errors = list(reader.records(body.data, "errors"))
        is_empty = not results and not errors
        self.check_is_answer(body, reader, is_empty=is_empty)
        has_goal = bool(request.objective or request.queries)
        for entry in results:
            url = entry.get("url")
            if isinstance(url, str) and url.strip():
                yield _page_outcome(url, entry, request.max_chars, has_goal=has_goal)
        for entry in errors:
            url = entry.get("url")
            if isinstance(url, str) and url.strip():
                yield ExtractOutcome(url=url, error=_error_of(entry))

    def _extract_result(
        self,
        outcomes: tuple[ExtractOutcome, ...],
        bodies: list[Body],
        sent: int,
        request: WebExtractRequest,
    ) -> WebExtractResult:
        reader = Reader()
        warnings = [text for body in bodies for text in vendor_warnings(reader, body.data)]
        ids = [reader.text(body.data, "extract_id") or body.request_id for body in bodies]
        raw: Any = None
        if request.include_raw:
            raw = bodies[0].data if len(bodies) == 1 else [body.data for body in bodies]
        return WebExtractResult(
            outcomes=outcomes,
            provider=self.id,
            request_id=ids[0] if len(ids) == 1 else None,
            usage=Usage(cost_usd=parallel_extract_cost(sent), cost_is_estimate=True),
            warnings=tuple(dict.fromkeys(warnings)),
            raw=raw,
        )


def _fault_of(url: str) -> WebError | None:
    """Return why an address is not handed to anybody else, or None."""
    try:
        host = read_page_url(url).host
    except WebError as error:
        return error
    reason: str | None = None
    if ":" in host or looks_like_ipv4(host):
        reason = refusal_of(host)
    elif "." not in host or host.endswith(tuple(f".{name}" for name in _LOCAL_NAMES)):
        reason = "a name of this machine or of a private network"
    if reason is None:
        return None
    return BlockedUrlError(f"{host} is {reason}: it is not sent to Parallel")


def _page_outcome(
    url: str, entry: Mapping[str, Any], max_chars: int | None, *, has_goal: bool
) -> ExtractOutcome:
    excerpts = passages_in(entry.get("excerpts"))
    whole = entry.get("full_content")
    text = whole if isinstance(whole, str) and whole.strip() else "\n\n".join(excerpts)
    is_cut = max_chars is not None and len(text) >= max_chars
    title, day = entry.get("title"), entry.get("publish_date")
    page = WebPage(
        url=url,
        title=title if isinstance(title, str) and title.strip() else None,
        text=text if max_chars is None else text[:max_chars],
        truncated=is_cut,
        # Without a goal they repeat the whole page.
        excerpts=excerpts if has_goal else (),
        published_at=day if isinstance(day, str) else None,
    )
    return ExtractOutcome(url=url, page=page)


def _error_of(entry: Mapping[str, Any]) -> WebExtractError:
    kind, said, status = (entry.get(n) for n in ("error_type", "content", "http_status_code"))
    status = status if type(status) is int and 100 <= status <= 599 else None
    word = kind if isinstance(kind, str) and kind.strip() else "error"
    parts = [f"Parallel could not read the page: {word}"]
    if status is not None:
        parts.append(f"(HTTP {status})")
    if isinstance(said, str) and said.strip():
        parts.append(f"- {' '.join(said.split())[:200]}")
    retryable = status is not None and (status in (408, 425, 429) or status >= 500)
    return WebExtractError(message=" ".join(parts), status_code=status, retryable=retryable)
