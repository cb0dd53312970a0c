"""`POST /v1/agent` under all its spellings, and `GET /v1/models`."""

from __future__ import annotations

from collections import OrderedDict

from starlette.requests import Request

from dsh_web.server.agent_request import read_agent_request
from dsh_web.server.agent_response import response_object
from dsh_web.server.agent_run import Agent
from dsh_web.server.api_errors import ApiError, JsonAnswer, read_json
from dsh_web.server.catalogue import model_list
from dsh_web.server.gateway import MAX_BODY

AGENT_PATHS = ("/v1/agent", "/v1/responses", "/responses")

_MOST_REMEMBERED = 256


class AgentEndpoint:
    """Answers Agent requests and remembers which responses may be continued."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._completed: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, request: Request) -> JsonAnswer:
        """Run the request and answer with its response object."""
        body = await request.body()
        if len(body) > MAX_BODY:
            raise ApiError(413)
        asked = read_agent_request(read_json(body), self._completed)
        run = self._agent.run(asked)
        response_id = f"resp_{request.state.request_id}"
        if run.is_complete:
            self._completed[response_id] = None
            if len(self._completed) > _MOST_REMEMBERED:
                self._completed.popitem(last=False)
        return JsonAnswer(response_object(asked, run, response_id))


async def models_endpoint(request: Request) -> JsonAnswer:
    """Answer `GET /v1/models`."""
    return JsonAnswer(model_list())
