"""The contract: what callers ask for, what they get, and what a provider must offer.

Everything here is immutable, round-trips through JSON (`model_dump(mode="json")`) and pickles. No
vendor's wire shape is known in this module; see `providers` for those and `runtime` for who runs
what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    Field,
    SerializationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from .domains import normalize_domains
from .errors import InvalidRequestError
from .flow import Flow
from .models import Frozen, RequestModel
from .seam_citations import Citation, Span
from .showing import SearchViews
from .structured import schema_of

__all__ = [
    "FilterSupport",
    "Usage",
    "WebFinance",
    "WebImage",
    "WebSearchProvider",
    "WebSearchRequest",
    "WebSearchResult",
    "WebSearchSource",
]


def _blank_is_absent(value: Any) -> Any:
    return None if value == "" or (isinstance(value, str) and value.isspace()) else value


OptionalText: TypeAlias = Annotated[str | None, BeforeValidator(_blank_is_absent)]
"""Text, or None where the provider sent nothing or only white space."""


def _day(value: Any) -> Any:
    """Accept a date, a datetime or ISO `YYYY-MM-DD`; anything else would be a guess."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value.strip())
    except (AttributeError, TypeError, ValueError):
        raise InvalidRequestError(
            f"{value!r} is not a date: give a datetime.date or text such as '2026-10-31'"
        ) from None


Day: TypeAlias = Annotated[date, BeforeValidator(_day)]
PositiveInt: TypeAlias = Annotated[int, Field(ge=1, strict=True)]
Recency: TypeAlias = Literal["hour", "day", "week", "month", "year"]
ContextSize: TypeAlias = Literal["low", "medium", "high"]
Mode: TypeAlias = Literal["web", "academic", "sec", "people", "finance"]


class WebSearchRequest(RequestModel):
    """One search: the query, how many sources at most, and the provider-neutral filters.

    Raises:
        InvalidRequestError: A field is blank, out of range or of the wrong type.
    """

    query: str
    """Non-blank text, sent to the provider as it is."""
    max_results: PositiveInt | None = None
    """Upper bound on `sources`, guaranteed by the seam; None: no bound."""

    recency: Recency | None = None
    """Only sources from the last hour, day, week, month or year."""
    published_after: Day | None = None
    """Only sources published on or after this day."""
    published_before: Day | None = None
    """Only sources published on or before this day."""
    updated_after: Day | None = None
    """Only sources last updated on or after this day."""
    updated_before: Day | None = None
    """Only sources last updated on or before this day."""
    include_domains: tuple[str, ...] = ()
    """Only these sites: `example.com` (with subdomains), `.gov`, `example.com/docs`."""
    exclude_domains: tuple[str, ...] = ()
    """None of these sites; same spelling as `include_domains`."""
    country: str | None = None
    """ISO 3166-1 alpha-2 code, for example `"NZ"`."""
    languages: tuple[str, ...] = ()
    """ISO 639-1 codes, for example `("en", "fr")`."""
    context_size: ContextSize | None = None
    """How much text the provider retrieves for its answer or its snippets."""
    mode: Mode | None = None
    """Which corpus; None means the provider's ordinary web search."""
    max_tokens_per_page: PositiveInt | None = None
    """Cap on the text extracted from one page, in the provider's tokens."""
    max_tokens: PositiveInt | None = None
    """Cap on the text extracted over all results, in the provider's tokens."""
    objective: str | None = None
    """What the search is for, in sentences: for a provider that takes it beside keywords."""
    search_queries: tuple[str, ...] = ()
    """Keyword queries to search with in the place of those that would be made from `query`."""

    on_unsupported: Literal["raise", "warn"] = "raise"
    """What happens to a filter that the provider cannot honour: an error, or a warning."""
    include_raw: bool = False
    """Keep the provider's body in `WebSearchResult.raw`."""
    response_format: dict[str, Any] | None = None
    """JSON schema (root type object) that the answer has to follow; see `parsed`. A pydantic class
    given here becomes its schema."""

    @field_validator("response_format", mode="before")
    @classmethod
    def _schema(cls, value: Any) -> dict[str, Any] | None:
        return None if value is None else schema_of(value)

    @field_validator("query")
    @classmethod
    def _query_is_not_blank(cls, query: str) -> str:
        if not query.strip():
            raise InvalidRequestError("query must be a non-empty string")
        return query

    @field_validator("objective")
    @classmethod
    def _objective_is_not_blank(cls, objective: str | None) -> str | None:
        if objective is not None and not objective.strip():
            raise InvalidRequestError("objective must be a non-empty string, or None")
        return objective

    @field_validator("search_queries", mode="before")
    @classmethod
    def _search_queries(cls, value: Any) -> tuple[str, ...]:
        queries = _as_tuple(value)
        if not all(isinstance(query, str) and query.strip() for query in queries):
            raise InvalidRequestError("each of search_queries must be a non-empty string")
        return tuple(dict.fromkeys(queries))

    @field_validator("include_domains", "exclude_domains", mode="before")
    @classmethod
    def _domains(cls, value: Any) -> tuple[str, ...]:
        return normalize_domains(_as_tuple(value))

    @field_validator("country", mode="before")
    @classmethod
    def _country(cls, value: Any) -> str | None:
        return None if value is None else _letters(value, "country").upper()

    @field_validator("languages", mode="before")
    @classmethod
    def _languages(cls, value: Any) -> tuple[str, ...]:
        return tuple(_letters(language, "language").lower() for language in _as_tuple(value))

    @model_validator(mode="after")
    def _days_are_in_order(self) -> WebSearchRequest:
        for name in ("published", "updated"):
            after, before = getattr(self, f"{name}_after"), getattr(self, f"{name}_before")
            if after and before and after > before:
                raise InvalidRequestError(
                    f"{name}_after ({after}) is later than {name}_before ({before}): swap them"
                )
        return self


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple | set | frozenset):
        raise InvalidRequestError(f"{value!r} is not a list of texts")
    return tuple(value)


