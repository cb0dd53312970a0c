"""Async Sonar: chat completions that are asked for now and read later."""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dsh_web.server.api_errors import ApiError, JsonAnswer, read_json_object
from dsh_web.server.corpus import Index
from dsh_web.server.fields import Fields
from dsh_web.server.sonar_answer import answer_sonar
from dsh_web.server.sonar_request import SonarRequest, read_sonar_request

MOST_JOBS = 256

# The part of a job's time that it waits before it starts.
_CREATED_SHARE = 0.3


class SonarJob:
    """One job; its answer is known from the start and told when its time has passed."""

    def __init__(self, index: Index, asked: SonarRequest, seconds: float) -> None:
        self.id = str(uuid.uuid4())
        self._model = asked.model
        self._seconds = seconds
        self._begun = time.monotonic()
        self._created_at = time.time()
        self._response: dict[str, Any] | None = None
        self._error: str | None = None
        try:
            self._response = answer_sonar(index, asked).completion()
        except ApiError as error:
            self._error = error.message

    def entry(self) -> dict[str, Any]:
        """Return the job as the list of jobs shows it."""
        passed = time.monotonic() - self._begun
        is_over = passed >= self._seconds
        has_started = is_over or passed >= self._seconds * _CREATED_SHARE
        ended = "COMPLETED" if self._error is None else "FAILED"
        ended_at = int(self._created_at + self._seconds)
        return {
            "id": self.id,
            "model": self._model,
            "created_at": int(self._created_at),
            "started_at": (
                int(self._created_at + self._seconds * _CREATED_SHARE) if has_started else None
            ),
            "completed_at": ended_at if is_over and self._error is None else None,
            "failed_at": ended_at if is_over and self._error is not None else None,
            "status": ended if is_over else "IN_PROGRESS" if has_started else "CREATED",
        }

    def whole(self) -> dict[str, Any]:
        """Return the job with its answer or error, once it is over."""
        entry = self.entry()
        is_over = entry["status"] in {"COMPLETED", "FAILED"}
        return {
            **entry,
            "error_message": self._error if is_over else None,
            "response": self._response if is_over else None,
        }


class SonarJobs:
    """Takes jobs and keeps the newest `MOST_JOBS` of them."""

    def __init__(self, index: Index, seconds: float) -> None:
        self._index = index
        self._seconds = seconds
        self._jobs: OrderedDict[str, SonarJob] = OrderedDict()
        self._by_key: dict[str, str] = {}

    async def create(self, request: Request) -> Response:
        """Answer `POST`; a repeated idempotency key gives the job that it gave before."""
        fields = Fields(read_json_object(await request.body()))
        key = fields.text("idempotency_key")
        inner = fields.object("request")
        if inner is None and not fields.problems:
            fields.note("request", "Field required", "missing")
        fields.raise_invalid_body()
        assert inner is not None
        asked = read_sonar_request(inner)
        if inner.boolean("stream"):
            raise ApiError(400, "An async request cannot be streamed.", param="request.stream")
        earlier = self._jobs.get(self._by_key.get(key, "")) if key is not None else None
        if earlier is not None:
            return JsonAnswer(earlier.whole())
        job = SonarJob(self._index, asked, self._seconds)
        self._jobs[job.id] = job
        if key is not None:
            self._by_key[key] = job.id
        if len(self._jobs) > MOST_JOBS:
            self._jobs.popitem(last=False)
            self._by_key = {k: id_ for k, id_ in self._by_key.items() if id_ in self._jobs}
        return JsonAnswer(job.whole())

    async def list(self, request: Request) -> Response:
        """Answer `GET` with all jobs, the newest first."""
        entries = [job.entry() for job in reversed(self._jobs.values())]
        return JsonAnswer({"requests": entries, "next_token": None})

    async def retrieve(self, request: Request) -> Response:
        """Answer `GET .../{id}`."""
        job = self._jobs.get(request.path_params["id"])
        if job is None:
            raise ApiError(404, "The request was not found.")
        return JsonAnswer(job.whole())
