"""Small helpers for tests that read answers."""

from __future__ import annotations

from dsh_web.citations import Citation, normalize_citations

SOURCES = [f"https://source{number}.example/page" for number in range(1, 10)]


def read(text: str, *, contract: str = "markers/1", sources: int = 9) -> tuple[Citation, ...]:
    return normalize_citations(text, SOURCES[:sources], contract=contract)


def markers(text: str, *, sources: int = 9) -> list[str]:
    """The markers that lead somewhere, as written, one per record."""
    return [record.raw_marker for record in read(text, sources=sources) if record.resolved]


def numbers(text: str, *, sources: int = 9) -> list[int | None]:
    return [record.source_index for record in read(text, sources=sources) if record.resolved]


def unresolved(text: str, *, sources: int = 9) -> list[str]:
    return [record.raw_marker for record in read(text, sources=sources) if not record.resolved]


def claims(text: str) -> list[str]:
    return [text[slice(*record.claim_span)] for record in read(text)]
