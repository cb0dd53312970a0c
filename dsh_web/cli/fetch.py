"""`dsh-web fetch URL`: one page, as Markdown, as its source, or as JSON."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..errors import WebError
from ..providers.http_fetch import HttpFetchProvider
from ..runtime import WebRuntime
from ..seam_fetch import WebFetchResult
from ..seam_page import WebPage
from .show import plain, print_failure, print_json

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Fetch a web page and show it as Markdown."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a fetch."""
    parser.add_argument("url", help="address of the page, with http:// or https://")
    parser.add_argument(
        "--html", action="store_true", help="show what was fetched as it is, without conversion"
    )
    parser.add_argument("--json", action="store_true", help="print the page as JSON")
    parser.add_argument(
        "--main", action="store_true", help="only the main part, without menus, footers and such"
    )
    parser.add_argument("--max-chars", type=int, metavar="N", help="cap on the Markdown")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="(%(default)s)")
    parser.add_argument("--provider", metavar="ID", help="fetch provider to use")
    parser.add_argument(
        "--allow-private",
        action="store_true",
        help="also fetch from loopback and private addresses, for example from `dsh-web serve`",
    )


def run(options: argparse.Namespace) -> int:
    """Fetch, print, and return 0, or 1 after a failure. An HTTP error status is no failure."""
    unused = [name for name in ("main", "max_chars") if options.html and getattr(options, name)]
    if unused:
        option = f"--{unused[0].replace('_', '-')}"
        return _misused(f"{option} is about the Markdown and cannot be combined with --html")
    if options.allow_private and options.provider not in (None, "http"):
        return _misused("--allow-private is for the provider http alone")
    page: WebPage | WebFetchResult
    try:
        with _runtime(options) as runtime:
            if options.html:
                page = runtime.fetch(options.url, timeout=options.timeout)
            else:
                page = runtime.read_page(
                    options.url,
                    main_content=options.main,
                    max_chars=options.max_chars,
                    timeout=options.timeout,
                )
    except WebError as error:
        return print_failure(error, as_json=options.json)
    if options.json:
        print_json(page.model_dump(mode="json"))
        return 0
    print(plain(page.text if isinstance(page, WebPage) else page.body.content))
    for note in _notes(page):
        print(f"note: {note}", file=sys.stderr)
    return 0


def _runtime(options: argparse.Namespace) -> WebRuntime:
    if not options.allow_private:
        return WebRuntime.from_env(fetch_provider=options.provider)
    runtime = WebRuntime(fetch_provider="http")
    runtime.register_fetch_provider(HttpFetchProvider(allow_private_hosts=True))
    return runtime


def _notes(page: WebPage | WebFetchResult) -> list[str]:
    """Return what a reader of the text alone would miss."""
    notes: dict[str, Any] = {
        f"the server answered HTTP {page.status_code}": (page.status_code or 0) >= 400,
        "the page was cut to a limit": page.truncated,
    }
    return [note for note, holds in notes.items() if holds]


def _misused(message: str) -> int:
    print(f"dsh-web fetch: error: {message}", file=sys.stderr)
    return 2
