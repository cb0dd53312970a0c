"""Error answers in the service's two JSON shapes, and the JSON encoding that every answer uses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

# HTTP status -> (error type, message) for errors that need nothing else said.
_DEFAULTS: dict[int, tuple[str, str]] = {
    400: ("invalid_request", "invalid request"),
    401: ("invalid_api_key", "Invalid API key provided."),
    402: ("insufficient_quota", "There is no credit left on this account."),
    403: ("forbidden", "This key may not do that."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not answer that method."),
    413: ("payload_too_large", "The request body is larger than 32 MiB."),
    424: ("external_connector_error", "An external connector could not be reached."),
    429: ("request_rate_limit_exceeded", "Too many requests; please try again later."),
    500: ("internal_error", "Something went wrong on the server."),
    502: ("bad_gateway", "The upstream service gave no usable answer."),
    503: ("service_unavailable", "The service is not available right now."),
    504: ("gateway_timeout", "The upstream service took too long."),
}


class JsonAnswer(Response):
    """JSON in UTF-8; a lone surrogate, which UTF-8 cannot carry, is sent as a question mark."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as compact JSON."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


class ApiError(Exception):
    """Ends a request with `{"error": {message, type, code, param?}}`."""

    def __init__(
        self,
        status: int,
        message: str | None = None,
        *,
        kind: str | None = None,
        param: str | None = None,
    ) -> None:
        default_type, default_message = default_error(status)
        self.status = status
        self.message = default_message if message is None else message
        self.type = default_type if kind is None else kind
        self.param = param
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        error: dict[str, Any] = {
            "message": self.message,
            "type": self.type,
            "code": self.status,
        }
        if self.param is not None:
            error["param"] = self.param
        return {"error": error}

    def answer(self) -> JsonAnswer:
        """Return the HTTP answer."""
        return JsonAnswer(self.body(), self.status)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one field of a request body."""

    loc: tuple[str | int, ...]
    """Path of the field inside the body."""
    message: str
    type: str

    @property
    def param(self) -> str:
        """The path as text, such as `tools[0].max_results`."""
        return join_path(self.loc)


class InvalidBodyError(Exception):
    """Ends a request with HTTP 422 and `{"detail": [{loc, msg, type}]}`."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.param}: {p.message}" for p in self.problems))

    def answer(self) -> JsonAnswer:
        """Return the HTTP answer."""
        detail = [
            {"loc": ["body", *p.loc], "msg": p.message, "type": p.type} for p in self.problems
        ]
        return JsonAnswer({"detail": detail}, 422)


def default_error(status: int) -> tuple[str, str]:
    """Return the error type and message that go with a status when nothing else is known."""
    fallback = ("internal_error", "Something went wrong.") if status >= 500 else _DEFAULTS[400]
    return _DEFAULTS.get(status, fallback)


def join_path(path: Sequence[str | int]) -> str:
    """Write a field's path as text: names joined by dots, positions in brackets."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def read_json(body: bytes) -> Any:
    """Return the JSON value of a request body.

    Raises:
        ApiError: 400 if the bytes are not JSON (NaN and Infinity are not).
    """
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"invalid request body: {_brief(error)}") from error


def read_json_object(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a request body.

    Raises:
        ApiError: 400 if it is not JSON.
        InvalidBodyError: if it is JSON but no object.
    """
    value = read_json(body)
    if not isinstance(value, dict):
        raise InvalidBodyError([Problem((), "Input should be a valid dictionary", "dict_type")])
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _brief(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
