"""What holds for the reading of any text, and the pieces that hostile texts are made of."""

from __future__ import annotations

from itertools import pairwise

from dsh_web.citations import Citation

PIECES = [
    "[1]", "[2][3]", "[web:1]", "[web:1, 2]", "[1-3]", "[1, 9]", "[file:1]", "[0]", "[1998]",
    "[^1]", "[^1_2]", "[^1_2]: https://x.example\n", "[1]: https://x.example\n", "[1](https://x.example)",
    "![1](a.png)", "[[1]](b)", "\\[1]", "\\(", "\\)", "\\[", "\\]", "$", "$$", "`", "``", "```\n", "~~~\n",
    "\n", "\n\n", "\r\n", "\r", "> ", "- ", "1. ", "# ", "| ", " | ", "\n--- | ---\n", "    ", "\t", "<!--", "-->", "<code>",
    "</code>", "<a href='", "<think>", "</think>", "{", "}", ". ", "? ", "\u3002", "e.g. ", "word ",
    "$$\n", "\\[\n", "<pre>\n", "</pre>", "- ```\n", "> ```\n", "  ```\n", "[a]", "[a]: /x\n", "https://x.example/", "=1&", "---\n",
    "A. ", "\u3002\u300d\u3068", "<a href='x'>", "</a>", "[1](", "](", " and ", "[web:2]: http://x\n", "\u2014", "**", "U.S. ", "3. Mai ",
    "Word", "3.5", "(", ")", "[", "]", "\\", "\u3010", "\u0000", "\ud83d", "\U0001f680", "e\u0301", "\u05d7",
]  # fmt: skip


def check(text: str, records: tuple[Citation, ...]) -> None:
    """Fail unless `records` can be a reading of `text`."""
    spans = [record.marker_span for record in records]
    assert spans == sorted(spans)
    marked = sorted(set(spans))
    assert all(before[1] <= after[0] for before, after in pairwise(marked))
    for record in records:
        start, end = record.marker_span
        assert 0 <= start <= end <= len(text)
        assert text[start:end] == record.raw_marker
        assert record.resolved == (record.url is not None)
        claim_start, claim_end = record.claim_span
        assert 0 <= claim_start <= claim_end <= len(text)
        assert not any(s < claim_end and claim_start < e for s, e in marked)
