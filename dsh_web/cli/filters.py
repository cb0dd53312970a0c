"""`dsh-web filters`: which provider honours which filter, as a Markdown table."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from typing import Any, get_args

from ..filters import FILTERS, filter_key
from ..providers import BUILT_IN, BuiltIn
from ..seam import Mode, SupportedFilters

__all__ = ["SUMMARY", "add_arguments", "filter_table", "run"]

SUMMARY = "Print which search provider honours which filter, as a Markdown table."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the table has no options."""


def run(options: argparse.Namespace) -> int:
    """Print the table and return 0."""
    print(filter_table())
    return 0


def filter_table() -> str:
    """Return the table: a row per filter (`mode` value by value), a column per provider."""
    supports = {built_in.id: _supported(built_in) for built_in in BUILT_IN}
    lines = [_row("filter", *(f"`{provider_id}`" for provider_id in supports))]
    lines.append(_row(*["---"] * (1 + len(supports))))
    lines += [
        _row(f"`{key}`", *(_cell(key, supported) for supported in supports.values()))
        for key in _keys()
    ]
    return "\n".join(lines)


def _keys() -> Iterator[str]:
    for name in FILTERS:
        values = get_args(Mode) if name == "mode" else (None,)
        for value in values:
            yield filter_key(name, value)


def _supported(built_in: BuiltIn) -> SupportedFilters:
    module, _, name = built_in.location.partition(":")
    kind: Any = getattr(importlib.import_module(module), name)
    supported: SupportedFilters = kind.supported_filters
    return supported


def _cell(key: str, supported: SupportedFilters) -> str:
    if key == "mode=web":
        return "exact"  # what every search provider does anyway
    support = supported.get(key)
    if support is None:
        return "refused"
    return f"approximate: {support.note}" if support.level == "approximate" else support.level


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
