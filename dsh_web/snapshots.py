"""A saved result that can be checked and asked again: request, result, hashes and version."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from ._version import __version__
from .errors import InvalidRequestError
from .models import Frozen
from .seam import WebSearchRequest, WebSearchResult

__all__ = ["SnapshotChanges", "SnapshotHashes", "WebSnapshot"]

SCHEMA: Final = 1


class SnapshotHashes(Frozen):
    """SHA-256 digests in hexadecimal, by which two snapshots compare at a glance."""

    answer: str | None
    """Of `content`; None: there is no answer."""
    sources: str
    """Of the addresses in order, whatever else is known of the pages."""
    result: str
    """Of the whole result."""


class SnapshotChanges(Frozen):
    """What is different in a later result of the same question."""

    added: tuple[str, ...] = ()
    """Addresses that only the later one lists."""
    removed: tuple[str, ...] = ()
    """Addresses that only the earlier one lists."""
    kept: tuple[str, ...] = ()
    """Addresses in both, in the earlier order."""
    is_reordered: bool = False
    """True if what both list stands in another order."""
    is_answer_changed: bool = False

    @property
    def is_same(self) -> bool:
        """True if answer, sources and their order are what they were."""
        return not (self.added or self.removed or self.is_reordered or self.is_answer_changed)


class WebSnapshot(Frozen):
    """One search that was made, kept so that it can be shown, checked and made again.

        result.save("question.json")
        snapshot = WebSnapshot.load("question.json")
        changes = snapshot.changes_in(runtime.search(snapshot.request))

    No key and no header is in it; `result.raw` is, where it was asked for.
    """

    schema_version: int = SCHEMA
    dsh_web_version: str
    """Version of this package that took the snapshot."""
    taken_at: datetime
    """UTC."""
    provider: str
    """Id of the provider that answered."""
    request: Annotated[WebSearchRequest, BeforeValidator(lambda value: _request_of(value))]
    """Query and filters, as `runtime.search` takes them."""
    result: WebSearchResult
    hashes: SnapshotHashes
    kind: Literal["dsh-web-snapshot"] = Field(default="dsh-web-snapshot")

    @classmethod
    def of(cls, result: WebSearchResult, request: WebSearchRequest | None = None) -> Self:
        """Return a snapshot of `result`, taken now.

        Args:
            result: What a search returned.
            request: What was asked; None: what the result itself knows of it.

        Raises:
            InvalidRequestError: Neither knows what was asked.
        """
        asked = request or result.request
        if asked is None:
            raise InvalidRequestError(
                "the result does not know what was asked, as one that joins several queries: give "
                "the request, WebSnapshot.of(result, request), or save the results of search_each"
            )
        return cls(
            dsh_web_version=__version__,
            taken_at=datetime.now(UTC),
            provider=result.provider,
            request=asked,
            result=result,
            hashes=_hashes(result),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the snapshot as JSON; a file of that name is replaced in one step.

        Raises:
            OSError: The file cannot be written.
        """
        target = Path(path)
        text = json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=1)
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            # Halves of surrogate pairs, which JSON can escape and UTF-8 cannot hold.
            beside.write_text(f"{text}\n", encoding="utf-8", errors="surrogatepass")
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a snapshot and check its hashes.

        Raises:
            InvalidRequestError: It is no snapshot, of a later schema, or was changed since.
            OSError: The file cannot be read.
        """
        raw = Path(path).read_bytes()
        try:
            data = json.loads(raw.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(f"{path} is not JSON: {error}") from error
        return cls.read(data, name=str(path))

    @classmethod
    def read(cls, data: Any, *, name: str = "the data") -> Self:
        """Return the snapshot that decoded JSON stands for, its hashes checked; see `load`."""
        if not is_snapshot(data):
            raise InvalidRequestError(f"{name} is no snapshot: `result.save(path)` writes one")
        version = data.get("schema_version")
        if not isinstance(version, int) or version > SCHEMA:
            raise InvalidRequestError(
                f"{name} is a snapshot of schema {version!r}; this version reads up to {SCHEMA}: "
                "update dsh-web"
            )
        try:
            snapshot = cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidRequestError(
                f"{name} is not a whole snapshot: {where}: {first['msg']}"
            ) from error
        # Of the text as it was stored: a later version may read more out of it, or less.
        if _digest_of_data(data.get("result")) != snapshot.hashes.result:
            raise InvalidRequestError(
                f"{name} was changed after it was saved: its result does not fit its hash"
            )
        return snapshot

    def changes_in(self, later: WebSearchResult | WebSnapshot) -> SnapshotChanges:
        """Return what is different in a later result of the same question."""
        result = later.result if isinstance(later, WebSnapshot) else later
        before = list(dict.fromkeys(source.url for source in self.result.sources))
        after = list(dict.fromkeys(source.url for source in result.sources))
        kept = [url for url in before if url in set(after)]
        return SnapshotChanges(
            added=tuple(url for url in after if url not in set(before)),
            removed=tuple(url for url in before if url not in set(after)),
            kept=tuple(kept),
            is_reordered=kept != [url for url in after if url in set(before)],
            is_answer_changed=self.result.content != result.content,
        )


def is_snapshot(data: Any) -> bool:
    """Return whether decoded JSON says of itself that it is a snapshot."""
    return isinstance(data, dict) and data.get("kind") == "dsh-web-snapshot"


def _request_of(value: Any) -> Any:
    return WebSearchRequest(**value) if isinstance(value, dict) else value


def _hashes(result: WebSearchResult) -> SnapshotHashes:
    urls = "\n".join(source.url for source in result.sources)
    return SnapshotHashes(
        answer=None if result.content is None else _digest(result.content),
        sources=_digest(urls),
        result=_digest_of_data(result.model_dump(mode="json")),
    )


def _digest_of_data(data: Any) -> str:
    return _digest(json.dumps(data, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
