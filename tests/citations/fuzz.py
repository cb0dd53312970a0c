"""A long run of the properties over generated answers, outside the tests.

python -m tests.citations.fuzz --count 1000000 --seed 1
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time

from dsh_web import WebSearchResult, read_again
from dsh_web.citations import CONTRACTS, audit_citations, normalize_citations, read_markdown

from .properties import PIECES, check
from .samples import SOURCES

BATCH = 2_000
SHARE_READ_AGAIN = 0.1
"""Reading again, auditing and looking for a source list cost more than all the rest."""
ALPHABETS = (
    "abc .,",
    "[]()`$\\\n",
    "0123456789-,",
    "\u4e00\u3002\u05d0\U0001f600\u0301\r\t\x00|#>*_~<!",
)


def answer(chance: random.Random) -> str:
    """Return a text of words, markers and whatever Markdown is made of, in any order."""
    pieces = []
    for _ in range(chance.randrange(1, 40)):
        if chance.random() < 0.8:
            pieces.append(chance.choice(PIECES))
        else:
            alphabet = chance.choice(ALPHABETS)
            pieces.append("".join(chance.choices(alphabet, k=chance.randrange(1, 8))))
    return "".join(pieces)


def run(seed: int) -> int:
    chance = random.Random(seed)
    contracts = sorted(CONTRACTS)
    for _ in range(BATCH):
        text = answer(chance)
        contract = chance.choice(contracts)
        try:
            records = normalize_citations(text, SOURCES[:3], contract=contract)
            check(text, records)
            if chance.random() > SHARE_READ_AGAIN:
                continue
            result = WebSearchResult(
                provider="unknown", content=text, citations=records, citation_contract=contract
            )
            again = read_again(result)
            assert [r.marker_span for r in again.citations] == [r.marker_span for r in records]
            assert again == read_again(again)
            audit_citations(read_markdown(text))
        except Exception as error:
            raise RuntimeError(f"seed {seed}, {contract}: {text!r}") from error
    return BATCH


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    start, done = time.monotonic(), 0
    seeds = range(given.seed, given.seed + max(1, given.count // BATCH))
    with multiprocessing.Pool() as pool:
        for count in pool.imap_unordered(run, seeds):
            done += count
    print(f"{done:,} answers read, every property held; {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
