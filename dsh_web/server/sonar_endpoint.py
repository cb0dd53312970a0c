"""The Sonar (chat completions) paths: retired as on the live service, or as they were before."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dsh_web.server.api_errors import ApiError, JsonAnswer, read_json_object
from dsh_web.server.corpus import Index
from dsh_web.server.fields import Fields
from dsh_web.server.sonar_answer import answer_sonar
from dsh_web.server.sonar_request import read_sonar_request
from dsh_web.server.sonar_stream import stream_sonar
from dsh_web.server.stream_answer import StreamAnswer
from dsh_web.server.stream_style import Ping, StreamStyle

SONAR_PATHS = ("/chat/completions", "/v1/chat/completions", "/v1/sonar")
ASYNC_SONAR_PATHS = ("/async/chat/completions", "/v1/async/sonar")


async def retired_endpoint(request: Request) -> JsonAnswer:
    """Answer with the error that the live service gives since 27 September 2026."""
    raise ApiError(
        403,
        "Chat completions are not available for this API key. Use the Agent API (POST /v1/agent)"
        " instead.",
        kind="chat_completions_not_available",
    )


class SonarEndpoint:
    """Answers chat completions from one index."""

    def __init__(self, index: Index, style: StreamStyle) -> None:
        self._index = index
        self._style = style

    async def __call__(self, request: Request) -> Response:
        """Search and answer with a chat completion, whole or in frames."""
        asked = read_sonar_request(Fields(read_json_object(await request.body())))
        answer = answer_sonar(self._index, asked)
        if not asked.is_streamed:
            return JsonAnswer(answer.completion())
        style = self._style.changed(request.state.stream_changes)
        ping: Ping = "none" if asked.is_concise else "first"
        return StreamAnswer(stream_sonar(answer, style), style, line_end="crlf", ping=ping)
