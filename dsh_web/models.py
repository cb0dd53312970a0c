"""What all values of the contract have in common: immutable, JSON-able, with faults of our own."""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from .errors import InvalidRequestError

__all__ = ["Frozen", "OptionalText", "PositiveInt", "RequestModel"]


def _blank_is_absent(value: Any) -> Any:
    return None if value == "" or (isinstance(value, str) and value.isspace()) else value


OptionalText: TypeAlias = Annotated[str | None, BeforeValidator(_blank_is_absent)]
"""Text, or None where the provider sent nothing or only white space."""

PositiveInt: TypeAlias = Annotated[int, Field(ge=1, strict=True)]
"""A whole number of 1 or more; True is none."""


class Frozen(BaseModel):
    """An immutable value that pickles and round-trips through JSON."""

    # Unknown fields are ignored, so that a result stored by a later version can still be read.
    model_config = ConfigDict(frozen=True, extra="ignore")


class RequestModel(Frozen):
    """A frozen model whose faults are `InvalidRequestError`, never pydantic's own error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Read a request from JSON text; text that is no JSON is an `InvalidRequestError` too."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_context=False)[0]["msg"]
            raise InvalidRequestError(f"request: {fault}") from error

    @model_validator(mode="wrap")
    @classmethod
    def _explain_faults(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return handler(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "request"
            raise InvalidRequestError(f"{where}: {first['msg']}") from error
