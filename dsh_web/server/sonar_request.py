"""Reads and checks the body of a Sonar request. Lenient: unknown fields are ignored."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsh_web.server.api_errors import ApiError
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
    is_streamed: bool
    is_concise: bool
    wants_search: bool
    wants_related_questions: bool
    wants_images: bool
    schema: Mapping[str, Any] | None
    """The JSON schema that the answer is to follow; an empty one if it cannot be followed."""


def read_sonar_request(fields: Fields) -> SonarRequest:
    """Read and check a request.

    Args:
        fields: Its fields; what is wrong with them is reported under their path.

    Raises:
        ApiError: 400 for bad JSON, an unknown model, messages in a wrong order, or unusable
            filters. InvalidBodyError: for missing fields, wrong types and values out of range.
    """
    for name in ("model", "messages"):
        if not fields.has(name):
            fields.note(name, "Field required", "missing")
    model = fields.text("model") or ""
    messages = [_read_message(message) for message in fields.objects("messages")]
    max_tokens = fields.integer("max_tokens", least=1, most=_MOST_TOKENS)
    fields.number("temperature", least=0, most=2)
    fields.number("top_p", least=0, most=1)
    is_streamed = fields.boolean("stream")
    is_concise = fields.word("stream_mode", ("full", "concise")) == "concise"
    wants_search = not fields.boolean("disable_search")
    wants_related = fields.boolean("return_related_questions")
    media = fields.object("media_response")
    overrides = media.object("overrides") if media else None
    wants_images = fields.boolean("return_images")
    wants_images |= overrides is not None and overrides.boolean("return_images")
    schema = _read_response_format(fields)
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
    per_page, total = CONTEXT_BUDGETS[size]
    return SonarRequest(
        model=model,
        question=messages[-1][1],
        prompt_tokens=sum(token_count(text) for _, text in messages),
        context_size=size,
        options=SearchOptions(5 if size == "low" else 10, per_page // 4, total, filters),
        max_tokens=max_tokens,
        is_streamed=is_streamed,
        is_concise=is_concise,
        wants_search=wants_search,
        wants_related_questions=wants_related,
        wants_images=wants_images,
        schema=schema,
    )


def _read_response_format(fields: Fields) -> Mapping[str, Any] | None:
    wanted = fields.object("response_format")
    kind = wanted.word("type", ("text", "json_schema", "regex")) if wanted else None
    if wanted is None or kind in {None, "text"}:
        return None
    if kind == "regex":
        return {}
    outer = wanted.object("json_schema")
    schema = outer.object("schema") if outer else None
    if schema is None:
        wanted.note("json_schema", "Field required", "missing")
    return schema.values if schema else None


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
