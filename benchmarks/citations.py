"""What reading citations costs: beside one plain regular expression, and beside Markdown parsers.

    python benchmarks/citations.py            # figures
    python benchmarks/citations.py --quick    # fewer rounds

Ratios are of medians in one run. The parsers only parse; they find no marker and no claim.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable

from dsh_web.citations import read_citations, references_of
from dsh_web.citations.scan import MARKER

REFERENCES = references_of([f"https://source{n}.example/" for n in range(1, 61)])
SENTENCE = (
    "The rate of change in the harbour rose by about four percent over the year, "
    "which surprised few"
)
HOSTILE = {
    "open brackets": "[",
    "backticks": "`",
    "backtick runs": "`` ` ``` ",
    "dollars": "$a ",
    "backslashes": "\\",
    "open math": "\\[ ",
    "pipes": "| [1] ",
    "links": "[1](",
    "nested links": "[[1]]",
    "tags": "<a ",
    "comments": "<!-- ",
    "open fences": "```\n",
    "quotes": "> ",
    "list items": "* [1] b\n",
    "markers alone": "[1]",
    "open groups": "[1, ",
    "reasoning": "<think>",
}


def answer(characters: int, markers: int) -> str:
    """Return prose with that many markers, a paragraph every seventh sentence."""
    sentences = []
    filler = max(0, characters // markers - len(SENTENCE) - 8)
    padding = (" and so on" * (filler // 10 + 1))[:filler]
    for number in range(markers):
        end = ".\n\n" if number % 7 == 6 else ". "
        sentences.append(f"{SENTENCE}{padding} [{number % 50 + 1}]{end}")
    return "".join(sentences)


def median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def read(text: str) -> int:
    return len(read_citations(text, REFERENCES, contract="markers/1"))


def parsers() -> dict[str, Callable[[str], object]]:
    found: dict[str, Callable[[str], object]] = {}
    try:
        from markdown_it import MarkdownIt

        found["markdown-it-py"] = MarkdownIt("commonmark").parse
    except ImportError:
        pass
    try:
        import mistune

        found["mistune"] = mistune.create_markdown(renderer=None)
    except ImportError:
        pass
    try:
        import pyromark

        found["pyromark"] = pyromark.Markdown().events_with_range
    except ImportError:
        pass
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true")
    rounds = 15 if arguments.parse_args().quick else 101
    pattern = re.compile(MARKER)
    print(f"{'text':<28}{'markers':>8}{'read, ms':>10}{'of one regex pass':>20}")
    for name, characters, markers in (
        ("20 KB, 200 markers", 20_000, 200),
        ("20 KB, 20 markers", 20_000, 20),
        ("200 KB, 2,000 markers", 200_000, 2_000),
        ("1 MB, 10,000 markers", 1_000_000, 10_000),
    ):
        text = answer(characters, markers)
        few = max(3, rounds * 20_000 // characters)
        plain = median(lambda: [(m.span(), m.group()) for m in pattern.finditer(text)], few)  # noqa: B023
        ours = median(lambda: read(text), few)  # noqa: B023
        print(f"{name:<28}{read(text):>8}{ours * 1e3:>10.2f}{ours / plain:>19.1f}x")

    print(f"\n{'hostile text':<28}{'100 KB, ms':>12}{'1 MB, ms':>12}{'ratio (10 is linear)':>24}")
    for name, piece in HOSTILE.items():
        small, large = (piece * (size // len(piece)) for size in (100_000, 1_000_000))
        first, second = median(lambda: read(small), 3), median(lambda: read(large), 1)  # noqa: B023
        print(f"{name:<28}{first * 1e3:>12.1f}{second * 1e3:>12.1f}{second / first:>24.1f}")

    text = answer(20_000, 200)
    ours = median(lambda: read(text), rounds)
    print(f"\n{'20 KB, 200 markers':<28}{'ms':>8}{'of ours':>10}")
    print(f"{'read_citations':<28}{ours * 1e3:>8.2f}{1:>10.2f}")
    for name, parse in parsers().items():
        cost = median(lambda: parse(text), max(5, rounds // 5))  # noqa: B023
        print(f"{name:<28}{cost * 1e3:>8.2f}{cost / ours:>10.2f}")


if __name__ == "__main__":
    main()
