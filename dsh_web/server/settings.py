"""What one loopback server was asked to be; read by every endpoint, changed by none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dsh_web.server.stream_style import StreamStyle

SonarMode = Literal["retired", "legacy"]
MarkerStyle = Literal["preset", "number", "web"]
MultiQueryShape = Literal["flat", "grouped"]
UndatedPages = Literal["kept", "dropped"]


@dataclass(frozen=True)
class Settings:
    """Settings of one server; `LoopbackServer` documents each of them."""

    api_key: str | None = "loopback-key"
    corpus: Path | None = None
    replay: Path | None = None
    sonar: SonarMode = "retired"
    marker_style: MarkerStyle = "preset"
    multi_query: MultiQueryShape = "flat"
    annotations: bool = False
    undated: UndatedPages = "kept"
    latency: float = 0.0
    background_seconds: float = 0.2
    resume_seconds: float = 300.0
    stream: StreamStyle = field(default_factory=StreamStyle)

    def __post_init__(self) -> None:
        for value, name, words in (
            (self.sonar, "sonar", ("retired", "legacy")),
            (self.marker_style, "marker_style", ("preset", "number", "web")),
            (self.multi_query, "multi_query", ("flat", "grouped")),
            (self.undated, "undated", ("kept", "dropped")),
        ):
            if value not in words:
                raise ValueError(f"{name} is {value!r}; use one of {', '.join(words)}")
        for seconds, name in (
            (self.latency, "latency"),
            (self.background_seconds, "background_seconds"),
            (self.resume_seconds, "resume_seconds"),
        ):
            if not 0 <= seconds < float("inf"):
                raise ValueError(f"{name} is {seconds!r}; use seconds >= 0")
        if self.api_key == "":
            raise ValueError("api_key is empty; use None to accept any non-empty bearer")
        for folder, name in ((self.corpus, "corpus"), (self.replay, "replay")):
            if folder is not None and not folder.is_dir():
                raise NotADirectoryError(f"{name} is {str(folder)!r}, which is not a folder")
