"""The Sonar (chat completions) paths: retired as on the live service, or as they were before."""

from __future__ import annotations

import time
import uuid
import zlib
from typing import Any

from starlette.requests import Request

from dsh_web.server.agent_run import FROM_MEMORY
from dsh_web.server.answers import Answer, pick_statements, write_answer
from dsh_web.server.api_errors import ApiError, JsonAnswer
from dsh_web.server.corpus import Document, Index
from dsh_web.server.excerpts import cut_to_tokens, token_count
from dsh_web.server.searching import Source, search
from dsh_web.server.sonar_request import SonarRequest, read_sonar_request

SONAR_PATHS = ("/chat/completions", "/v1/chat/completions", "/v1/sonar")
ASYNC_SONAR_PATHS = ("/async/chat/completions", "/v1/async/sonar")

# Model -> (USD per million tokens read, written).
_TOKEN_PRICES = {
    "sonar": (1.0, 1.0),
    "sonar-pro": (3.0, 15.0),
    "sonar-reasoning-pro": (2.0, 8.0),
    "sonar-deep-research": (2.0, 8.0),
}
# Context size -> USD per request; deep research is billed by search instead.
_REQUEST_FEES = {"low": 0.005, "medium": 0.008, "high": 0.012}
_PRO_REQUEST_FEES = {"low": 0.006, "medium": 0.01, "high": 0.014}
_DEEP_SEARCH_FEE = 0.005
_MOST_RELATED = 5


async def retired_endpoint(request: Request) -> JsonAnswer:
    """Answer with the error that the live service gives since 27 September 2026."""
    raise ApiError(
        403,
        "Chat completions are not available for this API key. Use the Agent API (POST /v1/agent)"
        " instead.",
        kind="chat_completions_not_available",
    )


class SonarEndpoint:
    """Answers chat completions from one index, in the shape of 2026."""

    def __init__(self, index: Index) -> None:
        self._index = index

    async def __call__(self, request: Request) -> JsonAnswer:
        """Search and answer with a chat completion."""
        asked = read_sonar_request(await request.body())
        sources = search(self._index, asked.question, asked.options) if asked.wants_search else []
        cited = {number: source.document for number, source in enumerate(sources, 1)}
        if asked.wants_search:
            answer = write_answer(pick_statements(asked.question, cited), "number")
        else:
            answer = Answer(FROM_MEMORY)
        text = answer.text
        if asked.max_tokens is not None:
            text = cut_to_tokens(text, asked.max_tokens)
        body: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "model": asked.model,
            "created": int(time.time()),
            "usage": _usage(asked, text),
            "citations": [source.document.url for source in sources],
            "search_results": [_search_result(source) for source in sources],
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "delta": {"role": "assistant", "content": ""},
                    "finish_reason": "stop" if text == answer.text else "length",
                }
            ],
        }
        if asked.wants_related_questions:
            body["related_questions"] = _related_questions(list(cited.values()))
        return JsonAnswer(body)


def _search_result(source: Source) -> dict[str, Any]:
    document = source.document
    result: dict[str, Any] = {"title": document.title, "url": document.url}
    result.update(snippet=source.snippet, source="web")
    # Unknown dates were left out in one capture and null in another; pages differ here too.
    sends_null = zlib.crc32(document.url.encode("utf-8", "replace")) % 2 == 0
    dates = {"date": document.published, "last_updated": document.updated}
    return result | {name: date for name, date in dates.items() if date is not None or sends_null}


def _related_questions(documents: list[Document]) -> list[str]:
    subjects = [document.title.partition(" — ")[0] for document in documents]
    return [f"What else is there to know about {subject}?" for subject in subjects][:_MOST_RELATED]


def _usage(asked: SonarRequest, text: str) -> dict[str, Any]:
    input_price, output_price = _TOKEN_PRICES[asked.model]
    written = token_count(text)
    cost = {
        "input_tokens_cost": round(asked.prompt_tokens * input_price / 1e6, 5),
        "output_tokens_cost": round(written * output_price / 1e6, 5),
    }
    usage: dict[str, Any] = {
        "prompt_tokens": asked.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": asked.prompt_tokens + written,
        "search_context_size": asked.context_size,
    }
    if asked.model == "sonar-deep-research":
        usage["num_search_queries"] = int(asked.wants_search)
        cost["search_queries_cost"] = usage["num_search_queries"] * _DEEP_SEARCH_FEE
    else:
        fees = _REQUEST_FEES if asked.model == "sonar" else _PRO_REQUEST_FEES
        cost["request_cost"] = fees[asked.context_size]
    cost["total_cost"] = round(sum(cost.values()), 5)
    usage["cost"] = cost
    return usage
