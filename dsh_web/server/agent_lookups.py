"""What the people, finance and image tools of an Agent run find.

The corpus holds ordinary pages, so these tools answer with ordinary pages in the shape of the tool:
people results are pages that hold the names in the question, finance results quote pages, and
image results are empty because there are no pictures.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from dsh_web.server.corpus import Index
from dsh_web.server.searching import SearchOptions, Source, search

# A capital letter that is not merely the first of a sentence.
_NAME = re.compile(r"(?<![.!?])(?<=\s)[A-Z][\w'-]+|(?<=\w\s)[A-Z][\w'-]+")
_MOST_PEOPLE = 5
_MOST_FINANCE = 3
_FINANCE_CATEGORY = "profile"


def find_people(index: Index, question: str, seen: Collection[str]) -> list[Source]:
    """Return pages about the people a question names; if it names none, pages about the question.

    Args:
        index: Where to look.
        question: What was asked.
        seen: Addresses that are not to be returned again.
    """
    names = [name.casefold() for name in _NAME.findall(question)]
    found = search(index, question, SearchOptions(20, 512, 20_000), seen)
    about = [s for s in found if all(name in s.document.text.casefold() for name in names)]
    return about[:_MOST_PEOPLE]


def find_finance(index: Index, question: str) -> list[Source]:
    """Return the pages that a finance result quotes."""
    return search(index, question, SearchOptions(_MOST_FINANCE, 256, 1_000))


def finance_item(sources: list[Source]) -> dict[str, Any]:
    """Return the output item; the corpus knows no ticker symbols."""
    results = [
        {
            "category": _FINANCE_CATEGORY,
            "content": source.snippet,
            "tickers": None,
            "sources": [source.document.url],
        }
        for source in sources
    ]
    categories = [_FINANCE_CATEGORY] if results else []
    return {
        "type": "finance_results",
        "tickers": None,
        "categories": categories,
        "results": results,
    }


def image_item(question: str) -> dict[str, Any]:
    """Return the output item of an image search, which finds nothing."""
    return {"type": "image_search_results", "queries": [question.strip()], "results": []}
