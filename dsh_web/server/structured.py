"""Fills a JSON schema extractively: every value is copied out of what was found."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_ADDRESS_NAMES = re.compile(r"url|link|source|citation|reference|href", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


class UnfillableSchemaError(Exception):
    """The schema asks for something that cannot be copied out of sources."""


def fill_schema(
    schema: Mapping[str, Any], sentences: Sequence[str], urls: Sequence[str], otherwise: str
) -> str:
    """Return JSON text for an object schema of texts, numbers, booleans and lists of texts.

    A text takes the next unused sentence, or the first address if its name speaks of one; a list
    takes all of either; a number takes the first one that a sentence states; a boolean says whether
    anything was found; an `enum` takes its first word that a sentence holds.

    Args:
        schema: A JSON schema whose root is an object.
        sentences: What was found, best first; may be empty.
        urls: Where it was found.
        otherwise: What texts say if there is no sentence.

    Raises:
        UnfillableSchemaError: if a required property is of another type or there is nothing for it.
    """
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        raise UnfillableSchemaError("properties or required has the wrong type")
    filler = _Filler(sentences, urls, otherwise)
    values: dict[str, Any] = {}
    for name, part in properties.items():
        try:
            values[name] = filler.value(name, part)
        except UnfillableSchemaError:
            if name in required:
                raise
    missing = [name for name in required if name not in values]
    if missing:
        raise UnfillableSchemaError(f"no property describes {missing[0]!r:.80}")
    return json.dumps(values, ensure_ascii=False)


class _Filler:
    def __init__(self, sentences: Sequence[str], urls: Sequence[str], otherwise: str) -> None:
        self._sentences = sentences
        self._urls = urls
        self._otherwise = otherwise
        self._used = 0

    def value(self, name: str, schema: Any) -> Any:
        kind, is_nullable = _type(schema)
        try:
            if isinstance(schema, Mapping) and "enum" in schema:
                return self._word(schema["enum"])
            if kind == "array":
                if _type(schema.get("items", {"type": "string"}))[0] != "string":
                    raise UnfillableSchemaError(f"{name}: only lists of texts can be filled")
                return list(self._urls if _ADDRESS_NAMES.search(name) else self._sentences)
            if kind == "string":
                return self._text(name)
            if kind in {"number", "integer"}:
                return self._number(kind == "integer")
            if kind == "boolean":
                return bool(self._sentences)
        except UnfillableSchemaError:
            if is_nullable:
                return None
            raise
        raise UnfillableSchemaError(f"{name}: a value of type {kind!r:.80} cannot be filled")

    def _text(self, name: str) -> str:
        if _ADDRESS_NAMES.search(name):
            if not self._urls:
                raise UnfillableSchemaError(f"{name}: nothing was found that has an address")
            return self._urls[0]
        if not self._sentences:
            return self._otherwise
        # With more texts than sentences, the last ones repeat from the start.
        sentence = self._sentences[self._used % len(self._sentences)]
        self._used += 1
        return sentence

    def _number(self, is_whole: bool) -> float | int:
        for sentence in self._sentences:
            for match in _NUMBER.finditer(sentence):
                if "." not in match[0]:
                    return int(match[0])
                if not is_whole:
                    return float(match[0])
        raise UnfillableSchemaError("no sentence states a number")

    def _word(self, words: Any) -> str:
        text = " ".join(self._sentences).casefold()
        for word in words if isinstance(words, list) else []:
            if isinstance(word, str) and re.search(rf"\b{re.escape(word.casefold())}\b", text):
                return word
        raise UnfillableSchemaError("no sentence holds a word of the enum")


def _type(schema: Any) -> tuple[str | None, bool]:
    """Return `(type, whether null is allowed)`; the type is None if it is not a single one."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = kind if isinstance(kind, list) else [kind]
    others = [k for k in kinds if k != "null"]
    only = others[0] if len(others) == 1 and isinstance(others[0], str) else None
    return only, "null" in kinds
