"""Reads `tools` and `tool_choice` of an Agent request. Strict: unknown fields are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dsh_web.server.api_errors import ApiError
from dsh_web.server.catalogue import FAST_SEARCH_PRICE, SEARCH_PRICE
from dsh_web.server.fields import Fields
from dsh_web.server.filters import FILTER_FIELDS, read_filters
from dsh_web.server.searching import CONTEXT_BUDGETS, CONTEXT_SIZES, SearchOptions

_FIELDS: dict[str, tuple[str, ...]] = {
    "web_search": (
        *("type", "filters", "max_results", "max_tokens", "max_tokens_per_page"),
        *("search_context_size", "search_type", "user_location"),
    ),
    "image_search": ("type", "filters", "max_results"),
    "fetch_url": ("type", "max_urls", "total_budget_tokens"),
    "people_search": ("type",),
    "finance_search": ("type",),
    "sandbox": ("type",),
    "function": ("type", "name", "description", "parameters", "strict"),
    "mcp": (
        *(
            "type",
            "server_label",
            "server_url",
            "authorization",
            "headers",
            "allowed_tools",
        ),
        *("defer_loading", "require_approval"),
    ),
    "connector": (
        *("type", "id", "server_label", "server_description", "allowed_tools"),
        "require_approval",
    ),
}
_BUILT_IN = frozenset(
    {
        "web_search",
        "search_web",
        "people_search",
        "search_people",
        "fetch_url",
        "image_search",
    }
    | {"finance_search", "sandbox"}
)
_IMAGE_FORMATS = ("bmp", "gif", "jpeg", "png", "webp", "svg")
_LOCATION = ("latitude", "longitude", "country", "region", "city")
_SERVER_LABEL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_SERVERS = 16
# What a search inside a run returns if the tool does not say.
_DEFAULT_RESULTS = 5
_DEFAULT_CONTEXT = "low"


@dataclass(frozen=True)
class WebSearchTool:
    """A `web_search` tool as the request set it up, or as a preset brings it."""

    options: SearchOptions
    price: float
    """USD per call."""


@dataclass(frozen=True)
class Tools:
    """The tools of one request."""

    web_search: WebSearchTool | None = None
    fetch_urls: int = 0
    """How many pages may be fetched; 0 if there is no `fetch_url` tool."""
    functions: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    """The types that were listed."""
    echo: tuple[dict[str, Any], ...] = ()
    """What the response repeats about them."""


@dataclass(frozen=True)
class ToolChoice:
    """What the request says about using tools."""

    mode: str = "auto"
    """`none`, `auto`, `required`, or the type of a built-in tool."""
    function: str | None = None
    echo: Any = "auto"


def preset_web_search() -> WebSearchTool:
    """Return the search tool that presets bring; it is billed at the fast price."""
    per_page, total = CONTEXT_BUDGETS[_DEFAULT_CONTEXT]
    return WebSearchTool(SearchOptions(_DEFAULT_RESULTS, per_page, total), FAST_SEARCH_PRICE)


def read_tools(request: Fields) -> Tools:
    """Return the tools of a request.

    Raises:
        ApiError: 400, with a message that names the tool by its position.
    """
    web_search = None
    fetch_urls = servers = 0
    functions: list[str] = []
    echo: list[dict[str, Any]] = []
    for tool in request.objects("tools"):
        kind = tool.values.get("type")
        if not isinstance(kind, str) or kind not in _FIELDS:
            tool.note("type", f"must be one of: {', '.join(_FIELDS)}", "enum")
            tool.raise_invalid_parameter()
        assert isinstance(kind, str)
        tool.refuse_unknown(_FIELDS[kind])
        echoed: dict[str, Any] = {"type": kind}
        if kind == "web_search":
            web_search = _read_web_search(tool)
        elif kind == "fetch_url":
            urls = tool.integer("max_urls", least=1, most=10)
            tool.integer("total_budget_tokens", least=1, most=120_000)
            fetch_urls = urls or 10
        elif kind == "image_search":
            _check_image_search(tool)
        elif kind == "function":
            functions.append(_read_function(tool))
            echoed["name"] = functions[-1]
        elif kind in {"mcp", "connector"}:
            servers += 1
            _check_server(tool, kind)
        tool.raise_invalid_parameter()
        echo.append(echoed)
    if servers > _MOST_SERVERS:
        request.note("tools", f"may hold at most {_MOST_SERVERS} servers", "too_long")
    request.raise_invalid_parameter()
    kinds = frozenset(tool["type"] for tool in echo)
    return Tools(web_search, fetch_urls, tuple(functions), kinds, tuple(echo))


def read_tool_choice(request: Fields, tools: Tools) -> ToolChoice:
    """Return the tool choice of a request.

    Raises:
        ApiError: 400 if its form is unknown or it names a function that is not declared.
    """
    value = request.values.get("tool_choice")
    if value is None:
        return ToolChoice()
    if isinstance(value, str) and value in {"none", "auto", "required"}:
        return ToolChoice(value, None, value)
    choice = request.object("tool_choice") if isinstance(value, dict) else None
    if choice is not None:
        choice.refuse_unknown(("type", "name"))
        kind, name = choice.values.get("type"), choice.values.get("name")
        if isinstance(name, str) and kind in {None, "function"}:
            if name not in tools.functions:
                raise ApiError(
                    400,
                    f"tool_choice names {name!r:.80}, which no tool declares",
                    kind="invalid_parameter",
                    param="tool_choice",
                )
            return ToolChoice("function", name, value)
        if name is None and kind in {"web_search", "image_search", "required"}:
            return ToolChoice(str(kind), None, value)
    raise ApiError(
        400,
        'tool_choice must be "none", "auto", "required" or an object that names a tool',
        kind="invalid_parameter",
        param="tool_choice",
    )


def _read_web_search(tool: Fields) -> WebSearchTool:
    max_results = tool.integer("max_results", least=1, most=50)
    size = tool.word("search_context_size", CONTEXT_SIZES) or _DEFAULT_CONTEXT
    search_type = tool.word("search_type", ("web", "fast"))
    per_page, total = CONTEXT_BUDGETS[size]
    max_per_page = tool.integer("max_tokens_per_page", least=1, most=1_000_000)
    max_tokens = tool.integer("max_tokens", least=1, most=1_000_000)
    _check_location(tool)
    filters = tool.object("filters")
    if filters is not None:
        filters.refuse_unknown(FILTER_FIELDS)
    tool.raise_invalid_parameter()
    found = read_filters(filters or Fields({}), tool.raise_invalid_parameter)
    options = SearchOptions(
        max_results=max_results or _DEFAULT_RESULTS,
        max_tokens_per_page=max_per_page or per_page,
        max_tokens=max_tokens or total,
        filters=found,
    )
    price = FAST_SEARCH_PRICE if search_type == "fast" else SEARCH_PRICE
    return WebSearchTool(options, price)


def _check_location(tool: Fields) -> None:
    location = tool.object("user_location")
    if location is None:
        return
    location.refuse_unknown(_LOCATION)
    location.number("latitude", least=-90, most=90)
    location.number("longitude", least=-180, most=180)
    country = location.text("country")
    if country is not None and not (len(country) == 2 and country.isascii() and country.isalpha()):
        location.note("country", "must be a code of 2 letters", "string_pattern_mismatch")
    location.text("region")
    location.text("city")


def _check_image_search(tool: Fields) -> None:
    tool.integer("max_results", least=1, most=50)
    filters = tool.object("filters")
    if filters is None:
        return
    filters.refuse_unknown(("domain_filter", "format_filter", "safe_search"))
    filters.texts("domain_filter", most_items=20, most=253)
    filters.boolean("safe_search")
    for position, word in enumerate(filters.texts("format_filter", most_items=10)):
        if word not in _IMAGE_FORMATS:
            formats = ", ".join(_IMAGE_FORMATS)
            filters.note("format_filter", f"must be one of: {formats}", "enum", position)


def _read_function(tool: Fields) -> str:
    name = tool.text("name", least=1, most=64)
    tool.text("description")
    tool.object("parameters")
    tool.boolean("strict")
    if name is None and not tool.problems:
        tool.note("name", "is required", "missing")
    if name in _BUILT_IN:
        tool.note("name", f"must not be {name!r}, the name of a built-in tool", "reserved")
    return name or ""


def _check_server(tool: Fields, kind: str) -> None:
    label = tool.text("server_label")
    if label is None or not _SERVER_LABEL.fullmatch(label):
        tool.note("server_label", "must be 1 to 64 letters, digits, _ or -", "string_pattern")
    if kind == "mcp" and not str(tool.text("server_url")).startswith("https://"):
        tool.note("server_url", "must be an https address", "url")
    if kind == "connector" and tool.text("id", least=1) is None:
        tool.note("id", "is required", "missing")
