"""Writes extractive answers: sentences copied from the sources, each followed by its markers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dsh_web.server.corpus import Document
from dsh_web.server.corpus.words import search_terms, stem, stems

Marker = Literal["number", "web"]

NOTHING_FOUND = "Nothing was found about this in the sources that could be searched."

_MOST_SENTENCES = 3
_MOST_PER_SOURCE = 2
_MOST_MARKERS = 3
_SENTENCE_CHARS = range(25, 401)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(`A-Z0-9])")
# Text that looks like a marker would be taken for a citation of something else.
_MARKER_LIKE = re.compile(r"\[\^?(?:\w+:)?\d|\]\(")


@dataclass(frozen=True)
class Statement:
    """A sentence and the ids of the sources that contain it, the best first."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """An answer as text, and where in it which source is cited."""

    text: str
    citations: tuple[tuple[int, int, int], ...] = ()
    """`(start, end, id)` of each marker, in code points, end excluded."""

    def annotations(self, documents: Mapping[int, Document]) -> list[dict[str, Any]]:
        """Return the markers as the Agent API's `url_citation` annotations."""
        return [
            {
                "type": "url_citation",
                "url": documents[id_].url,
                "title": documents[id_].title,
                "start_index": start,
                "end_index": end,
            }
            for start, end, id_ in self.citations
        ]


def pick_statements(question: str, sources: Mapping[int, Document]) -> list[Statement]:
    """Return the sentences that say most about a question, in the order of their sources' rank.

    Args:
        question: What was asked.
        sources: The pages by the id under which they may be cited, best first.
    """
    wanted = {stem(term) for term in search_terms(question)}
    candidates = []
    sentences_of = {id_: sentences(document.text) for id_, document in sources.items()}
    for rank, (id_, document) in enumerate(sources.items()):
        about = stems(document.title) & wanted
        for position, sentence in enumerate(sentences_of[id_]):
            overlap = len((stems(sentence) | about) & wanted)
            score = overlap - 0.35 * rank - 0.15 * min(position, 8)
            candidates.append((-score, rank, position, id_, sentence))
    chosen: list[tuple[int, int, Statement]] = []
    used: dict[int, int] = {}
    seen: set[str] = set()
    for _, rank, position, id_, sentence in sorted(candidates):
        if len(chosen) == _MOST_SENTENCES:
            break
        if sentence in seen or used.get(id_, 0) == _MOST_PER_SOURCE:
            continue
        seen.add(sentence)
        used[id_] = used.get(id_, 0) + 1
        others = [other for other in sources if other != id_ and sentence in sentences_of[other]]
        ids = (id_, *others)[:_MOST_MARKERS]
        chosen.append((rank, position, Statement(sentence, ids)))
    return [statement for _, _, statement in sorted(chosen, key=lambda entry: entry[:2])]


def write_answer(statements: Sequence[Statement], marker: Marker) -> Answer:
    """Join statements into a text: `Sentence.[1][2]`, or `Sentence. [web:1] [web:2]`."""
    if not statements:
        return Answer(NOTHING_FOUND)
    text = ""
    citations = []
    for statement in statements:
        text += f" {statement.text}" if text else statement.text
        for id_ in statement.ids:
            if marker == "web":
                text += " "
            start = len(text)
            text += f"[{id_}]" if marker == "number" else f"[web:{id_}]"
            citations.append((start, len(text), id_))
    return Answer(text, tuple(citations))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that can stand in an answer, in order, without repeats.

    Code, tables, headings and anything that looks like a citation marker are left out.
    """
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+>]|#|\d+[.)])\s)", text):
        if paragraph.lstrip().startswith((">>>", "#", "|", "```")):
            continue
        flat = re.sub(r"^[-*+]\s+", "", " ".join(paragraph.split()))
        for sentence in _SENTENCE_END.split(flat):
            is_sentence = sentence.endswith((".", "!")) and not sentence.endswith("...")
            has_words = sum(char.isalpha() for char in sentence) > 0.6 * len(sentence)
            fits = len(sentence) in _SENTENCE_CHARS and not _MARKER_LIKE.search(sentence)
            if is_sentence and has_words and fits:
                found.append(sentence)
    return list(dict.fromkeys(found))
