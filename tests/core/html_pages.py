"""Pages as the web has them, made from a seed: sizes, encodings, layouts and sloppiness of all kinds."""

from __future__ import annotations

import inspect
import pydoc
import random
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

WORDS = {
    "utf-8": ["tide", "harbour", "résumé", "潮汐", "港", "גאות", "прилив", "wave", "🌊"],
    "iso-8859-1": ["marée", "port", "café", "naïve", "señor"],
    "shift_jis": ["潮汐", "港", "高い", "低い", "海"],
    "gb18030": ["潮汐", "港口", "高潮", "低潮"],
    "windows-1251": ["прилив", "отлив", "гавань", "волна"],
    "euc-kr": ["조수", "항구", "밀물", "썰물"],
}
ENCODINGS = sorted(WORDS)


@dataclass(frozen=True)
class Page:
    source: str
    encoding: str
    seen: tuple[str, ...]
    """Words that a reader of the page sees."""
    links: tuple[str, ...]
    """Where its links lead, in order."""


def made_page(seed: int) -> Page:
    """Return a page; the same seed always makes the same one."""
    chance = random.Random(seed)
    encoding = ENCODINGS[seed % len(ENCODINGS)]
    return _Maker(chance, encoding).page(chance.choice((3, 12, 40, 150)))


def documentation_pages(*modules: ModuleType) -> Iterator[str]:
    """Yield the HTML that the standard library makes of its own documentation."""
    for module in modules:
        yield pydoc.HTMLDoc().page(module.__name__, pydoc.HTMLDoc().docmodule(module))
        yield pydoc.HTMLDoc().page(
            module.__name__, f"<pre>{pydoc.html.escape(inspect.getsource(module))}</pre>"
        )


class _Maker:
    def __init__(self, chance: random.Random, encoding: str) -> None:
        self._chance = chance
        self._encoding = encoding
        self._count = 0
        self.seen: list[str] = []
        self.links: list[str] = []

    def page(self, blocks: int) -> Page:
        body = "".join(self._chance.choice(self._kinds())() for _ in range(blocks))
        sloppy = self._chance.random() < 0.5
        end = "" if sloppy else "</main></body></html>"
        head = f"<title>{self._text(2, is_seen=False)}</title><style>p{{x:1}}</style><script>unseen('</p>')</script>"
        source = (
            f'<!DOCTYPE html><html><head><meta charset="{self._encoding}">{head}</head><body>'
            f"<nav>{self._link()}</nav><main>{body}{end}"
        )
        return Page(source, self._encoding, tuple(self.seen), tuple(self.links))

    def _kinds(self) -> list:
        return [
            self._paragraph, self._paragraph, self._heading, self._list, self._table, self._code,
            self._quote, self._hidden, self._nested, self._unclosed,
        ]  # fmt: skip

    def _word(self, *, is_seen: bool = True) -> str:
        self._count += 1
        word = f"{self._chance.choice(WORDS[self._encoding])}{self._count}"
        if is_seen:
            self.seen.append(word)
        return word

    def _text(self, most: int, *, is_seen: bool = True) -> str:
        return " ".join(self._word(is_seen=is_seen) for _ in range(self._chance.randint(1, most)))

    def _link(self) -> str:
        target = f"/p/{len(self.links)}?a=1&amp;b={len(self.links)}"
        self.links.append(f"https://a.example/p/{len(self.links)}?a=1&b={len(self.links)}")
        return f'<a class="l" href="{target}">{self._text(2)}</a>'

    def _paragraph(self) -> str:
        return f"<p>{self._text(12)} <b>{self._text(2)}</b> {self._link()}, &amp; {self._text(3)}.</p>\n"

    def _heading(self) -> str:
        level = self._chance.randint(1, 4)
        return f"<h{level}>{self._text(4)}</h{level}>"

    def _list(self) -> str:
        items = "".join(f"<li>{self._text(4)}" for _ in range(self._chance.randint(1, 5)))
        return f"<ul>{items}</ul>"

    def _table(self) -> str:
        rows = "".join(f"<tr><td>{self._text(2)}<td>{self._text(2)}" for _ in range(3))
        return f"<table><tr><th>{self._text(1)}<th>{self._text(1)}</tr>{rows}</table>"

    def _code(self) -> str:
        return f"<pre><code>{self._word()} = [1]\n  {self._word()}</code></pre>"

    def _quote(self) -> str:
        return f"<blockquote>{self._text(6)}</blockquote>"

    def _hidden(self) -> str:
        word = self._word(is_seen=False)
        return f"<p hidden>unseen {word}</p><noscript>unseen</noscript><!-- unseen --><template>unseen</template>"

    def _nested(self) -> str:
        depth = self._chance.choice((3, 30, 300))
        return "<div><span>" * depth + self._text(3) + "</span></div>" * depth

    def _unclosed(self) -> str:
        return f"<p>{self._text(3)}<p>{self._text(2)}<br>{self._text(1)}</i></div>"
