"""What belongs to a later milestone. Deleting a line here switches the thing on.

What is listed is reported as skipped with its reason; the other keys of a case are still compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SURFACES: Final[Mapping[str, str]] = {}
"""Surface, also where it is the `surface` inside an `errors` case."""

KEYS: Final = {}
"""Expectation key."""

SCENARIOS: Final[Mapping[str, str]] = {}
"""`scenario` of a `lifecycle` case."""

TOOLS: Final[Mapping[str, str]] = {}
"""`tool` of a `tool_args` case."""

FEATURES: Final[Mapping[str, str]] = {}
"""Text of a case's `requires`."""

RECORDED_APIS: Final[Mapping[str, str]] = {}
"""`<provider>/<api>` of a recording."""

RECORDED_KEYS: Final[Mapping[str, str]] = {}
"""Expectation of a recording."""
