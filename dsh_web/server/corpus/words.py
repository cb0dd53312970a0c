"""Turns what a person asks into search terms."""

from __future__ import annotations

import re

# Words that say that something is asked, not what. Kept short: a rare word lost costs more than
# noise.
_STOPWORDS = frozenset(
    {"a", "about", "after", "all", "also", "am", "an", "and"}
    | {"any", "are", "as", "at", "be", "because", "been", "before"}
    | {"being", "between", "both", "but", "by", "can", "could", "did"}
    | {"do", "does", "doing", "each", "for", "from", "get", "give"}
    | {"had", "has", "have", "having", "he", "her", "here", "him"}
    | {"his", "how", "i", "if", "in", "into", "is", "it"}
    | {"its", "itself", "just", "know", "like", "make", "me", "more"}
    | {"most", "my", "no", "not", "of", "off", "on", "once"}
    | {"one", "only", "or", "other", "our", "out", "over", "own"}
    | {"please", "same", "she", "should", "show", "so", "some", "such"}
    | {"tell", "than", "that", "the", "their", "them", "then", "there"}
    | {"these", "they", "this", "those", "through", "to", "too", "under"}
    | {"until", "up", "use", "used", "using", "very", "want", "was"}
    | {"way", "we", "were", "what", "when", "where", "which", "while"}
    | {"who", "whom", "why", "will", "with", "would", "you", "your"}
)
_WORD = re.compile(r"[^\W_]+(?:[._][^\W_]+)*", re.UNICODE)
_MOST_TERMS = 48
_SUFFIXES = ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "s", "e")


def search_terms(question: str) -> list[str]:
    """Return the words worth searching for, in lower case, without repeats.

    A dotted or underscored name stays one term (`asyncio.wait_for`) and adds its telling parts. If
    nothing but stopwords is there, they are the terms; without any word the list is empty.
    """
    words = [match[0].lower() for match in _WORD.finditer(question)]
    terms = [word for word in words if word not in _STOPWORDS]
    parts = [
        part
        for term in terms
        if not term.isalnum()
        for part in re.split(r"[._]", term)
        if part not in _STOPWORDS and len(part) > 1
    ]
    return list(dict.fromkeys([*terms, *parts] or words))[:_MOST_TERMS]


def match_expression(terms: list[str]) -> str:
    """Return an FTS5 expression that matches any of the terms.

    Every term becomes a quoted phrase, so nothing in it can act as FTS5 syntax.
    """
    return " OR ".join(f'"{term.replace(chr(34), chr(34) * 2)}"' for term in terms)


def stem(word: str) -> str:
    """Return a word without its commonest English endings: good enough to compare two words."""
    word = word.lower()
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def stems(text: str) -> set[str]:
    """Return the stems of all words of a text, name parts included."""
    return {stem(part) for match in _WORD.finditer(text) for part in re.split(r"[._]", match[0])}
