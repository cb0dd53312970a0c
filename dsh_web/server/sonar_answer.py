"""Writes the chat completion that answers a Sonar request, in the shape of 2026."""

from __future__ import annotations

import time
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsh_web.server.agent_run import FROM_MEMORY, UNFILLABLE
from dsh_web.server.answers import NOTHING_FOUND, pick_statements, write_answer
from dsh_web.server.api_errors import ApiError
from dsh_web.server.corpus import Document, Index
from dsh_web.server.excerpts import cut_to_tokens, token_count
from dsh_web.server.searching import Source, search
from dsh_web.server.sonar_request import SonarRequest
from dsh_web.server.structured import UnfillableSchemaError, fill_schema

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


@dataclass(frozen=True)
class SonarAnswer:
    """An answer before it is put into the shape of one body or of many frames."""

    request: SonarRequest
    text: str
    finish_reason: str
    sources: tuple[Source, ...]

    def head(self) -> dict[str, Any]:
        """Return the keys that say which answer this is; each call makes a new id."""
        return {
            "id": str(uuid.uuid4()),
            "model": self.request.model,
            "created": int(time.time()),
        }

    def found(self) -> dict[str, Any]:
        """Return the keys that name the sources."""
        return {
            "citations": [source.document.url for source in self.sources],
            "search_results": [_search_result(source) for source in self.sources],
        }

    def extras(self) -> dict[str, Any]:
        """Return the keys that are there only on request."""
        extras: dict[str, Any] = {}
        if self.request.wants_images:
            # There are no pictures in the corpus.
            extras["images"] = []
        if self.request.wants_related_questions:
            documents = [source.document for source in self.sources]
            extras["related_questions"] = _related_questions(documents)
        return extras

    def completion(self) -> dict[str, Any]:
        """Return the whole answer as one body."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self.text},
            "delta": {"role": "assistant", "content": ""},
            "finish_reason": self.finish_reason,
        }
        return {
            **self.head(),
            "usage": usage(self.request, self.text),
            **self.found(),
            "object": "chat.completion",
            "choices": [choice],
            **self.extras(),
        }


def answer_sonar(index: Index, asked: SonarRequest) -> SonarAnswer:
    """Search and write the answer.

    Raises:
        ApiError: 502 if the answer cannot follow the schema that was asked for.
    """
    sources = search(index, asked.question, asked.options) if asked.wants_search else []
    cited = {number: source.document for number, source in enumerate(sources, 1)}
    statements = pick_statements(asked.question, cited)
    text = write_answer(statements, "number").text if asked.wants_search else FROM_MEMORY
    if asked.schema is not None:
        try:
            text = fill_schema(
                _fillable(asked.schema),
                [statement.text for statement in statements],
                [source.document.url for source in sources],
                NOTHING_FOUND if asked.wants_search else FROM_MEMORY,
            )
        except UnfillableSchemaError as error:
            message = f"The answer does not fit the schema: {error}"
            raise ApiError(502, message, kind=UNFILLABLE) from error
    whole = text
    if asked.max_tokens is not None:
        text = cut_to_tokens(text, asked.max_tokens)
    return SonarAnswer(asked, text, "stop" if text == whole else "length", tuple(sources))


def usage(asked: SonarRequest, text: str, *, is_final: bool = True) -> dict[str, Any]:
    """Return the usage object for what was written so far; all costs are 0 until the end."""
    written = token_count(text)
    result: dict[str, Any] = {
        "prompt_tokens": asked.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": asked.prompt_tokens + written,
        "search_context_size": asked.context_size,
    }
    if not is_final:
        result["cost"] = {"input_tokens_cost": 0, "output_tokens_cost": 0, "total_cost": 0}
        return result
    input_price, output_price = _TOKEN_PRICES[asked.model]
    cost = {
        "input_tokens_cost": round(asked.prompt_tokens * input_price / 1e6, 5),
        "output_tokens_cost": round(written * output_price / 1e6, 5),
    }
    if asked.model == "sonar-deep-research":
        result["num_search_queries"] = int(asked.wants_search)
        cost["search_queries_cost"] = result["num_search_queries"] * _DEEP_SEARCH_FEE
    else:
        fees = _REQUEST_FEES if asked.model == "sonar" else _PRO_REQUEST_FEES
        cost["request_cost"] = fees[asked.context_size]
    cost["total_cost"] = round(sum(cost.values()), 5)
    result["cost"] = cost
    return result


def _fillable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if schema.get("type") != "object":
        raise UnfillableSchemaError("only a JSON schema with an object at its root can be filled")
    return schema


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
