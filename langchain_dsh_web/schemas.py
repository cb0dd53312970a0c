"""The argument schema of a tool as a model is shown it."""

from __future__ import annotations

from functools import lru_cache

from langchain_core.tools import BaseTool
from pydantic import BaseModel, create_model

__all__ = ["shown_schema"]


def shown_schema(tool: BaseTool) -> type[BaseModel] | None:
    """Return the tool's schema under its own name and description; None if it is no class.

    LangChain's own way of deriving it keeps the fields but loses what the schema as a whole says.
    """
    schema = tool.args_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return _named_schema(schema, tool.name, tool.description)
    return None


@lru_cache(maxsize=64)
def _named_schema(schema: type[BaseModel], name: str, description: str) -> type[BaseModel]:
    return create_model(name, __base__=schema, __doc__=description)
