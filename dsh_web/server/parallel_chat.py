"""`POST /v1beta/chat/completions`: Parallel's answers, in the shape of chat completions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from dsh_web.server.answers import NOTHING_FOUND, pick_statements
from dsh_web.server.api_errors import JsonAnswer, read_json_object
from dsh_web.server.corpus import Index
from dsh_web.server.fields import Fields
from dsh_web.server.parallel_errors import ParallelError
from dsh_web.server.parallel_policy import SourcePolicy
from dsh_web.server.parallel_ranking import joint_ranking
from dsh_web.server.parallel_request import new_id
from dsh_web.server.sse import Event
from dsh_web.server.stream_answer import Events, StreamAnswer
from dsh_web.server.stream_style import StreamStyle
from dsh_web.server.structured import UnfillableSchemaError, fill_schema
from dsh_web.server.text_pieces import sonar_pieces

MODELS: Final = ("speed", "lite", "base", "core")
_ROLES: Final = ("system", "user", "assistant")
_SOURCES: Final = {"speed": 3, "lite": 3, "base": 5, "core": 8}


@dataclass(frozen=True)
class ChatRequest:
    """A valid request."""

    model: str
    question: str
    is_streamed: bool
    schema: Mapping[str, Any] | None


@dataclass(frozen=True)
class ChatAnswer:
    """An answer before it is put into one body or many chunks."""

    text: str
    basis: list[dict[str, Any]]
    interaction_id: str


class ParallelChatEndpoint:
    """Answers Parallel's chat completions from one index.

    Streams end with `[DONE]` unless their style says otherwise, since OpenAI's clients expect it.
    """

    def __init__(self, index: Index, style: StreamStyle) -> None:
        self._index = index
        self._style = style

    async def __call__(self, request: Request) -> Response:
        """Search and answer, whole or in chunks."""
        asked = _read_request(Fields(read_json_object(await request.body())))
        answer = self._answer(asked)
        if not asked.is_streamed:
            return JsonAnswer(_completion(answer))
        style = self._style.changed({"done": True, **request.state.stream_changes})
        return StreamAnswer(_chunks(answer, style), style)

    def _answer(self, asked: ChatRequest) -> ChatAnswer:
        most = _SOURCES[asked.model]
        documents = joint_ranking(self._index, (asked.question,), SourcePolicy(), most)
        cited = dict(enumerate(documents, start=1))
        statements = pick_statements(asked.question, cited)
        text = " ".join(statement.text for statement in statements) or NOTHING_FOUND
        if asked.schema is not None:
            texts = [statement.text for statement in statements]
            try:
                urls = [document.url for document in documents]
                text = fill_schema(asked.schema, texts, urls, NOTHING_FOUND)
            except UnfillableSchemaError as error:
                raise ParallelError(502, f"The answer does not fit the schema: {error}") from error
        excerpts: dict[int, list[str]] = {}
        for statement in statements:
            for id_ in statement.ids:
                excerpts.setdefault(id_, []).append(statement.text)
        basis = []
        if asked.model != "speed" and excerpts:
            citations = [
                {"url": cited[id_].url, "title": cited[id_].title, "excerpts": passages}
                for id_, passages in excerpts.items()
            ]
            reasoning = f"{len(citations)} pages of the corpus say so."
            entry = {"field": "output", "reasoning": reasoning, "confidence": "high"}
            basis.append({**entry, "citations": citations})
        return ChatAnswer(text, basis, new_id("trun"))


def _read_request(fields: Fields) -> ChatRequest:
    """Return the request; parameters that the service ignores are ignored.

    Raises:
        InvalidBodyError: 422, in the shape that this API has for it.
    """
    for name in ("model", "messages"):
        if not fields.has(name):
            fields.note(name, "Field required", "missing")
    model = fields.word("model", MODELS)
    questions = []
    for message in fields.objects("messages"):
        role = message.word("role", _ROLES)
        if not message.has("role"):
            message.note("role", "Field required", "missing")
        content = message.text("content")
        if not message.has("content"):
            message.note("content", "Field required", "missing")
        if role == "user" and content:
            questions.append(content)
    if not questions and not fields.problems:
        fields.note("messages", "a message of the user is required", "missing")
    is_streamed = fields.boolean("stream")
    schema = _schema(fields)
    fields.raise_invalid_body()
    # `speed` takes no schema and does not say so.
    wanted = schema if model != "speed" else None
    return ChatRequest(model or "", questions[-1], is_streamed, wanted)


def _schema(fields: Fields) -> Mapping[str, Any] | None:
    wanted = fields.object("response_format")
    kind = wanted.word("type", ("text", "json_object", "json_schema")) if wanted else None
    if wanted is None or kind != "json_schema":
        return None
    outer = wanted.object("json_schema")
    schema = outer.object("schema") if outer else None
    if schema is None:
        wanted.note("json_schema", "Field required", "missing")
        return None
    return schema.values


def _completion(answer: ChatAnswer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    return {
        "id": "",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "",
        "choices": [{"index": 0, "finish_reason": None, "message": message}],
        "usage": None,
        "interaction_id": answer.interaction_id,
        "basis": answer.basis,
    }


async def _chunks(answer: ChatAnswer, style: StreamStyle) -> Events:
    pieces = sonar_pieces(answer.text)
    broken = style.terminal not in (None, "completed")
    for position, piece in enumerate(pieces[: len(pieces) // 2] if broken else pieces):
        delta = {"role": "assistant", "content": piece} if position == 0 else {"content": piece}
        yield Event(_chunk(delta, [], answer.interaction_id), "message")
    if style.terminal in ("error", "error-event", "failed"):
        error = ParallelError(500).body()
        yield Event(error, "error", is_named=style.terminal == "error-event")
    elif not broken:
        yield Event(_chunk({}, answer.basis, answer.interaction_id), "message")


def _chunk(delta: dict[str, Any], basis: list[Any], interaction_id: str) -> dict[str, Any]:
    return {
        "id": "",
        "object": "chat.completion.chunk",
        "type": "chat.completion.chunk",
        "created": int(time.time()),
        "model": "",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        "basis": basis,
        "interaction_id": interaction_id,
    }
