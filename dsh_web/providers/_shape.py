"""Reading JSON that cannot be trusted: known fields with known types, everything else dropped."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from pydantic_core import from_json

__all__ = ["Reader", "is_web_url", "parse_json", "web_url"]


def parse_json(body: bytes) -> Any:
    """Return the decoded JSON text.

    Tolerates a byte order mark, bytes that are not UTF-8 and lone surrogates, each of which
    becomes U+FFFD where it cannot be text.

    Raises:
        ValueError: It is not JSON; the message says where.
    """
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        fault = str(error)
    # The fast parser refuses three things that a lenient reader has to live with.
    try:
        text = body.decode("utf-8", "replace")
        return _without_surrogates(json.loads(text, parse_constant=_absent))
    except (ValueError, RecursionError):
        pass
    # Out here, so that the parser's error, which holds the whole text, is not its context.
    raise ValueError(fault)


def _absent(name: str) -> None:
    # NaN and Infinity are no JSON, and could not be written back as any.
    return None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(member) for member in value]
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value


# The shape of nearly every address; taking it apart properly costs ten times as much.
_PLAIN_URL = re.compile(r"https?://[a-zA-Z0-9][a-zA-Z0-9.\-]*(?:[/?#]|$)")


def web_url(value: Any) -> str | None:
    """Return an absolute http or https address without the white space around it, else None."""
    if not isinstance(value, str):
        return None
    if _PLAIN_URL.match(value) and not value[-1].isspace():
        return value
    url = value.strip()
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return None
    is_host = bool(host) and host.isprintable() and not any(char.isspace() for char in host)
    return url if parts.scheme in ("http", "https") and is_host else None


def is_web_url(value: Any) -> TypeGuard[str]:
    """Return whether `value` is an absolute http or https address."""
    return web_url(value) is not None


class Reader:
    """Typed getters that drop what has the wrong type, and remember that they did.

    A missing field and a null are absent. `wrong` then tells an empty answer from nonsense.
    """

    def __init__(self) -> None:
        self.wrong: str | None = None
        """What was first found where another type was due, for example `results is not a list`."""

    def text(self, record: Mapping[str, Any], name: str) -> str | None:
        """Return a text field."""
        value: str | None = self._typed(record, name, str, "text")
        return value

    def number(self, record: Mapping[str, Any], name: str) -> float | None:
        """Return a finite number as it is."""
        value = self._typed(record, name, (int, float), "a number")
        if value is None or isinstance(value, bool) or not _is_finite(value):
            return None
        return float(value)

    def integer(self, record: Mapping[str, Any], name: str) -> int | None:
        """Return a whole number."""
        value = self.number(record, name)
        return int(value) if value is not None and value.is_integer() else None

    def record(self, record: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return an object field; empty when absent."""
        return self._typed(record, name, dict, "an object") or {}

    def items(self, record: Mapping[str, Any], name: str) -> list[Any]:
        """Return a list field; empty when absent."""
        return self._typed(record, name, list, "a list") or []

    def records(self, record: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
        """Return the members of a list field that are objects."""
        for member in self.items(record, name):
            if isinstance(member, dict):
                yield member
            else:
                self._note(f"{name} holds a member that is not an object")

    def texts(self, record: Mapping[str, Any], name: str) -> tuple[str, ...]:
        """Return the members of a list field that are text."""
        members = self.items(record, name)
        return tuple(member for member in members if isinstance(member, str) and member.strip())

    def _typed(self, record: Mapping[str, Any], name: str, kind: Any, what: str) -> Any:
        value = record.get(name)
        if value is None or isinstance(value, kind):
            return value
        self._note(f"{name} is not {what}")
        return None

    def _note(self, fault: str) -> None:
        self.wrong = self.wrong or fault


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of float
        return False
