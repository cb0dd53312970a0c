"""Reads and checks the body of a Sonar request. Lenient: unknown fields are ignored."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from dsh_web.server.api_errors import ApiError, read_json_object
from dsh_web.server.excerpts import token_count
from dsh_web.server.fields import Fields
from dsh_web.server.filters import read_filters
from dsh_web.server.searching import CONTEXT_BUDGETS, CONTEXT_SIZES, SearchOptions

MODELS = ("sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research")
_ROLES = ("system", "user", "assistant", "tool")
_MOST_TOKENS = 128_000


@dataclass(frozen=True)
class SonarRequest:
    """A valid request."""

    model: str
    question: str
    prompt_tokens: int
    context_size: str
    options: SearchOptions
    max_tokens: int | None
    wants_search: bool
    wants_related_questions: bool


def read_sonar_request(body: bytes) -> SonarRequest:
    """Read and check a request body.

    Raises:
        ApiError: 400 for bad JSON, an unknown model, messages in a wrong order, or unusable
            filters. InvalidBodyError: for missing fields, wrong types and values out of range.
    """
    values = read_json_object(body)
    fields = Fields(values)
    for name in ("model", "messages"):
        if not fields.has(name):
            fields.note(name, "Field required", "missing")
    model = fields.text("model") or ""
    messages = [_read_message(message) for message in fields.objects("messages")]
    max_tokens = fields.integer("max_tokens", least=1, most=_MOST_TOKENS)
    fields.number("temperature", least=0, most=2)
    fields.number("top_p", least=0, most=1)
    is_streamed = fields.boolean("stream")
    wants_search = not fields.boolean("disable_search")
    wants_related = fields.boolean("return_related_questions")
    options = fields.object("web_search_options")
    size = (options.word("search_context_size", CONTEXT_SIZES) if options else None) or "low"
    filters = read_filters(fields, fields.raise_invalid_body)
    if model not in MODELS:
        raise ApiError(
            400,
            f"Invalid model '{model[:100]}'. The models are {', '.join(MODELS)}.",
            kind="invalid_model",
        )
    _check_order([role for role, _ in messages])
    if is_streamed:
        raise ApiError(400, "stream: the loopback server does not serve streaming", param="stream")
    per_page, total = CONTEXT_BUDGETS[size]
    return SonarRequest(
        model=model,
        question=messages[-1][1],
        prompt_tokens=sum(token_count(text) for _, text in messages),
        context_size=size,
        options=SearchOptions(5 if size == "low" else 10, per_page // 4, total, filters),
        max_tokens=max_tokens,
        wants_search=wants_search,
        wants_related_questions=wants_related,
    )


def _read_message(message: Fields) -> tuple[str, str]:
    role = message.word("role", _ROLES)
    if not message.has("role"):
        message.note("role", "Field required", "missing")
    content = message.values.get("content")
    if content is None or isinstance(content, str):
        return role or "", content or ""
    parts = message.objects("content")
    texts = [part.text("text") or "" for part in parts if part.values.get("type") == "text"]
    return role or "", "\n".join(texts)


def _check_order(roles: list[str]) -> None:
    turns = roles[:]
    while turns and turns[0] == "system":
        turns.pop(0)
    if not turns or turns[-1] not in {"user", "tool"}:
        raise ApiError(400, "Last message must have role `user` or `tool`.", kind="invalid_message")
    askers = {"user", "tool"}
    for before, after in itertools.pairwise(turns):
        if (before in askers) == (after in askers):
            raise ApiError(
                400,
                "After the optional system message(s), user or tool message(s) should"
                " alternate with assistant message(s).",
                kind="invalid_message",
            )
