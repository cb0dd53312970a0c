"""Answers that have to follow a JSON schema: asking for them, and reading them back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from .errors import InvalidRequestError, ProviderError

__all__ = ["parse_answer", "schema_of"]


def schema_of(response_format: Any) -> dict[str, Any]:
    """Return the JSON schema that a caller asks for: a pydantic class, or the schema itself.

    Raises:
        InvalidRequestError: It is neither, or its root is not an object.
    """
    if isinstance(response_format, type) and issubclass(response_format, BaseModel):
        return response_format.model_json_schema()
    if not isinstance(response_format, Mapping):
        raise InvalidRequestError(
            "response_format must be a pydantic class or a JSON schema, "
            f"not {type(response_format).__name__}"
        )
    if response_format.get("type") != "object":
        raise InvalidRequestError('response_format must have "type": "object" at its root')
    return dict(response_format)


def parse_answer(content: str | None, schema: Mapping[str, Any]) -> Any:
    """Return the value that an answer holds.

    A leading `<think>` block and a code fence around the JSON are taken off.

    Raises:
        ProviderError: The answer is not JSON, or not of that schema; `content` keeps the text.
    """
    text = re.sub(r"\A\s*<think>.*</think>", "", content or "", flags=re.DOTALL).strip()
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", text, flags=re.DOTALL)
    try:
        value = json.loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError) as error:
        raise mismatch(f"it is not JSON ({error})", content) from error
    fault = _schema_fault(value, schema)
    if fault is not None:
        raise mismatch(fault, content)
    return value


def mismatch(fault: str, content: str | None) -> ProviderError:
    """Return the error for an answer that is not what was asked for."""
    return ProviderError(
        f"the answer does not match response_format: {fault}", content=content, retryable=True
    )


def _schema_fault(value: Any, schema: Mapping[str, Any]) -> str | None:
    try:
        import jsonschema
    except ImportError:
        # Without the library only what every root object shares can be checked.
        if not isinstance(value, dict):
            return "it is not a JSON object"
        missing = [name for name in schema.get("required", ()) if name not in value]
        return f"it lacks {', '.join(map(repr, missing))}" if missing else None
    try:
        error = next(jsonschema.validators.validator_for(schema)(schema).iter_errors(value), None)
    except jsonschema.exceptions.SchemaError as fault:
        raise InvalidRequestError(f"response_format is no JSON schema: {fault.message}") from fault
    return None if error is None else f"at {error.json_path}: {error.message[:200]}"
