"""HTML to Markdown: what libraries keep of pages, and what it costs.

    python benchmarks/pages.py

Rivals that are not installed are left out: pip install markdownify trafilatura lxml_html_clean
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dsh_web.pages.markdown import to_markdown
from tests.core.html_pages import made_page

URL = "https://a.example/docs/"
PARAGRAPH = (
    "<p>Some <b>bold</b> text with <a href='x/y?z=1'>a link</a> and more words.</p>"
    "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
)
BOUND = 5.0
"""Seconds that no page of 1 MB may take on an ordinary machine; `max_body_chars` is a tenth."""
HOSTILE = {
    "div, 100,000 deep": "<div>" * 100_000 + "deep" + "</div>" * 100_000,
    "1 MB of <": "<" * 1_000_000,
    "1 MB of [": "[" * 1_000_000,
    "1 MB of backticks": "`" * 1_000_000,
    "1 MB of open quotes": '<a href="' * 110_000,
    "1 MB of entities": "&lt;" * 250_000,
    "1 MB of tables": "<table><tr><td>" * 66_000,
    "1 MB of list items": "<ul><li>" * 125_000,
    "1 MB of comments": "<!--" * 250_000,
    "1 MB of quotes": "<blockquote>" * 200 + "<br>x" * 200_000,
}


def converters() -> dict[str, Callable[[str], str]]:
    found: dict[str, Callable[[str], str]] = {
        "dsh_web": lambda html: to_markdown(html, base_url=URL).text
    }
    try:
        from html_to_markdown import ConversionOptions, convert

        options = ConversionOptions(base_url=URL, extract_metadata=False)
        found["html-to-markdown"] = lambda html: convert(html, options).content or ""
    except ImportError:
        pass
    try:
        from markdownify import markdownify

        found["markdownify"] = markdownify
    except ImportError:
        pass
    try:
        import trafilatura

        found["trafilatura"] = lambda html: (
            trafilatura.extract(html, output_format="markdown", include_links=True) or ""
        )
    except ImportError:
        pass
    return found


def timed(convert: Callable[[str], str], html: str, rounds: int) -> tuple[float, str]:
    times, text = [], ""
    for _ in range(rounds):
        start = time.perf_counter()
        try:
            text = convert(html)
        except Exception as error:  # a rival's failure is a result
            return float("nan"), f"{type(error).__name__}"
        times.append(time.perf_counter() - start)
    return statistics.median(times), text


def main() -> None:
    pages = [made_page(seed) for seed in range(60)]
    megabyte = PARAGRAPH * (1_000_000 // len(PARAGRAPH))
    print(
        f"{'converter':<20}{'words lost':>12}{'hidden kept':>13}{'links right':>13}{'1 MB, s':>10}"
    )
    for name, convert in converters().items():
        lost = hidden = right = links = words = 0
        for page in pages:
            text = timed(convert, page.source, 1)[1]
            seen = {word for line in page.seen for word in re.findall(r"\w+", line)}
            words += len(seen)
            lost += len(seen - set(re.findall(r"\w+", text)))
            hidden += "unseen" in text
            links += len(page.links)
            right += sum(f"]({link})" in text for link in page.links)
        seconds, _ = timed(convert, megabyte, 3)
        print(
            f"{name:<20}{lost / words:>11.1%} {hidden / len(pages):>12.0%} "
            f"{right / links:>12.0%} {seconds:>9.2f}"
        )
    print(f"\n{'hostile page':<24}{'seconds':>9}  {'text kept':<10} (bound: {BOUND:g} s)")
    for name, html in HOSTILE.items():
        seconds, text = timed(lambda page: to_markdown(page, base_url=URL).text, html, 1)
        over = "  OVER THE BOUND" if seconds > BOUND else ""
        print(f"{name:<24}{seconds:>9.2f}  {'deep' in text if 'deep' in name else '-'}{over}")


if __name__ == "__main__":
    main()
