"""A reader of server-sent events for tests, written from the HTML standard."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import httpx

QUESTION = "Where do tidal turbines stand, and how long is the lagoon wall?"


@dataclass
class Seen:
    """Everything in a stream, in order."""

    raw: bytes
    datas: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return [json.loads(data) for data in self.datas if data != "[DONE]"]

    @property
    def types(self) -> list[str]:
        return [str(payload.get("type")) for payload in self.payloads]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [payload for payload in self.payloads if payload.get("type") == kind]

    @property
    def text(self) -> str:
        return "".join(p["delta"] for p in self.of("response.output_text.delta"))


def read(raw: bytes) -> Seen:
    seen = Seen(raw)
    text = raw.decode("utf-8").removeprefix("\ufeff")
    data: list[str] = []
    name = ""
    for line in re.split(r"\r\n|\r|\n", text):
        if not line:
            if data:
                seen.datas.append("\n".join(data))
                seen.names.append(name)
            data, name = [], ""
        elif line.startswith(":"):
            seen.comments.append(line[1:].removeprefix(" "))
        else:
            kind, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if kind == "data":
                data.append(value)
            elif kind == "event":
                name = value
    return seen


def agent(client: httpx.Client, fault: str = "", **body: Any) -> Seen:
    headers = {"x-loopback-fault": fault} if fault else {}
    body = {"preset": "fast", "input": QUESTION, "stream": True, **body}
    answer = client.post("/v1/agent", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    return read(answer.content)


def sonar(client: httpx.Client, fault: str = "", **body: Any) -> Seen:
    headers = {"x-loopback-fault": fault} if fault else {}
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": "sonar", "messages": messages, "stream": True, **body}
    answer = client.post("/v1/sonar", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return read(answer.content)
