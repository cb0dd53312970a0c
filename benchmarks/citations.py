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
MARKDOWN = """## Harbours of the coast

Trade **grew by four percent**[1] over the year, as [the port says](https://port.example/report),
while the `tonnage` field of its table counts boxes, not weight[2][3].

- Lisbon handled more boxes (and fewer ships) than before[4]
- Porto: less of both, for the third year[web:5]

| port | change |
| --- | --- |
| Lisbon | up a little[6] |
| Porto | down[7] |

```python
rows = table[1]
```

The rest of the coast saw little change, which is what the ministry had expected[8].

"""
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
    "open math blocks": "$$ a\n",
    "formulas over lines": "x $$\n$$\n",
    "fences in list items": "- ```\n",
    "references": "[a][b] ",
    "addresses": "http://a[1]=b",
    "soft lines": "a[1]\n",
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


def medians(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median processor seconds of each, taken in turn: load slows all alike."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            start = time.thread_time()
            work()
            taken.append(time.thread_time() - start)
    return [statistics.median(taken) for taken in times]


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

        markdown = pyromark.Markdown()
        found["pyromark"] = lambda text: list(markdown.events_with_range(text))
    except ImportError:
        pass
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true")
    rounds = 25 if arguments.parse_args().quick else 201
    pattern = re.compile(MARKER)
    print(f"{'text':<28}{'records':>8}{'read, ms':>10}{'of one regex pass':>20}")
    for name, text in (
        ("20 KB, 200 markers", answer(20_000, 200)),
        ("20 KB, 20 markers", answer(20_000, 20)),
        ("200 KB, 2,000 markers", answer(200_000, 2_000)),
        ("1 MB, 10,000 markers", answer(1_000_000, 10_000)),
        ("20 KB, one sentence of 200", answer(20_000, 200).replace(".", ",").replace("\n", " ")),
        ("20 KB of dense Markdown", MARKDOWN * (20_000 // len(MARKDOWN))),
    ):
        plain, ours = medians(
            max(3, rounds * 20_000 // len(text)),
            lambda: [(m.span(), m.group()) for m in pattern.finditer(text)],  # noqa: B023
            lambda: read(text),  # noqa: B023
        )
        print(f"{name:<28}{read(text):>8}{ours * 1e3:>10.2f}{ours / plain:>19.1f}x")

    print(f"\n{'hostile text':<28}{'100 KB, ms':>12}{'1 MB, ms':>12}{'ratio (10 is linear)':>24}")
    for name, piece in HOSTILE.items():
        small, large = (piece * (size // len(piece)) for size in (100_000, 1_000_000))
        (first,) = medians(3, lambda: read(small))  # noqa: B023
        (second,) = medians(1, lambda: read(large))  # noqa: B023
        print(f"{name:<28}{first * 1e3:>12.1f}{second * 1e3:>12.1f}{second / first:>24.1f}")

    for name, text in (
        ("20 KB, 200 markers", answer(20_000, 200)),
        ("20 KB of dense Markdown", MARKDOWN * (20_000 // len(MARKDOWN))),
    ):
        others = parsers()
        ours, *costs = medians(
            max(5, rounds // 5),
            lambda: read(text),  # noqa: B023
            *(lambda parse=parse: parse(text) for parse in others.values()),  # type: ignore[misc]  # noqa: B023
        )
        print(f"\n{name:<28}{'ms':>8}{'of ours':>10}")
        print(f"{'read_citations':<28}{ours * 1e3:>8.2f}{1:>10.2f}")
        for other, cost in zip(others, costs, strict=True):
            print(f"{other:<28}{cost * 1e3:>8.2f}{cost / ours:>10.2f}")


if __name__ == "__main__":
    main()