def _letters(value: Any, what: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if len(text) != 2 or not (text.isascii() and text.isalpha()):
        raise InvalidRequestError(f"{value!r} is not a two-letter {what} code")
    return text


SourceOrigin: TypeAlias = Literal["result", "page", "link"]


class WebSearchSource(Frozen):
    """One page that a search found. Absent means the provider did not say; nothing is invented."""

    url: str
    """Always there; http or https for every built-in provider."""
    title: OptionalText = None
    snippet: OptionalText = None
    """The provider's text about or from the page: a sentence, or long Markdown."""
    excerpts: tuple[str, ...] = ()
    """The passages of the page that `snippet` joins with a blank line, for a provider that sends
    them one by one; empty: it does not."""
    published_at: OptionalText = None
    """The provider's own text, unparsed: often `YYYY-MM-DD`, sometimes `2 hours ago`."""
    updated_at: OptionalText = None
    """The provider's own text for the last change."""
    ids: tuple[int, ...] = ()
    """The provider's own numbers for this source, which its citation markers use."""
    origin: SourceOrigin | None = None
    """`result`: an entry of a result list; `page`: a page that the provider fetched; `link`: a
    bare address with no entry behind it. None: the provider does not tell them apart."""

    @property
    def label(self) -> str:
        """Text to show for the source: title, else host name, else the raw url. Never raises."""
        if self.title and any(char.isprintable() and char != " " for char in self.title):
            return self.title
        try:
            return urlsplit(self.url).hostname or self.url
        except ValueError:
            return self.url

    @property
    def text(self) -> str:
        """The passage that a document or node holds: the snippet; for a bare address, its label.

        A listed result without a snippet has no text: its title is not a passage of the page.
        """
        if self.snippet:
            return self.snippet
        is_bare = self.origin == "link" or (self.origin is None and not self.title)
        return self.label if is_bare else ""


class WebImage(Frozen):
    """A picture that came with a search."""

    url: str
    page_url: OptionalText = None
    """The page that shows it."""
    title: OptionalText = None
    width: int | None = None
    """Pixels."""
    height: int | None = None
    """Pixels."""


class WebFinance(Frozen):
    """One piece of market data: quotes, statements, holdings."""

    category: OptionalText = None
    """The provider's word for it, for example `quote` or `etf_holdings`."""
    content: str
    """Markdown or JSON text, as the provider sent it."""
    tickers: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    """Pages that it comes from."""


class Usage(Frozen):
    """What a call consumed, as far as the provider reports it; None is unknown, not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    """Reasoning tokens included."""
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    searches: int | None = None
    """Search calls that the provider made for this answer."""
    cost_usd: float | None = None
    """US dollars: the provider's own total, or an estimate."""
    cost_is_estimate: bool = False
    """True if `cost_usd` comes from a price table (`dsh_web.prices`), not from the provider."""

    @field_validator("cost_usd")
    @classmethod
    def _cost_is_finite(cls, cost: float | None) -> float | None:
        return cost if cost is not None and math.isfinite(cost) else None


def _readable_request(value: Any) -> Any:
    """Return a stored request, or None for one that this version cannot make sense of."""
    if not isinstance(value, Mapping):
        return value
    try:
        return WebSearchRequest(**{str(name): member for name, member in value.items()})
    except InvalidRequestError:
        # A filter of a later version: the result itself can still be read.
        return None


class WebSearchResult(SearchViews, Frozen):
    """The normalized outcome of one search, the same whichever provider ran it.

    `to_markdown`, `to_html`, `to_frame` and `to_bibtex` give it to people and to other tools;
    `save` writes a snapshot.
    """

    content: str | None = None
    """The generated answer with the provider's citation markers; None when there is none."""
    sources: tuple[WebSearchSource, ...] = ()
    """In the provider's order."""
    truncated: bool = False
    """True if the seam cut `sources` to the request's `max_results`."""
    citations: tuple[Citation, ...] = ()
    """One record per marker and source, in text order; those that point nowhere are among them.
    Resolved before `sources` was cut."""
    citation_contract: str | None = None
    """Name and version of the rules that `citations` was read by, for example
    `perplexity-agent/2026-10`; None: nothing was read."""
    answer_spans: tuple[Span, ...] = ()
    """Where each answer stands in `content`, if it joins the answers of several queries;
    `Citation.answer_index` counts them. Empty for one answer."""
    provider: str
    """Id of the provider that answered."""
    model: str | None = None
    request_id: str | None = None
    """The provider's id for this call: for its support desk and for logs."""
    finish_reason: str | None = None
    """`stop`, `length` (the answer was cut by a token limit), or the provider's own word."""
    usage: Usage | None = None
    related_questions: tuple[str, ...] = ()
    images: tuple[WebImage, ...] = ()
    finance: tuple[WebFinance, ...] = ()
    """Market data that the provider looked up."""
    parsed: Any = None
    """The answer as JSON value, where `response_format` asked for one."""
    cached: bool = False
    """True if this is a kept or shared result of an identical call: nothing was consumed for it."""
    warnings: tuple[str, ...] = ()
    """What did not go quite as asked: an approximated filter, a cut answer, skipped entries."""
    raw: Any = None
    """The provider's decoded body; only with `include_raw=True`."""
    request: Annotated[WebSearchRequest | None, BeforeValidator(_readable_request)] = None
    """What was asked; None where several queries were joined, or nobody knows."""

    @field_serializer("request")
    def _brief(
        self, request: WebSearchRequest | None, info: SerializationInfo
    ) -> dict[str, Any] | None:
        # Only what is set: stored results stay short, and readable by versions with fewer filters.
        return (
            None if request is None else request.model_dump(mode=info.mode, exclude_defaults=True)
        )


class FilterSupport(Frozen):
    """How well a provider honours one filter."""

    level: Literal["exact", "approximate"]
    note: str = ""
    """For `approximate`: what happens instead, in words that go into `warnings`."""


@runtime_checkable
class WebSearchProvider(Protocol):
    """What `WebRuntime.register_search_provider` needs; no base class is involved.

    Optional members, used when present: `label` (name in messages; default: the id),
    `supported_filters` (filter name to `FilterSupport`; default: none is supported) and
    `unavailable_reason()` (one line for people; default: a general sentence).
    """

    @property
    def id(self) -> str:
        """Stable, unique among the search providers of a runtime."""
        ...

    def available(self) -> bool:
        """Return whether a call could work: local and cheap, no network."""
        ...

    def search_flow(self, request: WebSearchRequest) -> Flow[WebSearchResult]:
        """Return a fresh flow that performs `request`; see `dsh_web.flow`."""
        ...


SupportedFilters: TypeAlias = Mapping[str, FilterSupport]
