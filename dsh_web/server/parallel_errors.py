"""Error answers in Parallel's JSON shape, and which addresses are Parallel's."""

from __future__ import annotations

import uuid
from typing import Any, Final

from dsh_web.server.api_errors import JsonAnswer, default_error
from dsh_web.server.fields import Fields

SEARCH_PATH: Final = "/v1/search"
EXTRACT_PATH: Final = "/v1/extract"
CHAT_PATH: Final = "/v1beta/chat/completions"
PARALLEL_PATHS: Final = (SEARCH_PATH, EXTRACT_PATH, CHAT_PATH)

_MESSAGES: Final = {
    401: "Unauthorized: invalid or missing credentials",
    402: "Not enough available credit",
    403: "Forbidden",
    404: "Not found",
    422: "Request validation error",
    429: "Rate limit exceeded",
}


class ParallelError(Exception):
    """Ends a request with `{"type": "error", "error": {ref_id, message, detail}}`."""

    def __init__(
        self,
        status: int,
        message: str | None = None,
        *,
        detail: dict[str, Any] | None = None,
        reference: str | None = None,
    ) -> None:
        self.status = status
        self.message = message or _MESSAGES.get(status) or default_error(status)[1]
        self.detail = detail
        self.reference = reference or str(uuid.uuid4())
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        error: dict[str, Any] = {"ref_id": self.reference, "message": self.message}
        if self.detail is not None:
            error["detail"] = self.detail
        return {"type": "error", "error": error}

    def answer(self) -> JsonAnswer:
        """Return the HTTP answer."""
        return JsonAnswer(self.body(), self.status)


def refuse_problems(fields: Fields, reference: str) -> None:
    """Raise HTTP 422 with the first problem, if there is any.

    Raises:
        ParallelError: With the field in `detail`.
    """
    if fields.problems:
        first = fields.problems[0]
        raise ParallelError(
            422,
            f"Request validation error: {first.param}: {first.message}",
            detail={
                "field": first.param,
                "problems": [problem.param for problem in fields.problems],
            },
            reference=reference,
        )


def note_unknown(fields: Fields, known: tuple[str, ...]) -> None:
    """Note every field that this object does not take."""
    for name in fields.values:
        if name not in known:
            fields.note(name, "Extra inputs are not permitted", "extra_forbidden")
