"""`fetch`: one page or several, read through the runtime and the built-in provider."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..calls import Mode, measured_call
from ..network_watch import Traffic
from ..outcome import Outcome
from ..stage import Stage, refuse_unknown

if TYPE_CHECKING:
    from dsh_web import WebFetchRequest, WebFetchResult, WebRuntime

INPUT = {"url", "urls", "dns", "routes", "limits", "env", "options"}
LIMITS = {
    "max_bytes": "max_response_bytes",
    "max_chars": "max_body_chars",
    "max_redirects": "max_redirects",
    "max_url_length": "max_url_length",
    "timeout_s": "timeout",
}
"""`limits` of a case to the provider's settings."""
MEBIBYTE = 2**20
PUBLIC = "93.184.216.34"
"""The address of every name in a case that says nothing of names."""


def run_fetch(stage: Stage, mode: Mode, variant: str) -> Outcome:
    """Read the case's page, or each of its pages on its own."""
    refuse_unknown("input", stage.input, INPUT)
    if "urls" not in stage.input:
        return _read(stage, mode, stage.input["url"])
    parts = [_read(stage, mode, url) for url in stage.input["urls"]]
    outcome = stage.outcome(measured_call(mode, lambda: None, _nothing))
    outcome.parts = parts
    return outcome


async def _nothing() -> None: ...


def _read(stage: Stage, mode: Mode, url: str) -> Outcome:
    network = Network(stage)
    runtime = network.runtime()
    before = len(stage.server.received)
    is_traced = "peak_memory_mb_max" in stage.case.expect
    if is_traced:
        tracemalloc.start()
    call = measured_call(
        mode,
        lambda: runtime.read_page(url, **stage.limits),
        lambda: runtime.aread_page(url, **stage.limits),
    )
    peak = tracemalloc.get_traced_memory()[1]
    if is_traced:
        tracemalloc.stop()
    outcome = stage.outcome(call, runtime)
    outcome.received = list(stage.server.received)[before:]
    outcome.traffic = network.traffic()
    outcome.result = call.value
    if is_traced:
        outcome.measured["peak_memory_mb"] = peak / MEBIBYTE
    if call.value is not None:
        page, body = call.value, network.fetched[-1].body
        outcome.measured |= {
            "status_code": page.status_code,
            "markdown": page.text,
            "kind": page.kind,
            "page_count": page.page_count,
            "decoded_bytes": len(body.content.encode()),
        }
    return outcome


@dataclass(slots=True)
class Network:
    """The network as the case invents it: who has which address, and who answers there."""

    stage: Stage
    fetched: list[WebFetchResult] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)

    def runtime(self, **settings: Any) -> WebRuntime:
        """Return a runtime whose pages come from this network and nowhere else."""
        import dsh_web

        limits = self.stage.input.get("limits") or {}
        refuse_unknown("limit", limits, set(LIMITS))
        provider = dsh_web.HttpFetchProvider(
            resolve=self._resolver(),
            dial=self._dial,
            **{LIMITS[name]: value for name, value in limits.items()},
        )
        runtime = dsh_web.WebRuntime(**settings)
        runtime.register_fetch_provider(_Watched(provider, self.fetched))
        return runtime

    def traffic(self) -> Traffic:
        """Return what left the process, an address standing for where it was really dialled."""
        watched = self.stage.traffic
        # Every dial ends at the server, which is on this one.
        direct = watched.connected.count("127.0.0.1") - len(self.dialled)
        others = [host for host in watched.connected if host != "127.0.0.1"]
        connected = [*self.dialled, *others, *["127.0.0.1"] * direct]
        return Traffic(looked_up=[*self.looked_up, *watched.looked_up], connected=connected)

    def _resolver(self) -> Callable[[str], Sequence[str]]:
        answers = {name: _in_turn(given) for name, given in self._names().items()}

        def resolve(host: str) -> Sequence[str]:
            self.looked_up.append(host)
            if host in answers:
                return next(answers[host])
            if "dns" not in self.stage.input:
                return [PUBLIC]
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            return [str(address[0]) for *_, address in found]

        return resolve

    def _names(self) -> Mapping[str, Any]:
        names: Mapping[str, Any] = self.stage.input.get("dns") or {}
        return names

    def _dial(self, address: str, port: int) -> tuple[str, int]:
        self.dialled.append(address)
        return "127.0.0.1", self.stage.server.port


def _in_turn(given: Sequence[Any]) -> Generator[Sequence[str]]:
    """Yield the answer of each look-up: always the same, or the next of a list of lists."""
    answers = list(given) if given and isinstance(given[0], list) else [given]
    yield from answers
    while True:
        yield answers[-1]


class _Watched:
    """A provider that keeps what it has fetched."""

    def __init__(self, provider: Any, fetched: list[WebFetchResult]) -> None:
        self._provider = provider
        self._fetched = fetched
        self.id = provider.id
        self.label = provider.label
        self.timeout = provider.timeout

    def available(self) -> bool:
        available: bool = self._provider.available()
        return available

    def fetch_flow(self, request: WebFetchRequest) -> Any:
        result = yield from self._provider.fetch_flow(request)
        self._fetched.append(result)
        return result
