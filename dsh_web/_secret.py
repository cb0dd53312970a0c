"""Wrapping an API key so that no repr, log line, pickle or traceback can show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

MASK = "[masked]"


class Secret:
    """A text that prints as a mask; only `reveal()` gives it up.

    Args:
        value: The text; white space around it is stripped, since keys are often read from files.
    """

    __slots__ = ("_reveal",)

    def __init__(self, value: str) -> None:
        text = value.strip()
        # A closure, not an attribute: attribute dumps (vars, rich.inspect, debuggers) stay clean.
        self._reveal: Callable[[], str] = lambda: text

    def reveal(self) -> str:
        """Return the text itself. Call it only where the bytes leave the process."""
        return self._reveal()

    @property
    def is_usable(self) -> bool:
        """False for an empty text and for one that a header cannot carry."""
        text = self._reveal()
        return bool(text) and text.isascii() and text.isprintable()

    def may_occur_in(self, body: bytes) -> bool:
        """Return whether `body` could hold the secret, as it is or behind JSON escapes."""
        secret = self._reveal()
        if not secret:
            return False
        # Any character may hide behind \u; these three have a short escape as well.
        escape = b"\\" if any(c in '/"\\' for c in secret) else b"\\u"
        return secret.encode() in body or escape in body

    def _pattern(self, secret: str) -> re.Pattern[str]:
        escaped = re.escape(secret)
        return re.compile(escaped if len(secret) >= _LONG else rf"(?<!\w){escaped}(?!\w)")

    def mask(self, text: str) -> str:
        """Return `text` with every occurrence of the secret replaced by a mask.

        A secret under eight characters is replaced only where it stands alone, so that a test key
        such as `k` does not eat its way through ordinary words.
        """
        secret = self._reveal()
        if not secret or secret not in text:
            return text
        return self._pattern(secret).sub(MASK, text)

    def mask_value(self, value: Any) -> Any:
        """Return a JSON value with the secret masked in every text, keys included."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.mask_value(member) for member in value]
        if isinstance(value, dict):
            return {self.mask_value(k): self.mask_value(v) for k, v in value.items()}
        return value

    def __repr__(self) -> str:
        return f"Secret({MASK})" if self._reveal() else "Secret()"

    def __str__(self) -> str:
        return MASK if self._reveal() else ""

    def __bool__(self) -> bool:
        return bool(self._reveal())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._reveal() == other._reveal()

    def __hash__(self) -> int:
        return hash((Secret, self._reveal()))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled; read it from the environment instead")


_LONG = 8
