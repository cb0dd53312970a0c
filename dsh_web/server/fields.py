"""Reads typed fields out of a JSON object and collects what is wrong with them.

The same reader serves the endpoints that answer 422 with every problem at once and the one that
answers 400 with the first; see `raise_invalid_body` and `raise_invalid_parameter`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dsh_web.server.api_errors import ApiError, InvalidBodyError, Problem


class Fields:
    """Typed access to one JSON object; null counts as absent everywhere."""

    def __init__(
        self,
        values: Mapping[str, Any],
        path: Sequence[str | int] = (),
        problems: list[Problem] | None = None,
    ) -> None:
        self.values = values
        self.path = tuple(path)
        self.problems: list[Problem] = [] if problems is None else problems

    def note(self, name: str, message: str, kind: str, *more: str | int) -> None:
        """Record that a field (or, with `more`, something inside it) is wrong."""
        self.problems.append(Problem((*self.path, name, *more), message, kind))

    def has(self, name: str) -> bool:
        """True if the field is present and not null."""
        return self.values.get(name) is not None

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Reject the first field that is not in `known`, as strict JSON decoding does.

        Raises:
            ApiError: 400 with `param`.
        """
        for name in self.values:
            if name not in known:
                where = Problem((*self.path, name), "", "").param
                raise ApiError(
                    400,
                    f'invalid request body: json: unknown field "{name}"',
                    param=where,
                )

    def text(self, name: str, *, least: int = 0, most: int | None = None) -> str | None:
        """Return a text of `least` to `most` characters."""
        value = self.values.get(name)
        if value is None:
            return None
        problem = _text_problem(value, least, most)
        if problem is not None:
            self.note(name, *problem)
            return None
        return str(value)

    def boolean(self, name: str, default: bool = False) -> bool:
        """Return a boolean; numbers and words are not accepted for it."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.note(name, "Input should be a valid boolean", "bool_type")
            return default
        return value

    def integer(self, name: str, *, least: int, most: int | None = None) -> int | None:
        """Return a whole number in the range, both ends included."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.note(name, "Input should be a valid integer", "int_type")
        elif value < least:
            self.note(name, f"must be at least {least}", "greater_than_equal")
        elif most is not None and value > most:
            self.note(name, f"must be at most {most}", "less_than_equal")
        else:
            return value
        return None

    def number(self, name: str, *, least: float, most: float) -> float | None:
        """Return a number in the range, both ends included."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.note(name, "Input should be a valid number", "float_type")
        elif not math.isfinite(value) or not least <= value <= most:
            self.note(name, f"must be between {least:g} and {most:g}", "out_of_range")
        else:
            return value
        return None

    def word(self, name: str, words: Sequence[str]) -> str | None:
        """Return one of a fixed set of words."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or value not in words:
            self.note(name, f"must be one of: {', '.join(words)}", "enum")
            return None
        return value

    def texts(
        self, name: str, *, most_items: int, least: int = 0, most: int | None = None
    ) -> list[str]:
        """Return a list of texts; absent is an empty list."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.note(name, "Input should be a valid list", "list_type")
            return []
        if len(value) > most_items:
            self.note(name, f"List should have at most {most_items} items", "too_long")
            return []
        for position, item in enumerate(value):
            problem = _text_problem(item, least, most)
            if problem is not None:
                self.note(name, *problem, position)
        return [item for item in value if isinstance(item, str)]

    def objects(self, name: str, *, most_items: int | None = None) -> list[Fields]:
        """Return readers for a list of objects; they share this reader's problems."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.note(name, "Input should be a valid list", "list_type")
            return []
        if most_items is not None and len(value) > most_items:
            self.note(name, f"List should have at most {most_items} items", "too_long")
            return []
        readers = []
        for position, item in enumerate(value):
            if isinstance(item, dict):
                readers.append(Fields(item, (*self.path, name, position), self.problems))
            else:
                self.note(name, "Input should be an object", "dict_type", position)
        return readers

    def object(self, name: str) -> Fields | None:
        """Return a reader for a nested object; it shares this reader's problems."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.note(name, "Input should be an object", "dict_type")
            return None
        return Fields(value, (*self.path, name), self.problems)

    def raise_invalid_body(self) -> None:
        """Raise `InvalidBodyError` (HTTP 422) with everything that is wrong, if anything is."""
        if self.problems:
            raise InvalidBodyError(self.problems)

    def raise_invalid_parameter(self) -> None:
        """Raise `ApiError` (HTTP 400) with the first thing that is wrong, if anything is."""
        if self.problems:
            first = self.problems[0]
            place = Problem(first.loc[:2], "", "").param if first.loc[0] == "tools" else ""
            inside = Problem(first.loc[2:] if place else first.loc, "", "").param or "value"
            prefix = f"{place}: " if place else ""
            raise ApiError(
                400,
                f"{prefix}{inside} {first.message}",
                kind="invalid_parameter",
                param=first.param,
            )


def _text_problem(value: Any, least: int, most: int | None) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "Input should be a valid string", "string_type"
    if len(value.strip()) < least:
        return f"String should have at least {least} characters", "string_too_short"
    if most is not None and len(value) > most:
        return f"String should have at most {most} characters", "string_too_long"
    return None
