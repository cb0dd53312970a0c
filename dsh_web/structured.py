"""Answers that have to follow a JSON schema: asking for them, and reading them back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from .errors import InvalidRequestError, ProviderError

__all__ = ["parse_answer", "schema_of"]


def schema_of(response_format: Any) -> dict[str, Any]:
    """Return the JSON schema that a caller asks for: a pydantic class, or the schema itself.

    Raises:
        InvalidRequestError: It is neither, its root is not an object, or (where `jsonschema` is
            installed) it is no JSON schema.
    """
    if isinstance(response_format, type) and issubclass(response_format, BaseModel):
        schema = _class_schema(response_format)
    elif isinstance(response_format, Mapping):
        schema = _plain_copy(response_format)
    else:
        raise InvalidRequestError(
            "response_format must be a pydantic class or a JSON schema, "
            f"not {type(response_format).__name__}"
        )
    if schema.get("type") != "object":
        raise InvalidRequestError('response_format must have "type": "object" at its root')
    _check_schema(schema)
    return schema


def parse_answer(content: str | None, schema: Mapping[str, Any]) -> Any:
    """Return the value that an answer holds.

    A leading `<think>` block and a code fence around the JSON are taken off.

    Raises:
        ProviderError: The answer is not JSON, or not of that schema; `content` keeps the text.
        InvalidRequestError: The schema turns out to be unusable; `content` keeps the text.
    """
    value = _json_in(content)
    fault = _schema_fault(value, schema, content)
    if fault is not None:
        raise mismatch(fault, content)
    return value


def mismatch(fault: str, content: str | None) -> ProviderError:
    """Return the error for an answer that is not what was asked for."""
    return ProviderError(
        f"the answer does not match response_format: {fault}", content=content, retryable=True
    )


def _class_schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema()
    except Exception as error:  # a field without a JSON form, an undefined forward reference
        raise InvalidRequestError(
            f"response_format: {model.__name__} has no JSON schema ({type(error).__name__})"
        ) from error
    # A class that refers to itself is only a reference at the root, which APIs refuse.
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    target = schema.get("$defs", {}).get(name)
    if target is not None:
        schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
    return _plain_copy(schema)


def _plain_copy(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy made of JSON values only, which no caller can change later."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(schema), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"response_format is no JSON: {error}") from error
    return copied


def _json_in(content: str | None) -> Any:
    if content is None or not content.strip():
        raise mismatch("it is empty", content)
    first_error: Exception | None = None
    for text in _candidates(content):
        try:
            return _text_only(json.loads(text, parse_constant=_refuse_constant))
        except (ValueError, RecursionError) as error:
            first_error = first_error or error
    raise mismatch(f"it is not JSON ({first_error})", content) from first_error


def _candidates(content: str) -> Iterator[str]:
    """Yield the texts that may be the JSON, the likeliest first."""
    text = content.removeprefix("\ufeff").strip()
    thought = re.match(r"<think>.*?</think>", text, flags=re.DOTALL)
    if thought is not None:
        yield _unfenced(text[thought.end() :])
        # The thoughts may themselves have talked of the tag.
        yield _unfenced(text.rpartition("</think>")[2])
    else:
        yield _unfenced(text)


def _unfenced(text: str) -> str:
    fenced = re.fullmatch(r"```[\w+-]*[ \t]*\r?\n(.*?)\r?\n?```", text.strip(), flags=re.DOTALL)
    return fenced.group(1) if fenced else text.strip()


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _text_only(value: Any) -> Any:
    """Return `value` with lone surrogates replaced: they are no text, and cannot be stored."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def _check_schema(schema: Mapping[str, Any]) -> None:
    try:
        import jsonschema
    except ImportError:
        return
    try:
        jsonschema.validators.validator_for(schema).check_schema(dict(schema))
    except jsonschema.exceptions.SchemaError as error:
        raise InvalidRequestError(
            f"response_format is no JSON schema: {error.message[:200]}"
        ) from error


def _schema_fault(value: Any, schema: Mapping[str, Any], content: str | None) -> str | None:
    try:
        import jsonschema
        import referencing
    except ImportError:
        return _coarse_fault(value, schema)
    # A registry of its own: the default one would fetch a remote $ref over the network.
    registry: Any = referencing.Registry()
    validator = jsonschema.validators.validator_for(schema)(schema, registry=registry)
    try:
        error = next(validator.iter_errors(value), None)
    except Exception as fault:  # a $ref to nowhere or to itself, a pattern that is no regex
        raise InvalidRequestError(
            f"response_format cannot be used to check an answer: {type(fault).__name__}: "
            f"{str(fault)[:200]}",
            content=content,
        ) from fault
    return None if error is None else f"at {error.json_path}: {error.message[:200]}"


def _coarse_fault(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Return what is wrong as far as can be told without the library: the root object only."""
    if not isinstance(value, dict):
        return "it is not a JSON object"
    required = schema.get("required")
    missing = [n for n in required if n not in value] if isinstance(required, list) else []
    return f"it lacks {', '.join(map(repr, missing))}" if missing else None
