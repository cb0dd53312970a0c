"""Puts the endpoints together: which address is answered by what."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dsh_web.server.agent_endpoint import AGENT_PATHS, AgentEndpoint, models_endpoint
from dsh_web.server.agent_gathering import Gatherer
from dsh_web.server.agent_run import Agent
from dsh_web.server.api_errors import ApiError, InvalidBodyError, read_json_object
from dsh_web.server.corpus import Document, Index
from dsh_web.server.pages import Pages
from dsh_web.server.parallel_chat import MODELS as CHAT_MODELS
from dsh_web.server.parallel_chat import ParallelChatEndpoint
from dsh_web.server.parallel_errors import CHAT_PATH, EXTRACT_PATH, SEARCH_PATH, ParallelError
from dsh_web.server.parallel_extract import ParallelExtractEndpoint
from dsh_web.server.parallel_search import ParallelSearchEndpoint
from dsh_web.server.replay import Recordings, ReplayEndpoint
from dsh_web.server.search_endpoint import SearchEndpoint
from dsh_web.server.settings import Settings
from dsh_web.server.sonar_endpoint import (
    ASYNC_SONAR_PATHS,
    SONAR_PATHS,
    SonarEndpoint,
    retired_endpoint,
)
from dsh_web.server.sonar_jobs import SonarJobs

_PAGE_PATH = "/pages/"

Handler = Callable[[Request], Awaitable[Response]]


def build_app(settings: Settings, index: Index, recordings: Recordings | None) -> Starlette:
    """Return the application without the gateway around it."""
    routes = _replay_routes(recordings) if recordings is not None else _api_routes(settings, index)
    routes.append(_route("/v1/models", models_endpoint, "GET"))
    pages = Pages(index, settings, [f"{', '.join(_methods(r))} {r.path}" for r in routes])
    routes += [
        Route("/", pages.home, methods=["GET"]),
        Route("/_health", pages.health, methods=["GET"]),
        Route(f"{_PAGE_PATH}{{id:int}}", pages.document, methods=["GET"]),
    ]
    handlers = {
        ApiError: _api_error,
        ParallelError: _parallel_error,
        InvalidBodyError: _invalid_body,
        HTTPException: _http_exception,
        Exception: _crash,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


def _api_routes(settings: Settings, index: Index) -> list[Route]:
    def find_page(url: str) -> Document | None:
        parts = urlsplit(url)
        number = parts.path.removeprefix(_PAGE_PATH)
        if parts.path.startswith(_PAGE_PATH) and number.isascii() and number.isdigit():
            found = index.by_id(int(number[:15]))
        else:
            found = index.by_url(url)
        return None if found is None else found.document

    chat = ParallelChatEndpoint(index, settings.stream)
    search = SearchEndpoint(index, settings.multi_query)
    gatherer = Gatherer(index, find_page)
    agent = AgentEndpoint(Agent(gatherer, settings.marker_style, settings.annotations), settings)
    routes = [
        _route("/search", search, "POST"),
        _route(SEARCH_PATH, ParallelSearchEndpoint(index, settings.undated), "POST"),
        _route(EXTRACT_PATH, ParallelExtractEndpoint(find_page), "POST"),
        _route(CHAT_PATH, chat, "POST"),
    ]
    for path in AGENT_PATHS:
        routes += [
            _route(path, agent.create, "POST"),
            _route(f"{path}/{{id}}", agent.retrieve, "GET"),
            _route(f"{path}/{{id}}/cancel", agent.cancel, "POST"),
            _route(f"{path}/{{id}}/files", agent.files, "GET"),
            _route(f"{path}/{{id}}/files/{{file_id}}/content", agent.file_content, "GET"),
        ]
    legacy = settings.sonar == "legacy"
    for route in _legacy_sonar_routes(settings, index, chat) if legacy else _retired_routes(chat):
        routes.append(route)
    return routes


def _shared(chat: Handler, other: Handler) -> Handler:
    """Return what answers chat completions at the address that both vendors have for them.

    The model tells them apart: no name of one is a name of the other.
    """

    async def answer(request: Request) -> Response:
        model = None
        with contextlib.suppress(ApiError, InvalidBodyError):
            model = read_json_object(await request.body()).get("model")
        return await (chat if model in CHAT_MODELS else other)(request)

    return answer


def _legacy_sonar_routes(settings: Settings, index: Index, chat: Handler) -> list[Route]:
    sonar = _shared(chat, SonarEndpoint(index, settings.stream))
    jobs = SonarJobs(index, settings.background_seconds)
    routes = [_route(path, sonar, "POST") for path in SONAR_PATHS]
    for path in ASYNC_SONAR_PATHS:
        routes += [
            _route(path, jobs.create, "POST"),
            _route(path, jobs.list, "GET"),
            _route(f"{path}/{{id}}", jobs.retrieve, "GET"),
        ]
    return routes


def _retired_routes(chat: Handler) -> list[Route]:
    paths = [*SONAR_PATHS, *ASYNC_SONAR_PATHS, *(f"{path}/{{id}}" for path in ASYNC_SONAR_PATHS)]
    answer = _shared(chat, retired_endpoint)
    return [_route(path, answer, "GET", "POST") for path in paths]


def _replay_routes(recordings: Recordings) -> list[Route]:
    paths = {"search": ("/search",), "agent": AGENT_PATHS, "sonar": SONAR_PATHS}
    return [
        _route(path, ReplayEndpoint(recordings, api), "POST")
        for api, spellings in paths.items()
        for path in spellings
    ]


def _route(path: str, answer: Handler, *methods: str) -> Route:
    # Starlette takes an object with __call__ for an ASGI application; a function is a request
    # handler.
    async def endpoint(request: Request) -> Response:
        return await answer(request)

    return Route(path, endpoint, methods=list(methods))


def _methods(route: Route) -> list[str]:
    return sorted((route.methods or set()) - {"HEAD"})


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.answer()


async def _parallel_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ParallelError)
    return error.answer()


async def _invalid_body(request: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidBodyError)
    return error.answer()


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = ApiError(error.status_code).answer()
    answer.headers.update(error.headers or {})
    return answer


async def _crash(request: Request, error: Exception) -> Response:
    return ApiError(500).answer()
