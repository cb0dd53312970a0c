"""The question in a `QueryBundle`, whichever of LlamaIndex's tools has passed it on."""

from __future__ import annotations

import re
from typing import Final

from llama_index.core.schema import QueryBundle

__all__ = ["query_text"]

_TOOL_FRAME: Final = re.compile(r"\ninput is (.*)\n", re.DOTALL)
"""An agent's `input="tides"` arrives as this. Without the line breaks it is a person's query."""


def query_text(query_bundle: QueryBundle) -> str:
    """Return the query without what LlamaIndex's `RetrieverTool` wraps around it."""
    text = query_bundle.query_str
    framed = _TOOL_FRAME.fullmatch(text)
    return (framed.group(1) if framed else text).strip()
