"""One Agent run: what its tools find, and the answer written from that."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dsh_web.server.agent_gathering import URL, Findings, Gatherer
from dsh_web.server.agent_request import AgentRequest
from dsh_web.server.answers import (
    NOTHING_FOUND,
    Answer,
    Marker,
    Statement,
    pick_statements,
    write_answer,
)
from dsh_web.server.billing import ToolUse
from dsh_web.server.catalogue import SANDBOX_PRICE
from dsh_web.server.corpus import Document
from dsh_web.server.excerpts import cut_to_tokens, token_count
from dsh_web.server.settings import MarkerStyle
from dsh_web.server.shared_files import answer_file, share_item, wants_file
from dsh_web.server.stored_runs import SharedFile
from dsh_web.server.structured import UnfillableSchemaError, fill_schema

FROM_MEMORY = "Answering from memory: no search was made for this, so there is nothing to cite."
NOT_FETCHED = "The page at this address could not be fetched."
UNFILLABLE = "upstream_structured_output_failed"

# With no more room than this, reasoning uses all of it up and no text is written.
_NO_TEXT_TOKENS = 16

Outcome = Literal["completed", "incomplete", "failed", "cancelled"]


@dataclass
class AgentRun:
    """What a run produced, in the terms of a response."""

    output: list[dict[str, Any]] = field(default_factory=list)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    files: list[SharedFile] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    """Addresses that were to be fetched."""
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    outcome: Outcome = "completed"
    error: dict[str, Any] | None = None
    """What went wrong with a failed run: code, message and type."""

    def fail(self, code: str, message: str) -> None:
        """End the run as failed."""
        self.outcome = "failed"
        self.error = {"code": code, "message": message, "type": code}

    def end_as(self, outcome: Outcome) -> None:
        """Let the run end in another way; all but `completed` come after half of the text."""
        if outcome == "completed":
            self.error = None
        elif outcome == "failed":
            self.fail("internal_error", "The run failed on the server.")
        elif outcome == "cancelled":
            self.error = {"code": "cancelled", "message": "cancelled", "type": "cancelled"}
        self.outcome = outcome
        if outcome == "completed":
            for item in self.output:
                if item["type"] == "message":
                    item["status"] = "completed"
            return
        self.output = [item for item in self.output if item["type"] != "share_file"]
        self.files = []
        for item in self.output:
            if item["type"] == "message":
                text = item["content"][0]["text"]
                half = text[: len(text) // 2]
                self.output_tokens = token_count(half)
                part = {"type": "output_text", "text": half, "annotations": []}
                item.update(status="incomplete", content=[part])


class Agent:
    """Runs requests with the tools of one index."""

    def __init__(self, gatherer: Gatherer, marker_style: MarkerStyle, annotations: bool) -> None:
        self._gatherer = gatherer
        self._marker_style = marker_style
        self._annotations = annotations

    def run(self, request: AgentRequest) -> AgentRun:
        """Carry out a request; the same request always gives the same run."""
        run = AgentRun()
        run.input_tokens = token_count(request.all_text)
        run.input_tokens += token_count(request.get("instructions", ""))
        cap = request.max_output_tokens
        if cap is not None and cap <= _NO_TEXT_TOKENS:
            run.output_tokens = run.reasoning_tokens = cap
            run.outcome = "incomplete"
            return run
        if request.tool_choice.function is not None and request.max_tool_calls != 0:
            run.output.append(_function_call(request))
            run.output_tokens = token_count(run.output[0]["arguments"])
            return run
        found = self._gatherer.gather(request)
        run.output += found.items
        run.tools = found.uses
        run.fetched = found.fetched
        run.input_tokens += sum(map(token_count, found.snippets))
        self._answer(request, run, found)
        return run

    def _answer(self, request: AgentRequest, run: AgentRun, found: Findings) -> None:
        statements = _statements(request.question, found)
        marker: Marker = "web" if found.only_fetched else self._marker(request)
        if not found.has_calls:
            answer = Answer(FROM_MEMORY)
        elif found.only_fetched and not found.cited:
            answer = Answer(NOT_FETCHED)
        else:
            answer = write_answer(statements, marker)
        if request.schema is not None:
            urls = list(dict.fromkeys(document.url for document in found.cited.values()))
            texts = [statement.text for statement in statements]
            otherwise = NOTHING_FOUND if found.has_calls else FROM_MEMORY
            try:
                answer = Answer(fill_schema(request.schema, texts, urls, otherwise))
            except UnfillableSchemaError as error:
                run.fail(UNFILLABLE, f"The answer does not fit the schema: {error}")
                return
        self._finish(request, run, answer, found.cited)

    def _marker(self, request: AgentRequest) -> Marker:
        if self._marker_style != "preset":
            return self._marker_style
        return "number" if request.preset is not None and request.preset.name == "fast" else "web"

    def _finish(
        self,
        request: AgentRequest,
        run: AgentRun,
        answer: Answer,
        cited: Mapping[int, Document],
    ) -> None:
        cap = request.max_output_tokens
        text = answer.text if cap is None else cut_to_tokens(answer.text, cap)
        run.outcome = "completed" if text == answer.text else "incomplete"
        run.output_tokens = token_count(text)
        kept = Answer(text, tuple(c for c in answer.citations if c[1] <= len(text)))
        if run.outcome == "completed" and wants_file(request):
            file = answer_file(request.question, text, cited)
            run.files.append(file)
            run.output.append(share_item(file))
            run.tools["sandbox"] = ToolUse(1, SANDBOX_PRICE)
        part = {
            "type": "output_text",
            "text": text,
            "annotations": kept.annotations(cited) if self._annotations else [],
        }
        run.output.append(
            {
                "type": "message",
                "id": f"msg_{uuid.uuid4()}",
                "role": "assistant",
                "status": run.outcome,
                "content": [part],
            }
        )


def _statements(question: str, found: Findings) -> list[Statement]:
    # A question such as "summarise https://..." has no words of its own: any sentence will do.
    words = URL.sub(" ", question)
    if found.cited or not found.uncited:
        return pick_statements(words, found.cited)
    quoted = pick_statements(words, dict(enumerate(found.uncited)))
    return [Statement(statement.text, ()) for statement in quoted]


def _function_call(request: AgentRequest) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{uuid.uuid4()}",
        "call_id": f"call_{uuid.uuid4().hex[:24]}",
        "name": request.tool_choice.function,
        "arguments": json.dumps(_arguments(request)),
        "status": "completed",
    }


def _arguments(request: AgentRequest) -> dict[str, Any]:
    """Return the question under the name of each text parameter that the function requires."""
    for tool in request.get("tools", []):
        if tool.get("name") == request.tool_choice.function:
            schema = tool.get("parameters") or {}
            properties, required = schema.get("properties"), schema.get("required")
            if isinstance(properties, dict) and isinstance(required, list):
                return {name: request.question for name in required if _is_text(properties, name)}
    return {}


def _is_text(properties: Mapping[str, Any], name: Any) -> bool:
    schema = properties.get(name) if isinstance(name, str) else None
    return isinstance(schema, dict) and schema.get("type") == "string"
