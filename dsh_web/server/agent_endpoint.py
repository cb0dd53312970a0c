"""`POST /v1/agent` and what can be asked about a run afterwards, under all their spellings."""

from __future__ import annotations

import math
import re

from starlette.requests import Request
from starlette.responses import Response

from dsh_web.server.agent_request import AgentRequest, read_agent_request
from dsh_web.server.agent_response import closing, opening
from dsh_web.server.agent_run import UNFILLABLE, Agent, AgentRun
from dsh_web.server.api_errors import ApiError, JsonAnswer, read_json
from dsh_web.server.catalogue import model_list
from dsh_web.server.gateway import MAX_BODY
from dsh_web.server.stored_runs import RunStore, StoredRun

AGENT_PATHS = ("/v1/agent", "/v1/responses", "/responses")

_RESPONSE_ID = re.compile(r"resp_[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class AgentEndpoint:
    """Answers Agent requests and remembers their runs."""

    def __init__(self, agent: Agent, background_seconds: float) -> None:
        self._agent = agent
        self._background_seconds = background_seconds
        self._runs = RunStore()

    async def create(self, request: Request) -> Response:
        """Run the request; answer with its response object, queued or finished."""
        body = await request.body()
        if len(body) > MAX_BODY:
            raise ApiError(413)
        asked = read_agent_request(read_json(body), self._runs.may_be_continued)
        if asked.get("stream", False):
            raise ApiError(400, "stream: not served by the loopback server yet", param="stream")
        run = self._agent.run(asked)
        stored = self._store(asked, run, f"resp_{request.state.request_id}")
        if run.error is not None and run.error["code"] == UNFILLABLE and stored.phase == "over":
            raise ApiError(502, run.error["message"], kind=UNFILLABLE)
        return JsonAnswer(stored.snapshot())

    async def retrieve(self, request: Request) -> Response:
        """Answer `GET .../{id}` with the response object as it is now."""
        run = self._visible(request)
        if request.query_params.get("format", "default") not in {"default", "short"}:
            raise ApiError(
                400,
                "format must be one of: default, short",
                kind="invalid_parameter",
                param="format",
            )
        return JsonAnswer(run.snapshot())

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
        seconds = self._background_seconds if is_background else 0.0
        begun = opening(asked, response_id, "queued" if is_background else "in_progress")
        ended = closing(begun, asked, run, math.floor(begun["created_at"] + seconds))
        stored = StoredRun(begun, ended, run.files, seconds=seconds)
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


def _response_id(request: Request) -> str:
    response_id = str(request.path_params["id"])
    if not _RESPONSE_ID.fullmatch(response_id):
        raise ApiError(400, "invalid response id")
    return response_id
