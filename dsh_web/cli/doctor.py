"""`dsh-web doctor`: what is configured, what would run, and why something would not."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
from typing import Any

from .._version import __version__
from ..config import DEFAULT_FETCH_PROVIDER, DEFAULT_SEARCH_PROVIDER, read_env, shown_url
from ..discovery import ENTRY_POINT_GROUP
from ..errors import WebError
from ..providers import BUILT_IN
from ..runtime import WebRuntime

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Say which providers are configured and available, without touching the network."

_BASE_URLS = ("PERPLEXITY_BASE_URL", "PARALLEL_BASE_URL")
_EXTRAS = {
    "langchain": "langchain-core",
    "llama-index": "llama-index-core",
    "server": "uvicorn",
    "cli": "rich",
    "compression": "brotli",
    "pdf": "pypdf",
    "cache": "hishel",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the check."""
    parser.add_argument("--provider", metavar="ID", help="check this provider as if it were pinned")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the findings; return 0 if a search could run, else 1."""
    findings = examine(options.provider)
    if options.json:
        print(json.dumps(findings, indent=2))
    else:
        print("\n".join(_lines(findings)))
    return 0 if findings["problem"] is None else 1


def examine(pinned: str | None = None) -> dict[str, Any]:
    """Return the state of the installation and of every provider; holds no secret."""
    problem: str | None = None
    statuses = []
    chosen: str | None = None
    fetcher: str | None = None
    fetch_problem: str | None = None
    try:
        runtime = WebRuntime.from_env(search_provider=pinned)
        statuses = runtime.describe()
        fetcher, fetch_problem = _fetcher(runtime)
        chosen = runtime.search_provider_id()
    except WebError as error:
        problem = f"{error.code}: {error}"
    registered = {status["id"]: status for status in statuses if status["capability"] == "search"}
    providers = [
        {
            "id": provider_id,
            "available": bool(status and status["available"]),
            "reason": _reason(provider_id, status),
        }
        for provider_id in sorted({*registered, *_offered()})
        for status in [registered.get(provider_id)]
    ]
    return {
        "version": __version__,
        "python": platform.python_version(),
        "extras": {extra: _installed(package) for extra, package in _EXTRAS.items()},
        "pinned": pinned or read_env(DEFAULT_SEARCH_PROVIDER),
        "base_urls": {
            name: shown_url(url) for name in _BASE_URLS if (url := read_env(name)) is not None
        },
        "providers": providers,
        "search_would_use": chosen,
        "problem": problem,
        "fetch_providers": [
            {key: status[key] for key in ("id", "available", "reason")}
            for status in statuses
            if status["capability"] == "fetch"
        ],
        "fetch_pinned": read_env(DEFAULT_FETCH_PROVIDER),
        "fetch_would_use": fetcher,
        "fetch_problem": fetch_problem,
    }


def _fetcher(runtime: WebRuntime) -> tuple[str | None, str | None]:
    """Return which provider a fetch would use, or else why none."""
    try:
        return runtime.fetch_provider_id(), None
    except WebError as error:
        return None, f"{error.code}: {error}"


def _offered() -> set[str]:
    entry_points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    return {built_in.id for built_in in BUILT_IN} | {point.name for point in entry_points}


def _reason(provider_id: str, status: Any) -> str | None:
    if status is not None:
        reason: str | None = status["reason"]
        return reason
    variables = next((b.key_variables for b in BUILT_IN if b.id == provider_id), ())
    if variables:
        return f"not configured: set {variables[0]}"
    return f"not asked for: set {DEFAULT_SEARCH_PROVIDER}={provider_id}"


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _lines(findings: dict[str, Any]) -> list[str]:
    lines = [f"dsh-web {findings['version']} on Python {findings['python']}", "", "extras"]
    for extra, version in findings["extras"].items():
        state = version or f'not installed: pip install "dsh-web[{extra}]"'
        lines.append(f"  {extra:<18} {state}")
    for title, key in (("search providers", "providers"), ("fetch providers", "fetch_providers")):
        lines += ["", title]
        for provider in findings[key]:
            state = "available" if provider["available"] else provider["reason"]
            lines.append(f"  {provider['id']:<18} {state}")
    lines.append("")
    lines += [f"{name} is {url}" for name, url in findings["base_urls"].items()]
    if findings["pinned"]:
        lines.append(f"pinned: {findings['pinned']}")
    if findings["problem"] is None:
        lines.append(f"a search would use: {findings['search_would_use']}")
    else:
        lines.append(f"a search would fail: {findings['problem']}")
    if findings["fetch_pinned"]:
        lines.append(f"pinned for fetching: {findings['fetch_pinned']}")
    if findings["fetch_problem"] is not None:
        lines.append(f"a fetch would fail: {findings['fetch_problem']}")
    elif findings["fetch_would_use"] is not None:
        lines.append(f"a fetch would use: {findings['fetch_would_use']}")
    return lines
