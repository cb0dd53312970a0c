"""`POST /v1/agent` and what can be asked about a run afterwards, under all their spellings."""

from __future__ import annotations

import math
import re
from typing import cast, get_args

from starlette.requests import Request
from starlette.responses import Response

from dsh_web.server.agent_events import run_events
from dsh_web.server.agent_request import AgentRequest, read_agent_request
from dsh_web.server.agent_response import closing, opening
from dsh_web.server.agent_run import UNFILLABLE, Agent, AgentRun, Outcome
from dsh_web.server.agent_stream import stream_run
from dsh_web.server.api_errors import ApiError, JsonAnswer, read_json
from dsh_web.server.catalogue import model_list
from dsh_web.server.connections import SCOPE_KEY, Connection
from dsh_web.server.gateway import MAX_BODY
from dsh_web.server.settings import Settings
from dsh_web.server.stored_runs import RunStore, StoredRun
from dsh_web.server.stream_answer import StreamAnswer
from dsh_web.server.stream_style import StreamStyle

AGENT_PATHS = ("/v1/agent", "/v1/responses", "/responses")

_RESPONSE_ID = re.compile(r"resp_[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class AgentEndpoint:
    """Answers Agent requests and remembers their runs."""

    def __init__(self, agent: Agent, settings: Settings) -> None:
        self._agent = agent
        self._settings = settings
        self._runs = RunStore()

    async def create(self, request: Request) -> Response:
        """Run the request; answer with its events, or its object, queued or finished."""
        body = await request.body()
        if len(body) > MAX_BODY:
            raise ApiError(413)
        asked = read_agent_request(read_json(body), self._runs.may_be_continued)
        style = self._settings.stream.changed(request.state.stream_changes)
        run = self._agent.run(asked)
        if style.terminal in get_args(Outcome):
            run.end_as(cast(Outcome, style.terminal))
        stored = self._store(asked, run, f"resp_{request.state.request_id}")
        if asked.get("stream", False):
            usage_wanted = asked.get("stream_options", {}).get("include_usage") is not False
            return _stream(request, stored, style, include_usage=usage_wanted)
        if run.error is not None and run.error["code"] == UNFILLABLE and stored.phase == "over":
            raise ApiError(502, run.error["message"], kind=UNFILLABLE)
        return JsonAnswer(stored.snapshot())

    async def retrieve(self, request: Request) -> Response:
        """Answer `GET .../{id}` with the response object as it is now."""
        run = self._visible(request)
        if request.query_params.get("stream", "false").lower() in {"true", "1"}:
            return self._resume(request, run)
        if request.query_params.get("format", "default") not in {"default", "short"}:
            raise ApiError(
                400,
                "format must be one of: default, short",
                kind="invalid_parameter",
                param="format",
            )
        return JsonAnswer(run.snapshot())

    def _resume(self, request: Request, run: StoredRun) -> Response:
        text = request.query_params.get("starting_after", "")
        if not (text.isascii() and text.isdigit() and len(text) < 17 and int(text) < 2**53):
            message = "starting_after must be a whole number from 0 to 2^53-1 with stream=true"
            raise ApiError(400, message, kind="invalid_parameter", param="starting_after")
        if not run.is_background or run.over_for() > self._settings.resume_seconds:
            raise ApiError(400, "the stream cursor has expired", param="starting_after")
        style = self._settings.stream.changed(request.state.stream_changes)
        return _stream(request, run, style, after=int(text))

    async def cancel(self, request: Request) -> Response:
        """Answer `POST .../{id}/cancel`."""
        response_id = _response_id(request)
        run = self._runs.find(response_id)
        if run is None or not run.cancel():
            # The service does not tell an unknown run from a finished one either.
            raise ApiError(400, "the response is already terminal")
        return JsonAnswer({"response_id": response_id, "status": "cancelling"})

    async def files(self, request: Request) -> Response:
        """Answer `GET .../{id}/files` with the files that a run shared."""
        run = self._visible(request)
        made_at = int(run.snapshot()["created_at"])
        entries = [file.entry(made_at) for file in run.files()]
        return JsonAnswer({"object": "list", "data": entries})

    async def file_content(self, request: Request) -> Response:
        """Answer `GET .../{id}/files/{file_id}/content` with the bytes of one file."""
        run = self._visible(request)
        for file in run.files():
            if file.id == request.path_params["file_id"]:
                return Response(file.content, media_type="application/octet-stream")
        raise ApiError(404)

    def _store(self, asked: AgentRequest, run: AgentRun, response_id: str) -> StoredRun:
        is_background = asked.get("background", False)
        seconds = self._settings.background_seconds if is_background else 0.0
        begun = opening(asked, response_id, "queued" if is_background else "in_progress")
        ended = closing(begun, asked, run, math.floor(begun["created_at"] + seconds))
        stored = StoredRun(begun, ended, run.files, seconds=seconds, fetched=run.fetched)
        self._runs.add(stored)
        return stored

    def _visible(self, request: Request) -> StoredRun:
        run = self._runs.find(_response_id(request))
        if run is None:
            raise ApiError(404, "The response was not found.")
        return run


async def models_endpoint(request: Request) -> JsonAnswer:
    """Answer `GET /v1/models`."""
    return JsonAnswer(model_list())


def _stream(
    request: Request,
    run: StoredRun,
    style: StreamStyle,
    *,
    after: int = -1,
    include_usage: bool = True,
) -> StreamAnswer:
    events = run_events(
        run.opening,
        run.closing,
        fetched=run.fetched,
        include_usage=include_usage,
        terminal=style.terminal,
    )
    connection: Connection = request.scope[SCOPE_KEY]
    return StreamAnswer(stream_run(run, events, style, connection, after=after), style)


def _response_id(request: Request) -> str:
    response_id = str(request.path_params["id"])
    if not _RESPONSE_ID.fullmatch(response_id):
        raise ApiError(400, "invalid response id")
    return response_id
