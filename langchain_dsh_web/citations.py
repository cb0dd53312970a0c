"""Citation records as LangChain's own annotations, and back.

LangChain's standard `Citation` is an annotation of a text block: where in the *answer* it applies,
and the address and title of the source. What else a record knows travels in `extras`, so that
nothing is lost on the way there and back. Annotations are plain dicts; importing this module loads
nothing of LangChain.

They are what a model's answer carries. In a tool message they are of no use, since most
integrations drop them when they send it; there the records are in the artifact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from dsh_web import Citation, InvalidRequestError, WebSearchResult

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.messages.content import Annotation, TextContentBlock
    from langchain_core.messages.content import Citation as CitationAnnotation

__all__ = [
    "answer_block",
    "citations_of",
    "from_annotations",
    "from_blocks",
    "to_annotations",
    "with_urls",
]


def to_annotations(result: WebSearchResult) -> list[CitationAnnotation]:
    """Return an annotation for each citation of `result`, in order; unresolved ones have no `url`.

    `start_index` and `end_index` are the claim that the source supports; where there is none, the
    marker. `extras` holds every other field of the record under its own name.
    """
    return [_annotation(record) for record in result.citations]


def answer_block(result: WebSearchResult) -> TextContentBlock | None:
    """Return the answer as a standard text block with annotations; None if there is no answer.

    `extras` names the `provider` and the `citation_contract`. The text is the answer unchanged,
    markers included.
    """
    if result.content is None:
        return None
    extras = {"provider": result.provider}
    if result.citation_contract is not None:
        extras["citation_contract"] = result.citation_contract
    return {
        "type": "text",
        "text": result.content,
        "annotations": [*to_annotations(result)],
        "extras": extras,
    }


def from_annotations(
    annotations: Iterable[Annotation], *, provider: str | None = None
) -> tuple[Citation, ...]:
    """Return the records that annotations of one text block stand for.

    What `to_annotations` made becomes the record that it was made from, also after a trip through
    JSON. Non-standard annotations, and whatever cannot be read, are left out.

    Args:
        annotations: Of one text block.
        provider: Whose annotations the others are, for example `anthropic`. They become records
            too: without a marker and without a number, as a link for the stretch that they name.
            None: they are left out.
    """
    return tuple(_records(annotations, provider, None))


def from_blocks(
    blocks: Iterable[Mapping[str, Any]], *, provider: str | None = None
) -> tuple[str, tuple[Citation, ...]]:
    """Return the text of a message's `content_blocks`, and the records of its annotations.

    The texts are joined as they are, which is `AIMessage.text`; spans are positions in the whole.
    An annotation that names no stretch, as Anthropic's, supports all of its block.

    Args:
        blocks: Standard content blocks; other kinds than text are skipped.
        provider: As in `from_annotations`.
    """
    texts: list[str] = []
    records: list[Citation] = []
    offset = 0
    for block in blocks:
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            continue
        found = _records(block.get("annotations") or (), provider, len(text))
        records += (_moved(record, offset) for record in found)
        texts.append(text)
        offset += len(text)
    return "".join(texts), tuple(records)


def with_urls(annotations: Iterable[Annotation]) -> list[Annotation]:
    """Return the annotations with the addresses that LangChain leaves in `extras`.

    A model that cites `search_result` blocks names the block's `source`, which for `WebSearchTool`
    is the page's address; LangChain puts it into `extras["source"]` and sets no `url`. Other
    annotations, and those with a `url`, are returned as they are.
    """
    return [_with_url(annotation) for annotation in annotations]


def citations_of(document: Document) -> tuple[Citation, ...]:
    """Return the records that an answer document carries; none for any other document.

    Raises:
        InvalidRequestError: `metadata["citations"]` is something else than dumped records.
    """
    records = document.metadata.get("citations", [])
    if not isinstance(records, list):
        raise InvalidRequestError(f'metadata["citations"] must be a list, not {records!r}')
    try:
        return tuple(map(Citation.model_validate, records))
    except ValidationError as error:
        raise InvalidRequestError(
            'metadata["citations"] holds something else than dumped citation records'
        ) from error


_STANDARD: Final = {"url", "title"}
"""The fields of a record that a standard annotation has keys for."""


def _annotation(record: Citation) -> CitationAnnotation:
    start, end = record.claim_span
    if start == end:
        start, end = record.marker_span
    annotation: CitationAnnotation = {
        "type": "citation",
        "start_index": start,
        "end_index": end,
        "extras": record.model_dump(mode="json", exclude=_STANDARD),
    }
    if record.url is not None:
        annotation["url"] = record.url
    if record.title is not None:
        annotation["title"] = record.title
    return annotation


def _records(
    annotations: Iterable[Any], provider: str | None, block_size: int | None
) -> Iterator[Citation]:
    for annotation in annotations:
        if not isinstance(annotation, Mapping) or annotation.get("type") != "citation":
            continue
        record = _ours(annotation)
        if record is None and provider is not None:
            record = _foreign(_with_url(annotation), provider, block_size)
        if record is not None:
            yield record


def _ours(annotation: Mapping[str, Any]) -> Citation | None:
    extras = annotation.get("extras")
    if not isinstance(extras, Mapping) or "raw_marker" not in extras:
        return None
    return _checked({**extras, **{name: annotation.get(name) for name in _STANDARD}})


def _foreign(
    annotation: Mapping[str, Any], provider: str, block_size: int | None
) -> Citation | None:
    start, end = annotation.get("start_index"), annotation.get("end_index")
    if start is None and end is None:
        start, end = 0, block_size or 0
    url = annotation.get("url")
    return _checked(
        {
            "provider": provider,
            "source_type": "web",
            "source_index": None,
            "url": url,
            "title": annotation.get("title"),
            "marker_span": (end, end),
            "claim_span": (start, end),
            "raw_marker": "",
            "resolved": url is not None,
        }
    )


def _checked(fields: Mapping[str, Any]) -> Citation | None:
    try:
        return Citation.model_validate(fields)
    except ValidationError:
        return None


def _moved(record: Citation, offset: int) -> Citation:
    spans = {
        name: (start + offset, end + offset)
        for name, (start, end) in (
            ("marker_span", record.marker_span),
            ("claim_span", record.claim_span),
        )
    }
    return record.model_copy(update=spans)


def _with_url(annotation: Any) -> Any:
    if annotation.get("type") != "citation" or annotation.get("url"):
        return annotation
    extras = annotation.get("extras")
    source = extras.get("source") if isinstance(extras, Mapping) else None
    if not isinstance(source, str) or not source.lower().startswith(("http://", "https://")):
        return annotation
    return {**annotation, "url": source}
